// Errors in a file, each with its place.
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

/// Collects errors, at most 100 of them.
class Faults {
 public:
  /// `file` is used in Error::where and may be empty.
  explicit Faults(std::string file) : file_(std::move(file)) {}

  void add(Code code, Place place, std::string message, std::string hint = {});
  /// Adds an error with the code invalid_workflow.
  void add(Place place, std::string message, std::string hint = {}) {
    add(Code::invalid_workflow, place, std::move(message), std::move(hint));
  }

  [[nodiscard]] bool empty() const { return faults_.empty(); }
  [[nodiscard]] std::size_t size() const { return faults_.size(); }
  /// Returns the errors in the order of their places.
  [[nodiscard]] std::vector<WorkflowFault> take();

 private:
  std::string file_;
  std::vector<WorkflowFault> faults_;
};

}  // namespace pawl
