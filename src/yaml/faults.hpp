// What is wrong with a workflow file: all of it, each with its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/place.hpp"

namespace pawl {

struct WorkflowFault {
  Place place;
  Error error;
};

/// Collects faults. After the first hundred it only counts: nobody reads more.
class Faults {
 public:
  /// `file` stands in Error::where; it may be empty.
  explicit Faults(std::string file) : file_(std::move(file)) {}

  void add(Code code, Place place, std::string message, std::string hint = {});
  /// The same with invalid_workflow.
  void add(Place place, std::string message, std::string hint = {}) {
    add(Code::invalid_workflow, place, std::move(message), std::move(hint));
  }

  [[nodiscard]] bool empty() const { return faults_.empty(); }
  [[nodiscard]] std::size_t size() const { return faults_.size(); }
  /// By place.
  [[nodiscard]] std::vector<WorkflowFault> take();

 private:
  std::string file_;
  std::vector<WorkflowFault> faults_;
};

}  // namespace pawl
