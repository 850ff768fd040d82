// Errors in a file, each with its place.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "text/place.hpp"

namespace pawl {

struct WorkflowFault {
  Place place;
  Error error;
  std::string file = {};  // of a template, relative to the folder of the workflow; empty: the workflow itself
};

/// Collects errors, at most 100 of them.
class Faults {
 public:
  /// `file` is used in Error::where and may be empty.
  explicit Faults(std::string file) : file_(std::move(file)) {}

  /// Registers a file of templates, named relative to the folder of the workflow. Returns its number for Place::file.
  [[nodiscard]] std::uint32_t add_file(std::string name);

  void add(Code code, Place place, std::string message, std::string hint = {});
  /// Adds an error with the code invalid_workflow.
  void add(Place place, std::string message, std::string hint = {}) {
    add(Code::invalid_workflow, place, std::move(message), std::move(hint));
  }

  /// Adds a remark about something that may be intended. Remarks are not reported if the file has errors.
  void remark(Place place, std::string message, Remark::About about = Remark::About::doubt);
  [[nodiscard]] std::vector<Remark> take_remarks() { return std::exchange(remarks_, {}); }

  [[nodiscard]] bool empty() const { return faults_.empty(); }
  [[nodiscard]] std::size_t size() const { return faults_.size(); }
  /// Returns the errors in the order of their places.
  [[nodiscard]] std::vector<WorkflowFault> take();

 private:
  [[nodiscard]] const std::string& name_of(Place place) const { return others_[place.file - 1]; }

  std::string file_;
  std::vector<std::string> others_;
  std::vector<WorkflowFault> faults_;
  std::vector<Remark> remarks_;
};

}  // namespace pawl
