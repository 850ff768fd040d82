// Helpers for the tests of the contract. Internal to the contract.
#pragma once

#include <fmt/format.h>

#include <source_location>
#include <stdexcept>

#include "testing/store_contract.hpp"

namespace pawl::testing::contract {

/// Aborts the test that throws it. Only the contract's runner catches it.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void expect(bool holds, std::string_view what,
                   const std::source_location& line = std::source_location::current()) {
  if (!holds) throw Violation(fmt::format("{} ({}:{})", what, line.file_name(), line.line()));
}

/// Returns the value. Aborts the test if there is an error.
template <class T>
T need(Result<T> result, const std::source_location& line = std::source_location::current()) {
  if (!result)
    throw Violation(fmt::format("unexpected {} ({}:{})", describe(result.error()), line.file_name(), line.line()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// Requires that the call fails with this code. Returns the error as text.
template <class T>
std::string need_error(Result<T> result, Code code,
                       const std::source_location& line = std::source_location::current()) {
  if (result)
    throw Violation(fmt::format("expected {}, got success ({}:{})", code_text(code), line.file_name(), line.line()));
  if (result.error().code != code) {
    throw Violation(fmt::format("expected {}, got {} ({}:{})", code_text(code), describe(result.error()),
                                line.file_name(), line.line()));
  }
  return describe(result.error());
}

inline RunId run_id(std::string_view text) { return need(RunId::parse(text)); }
inline Which at_sequence(std::uint64_t value) {
  return Which{.by = Which::By::sequence, .sequence = Sequence{value}, .label = {}, .uuid = {}};
}
inline Which at_label(Which::By by, std::string label) {
  return Which{.by = by, .sequence = {}, .label = std::move(label), .uuid = {}};
}
inline Which at_uuid(const Uuid& uuid) {
  return Which{.by = Which::By::uuid, .sequence = {}, .label = {}, .uuid = uuid};
}

inline SaveRequest state(std::string_view body) {
  SaveRequest request;
  request.body = body;
  return request;
}
inline SaveRequest patch(std::string_view body) {
  SaveRequest request = state(body);
  request.form = Form::patch;
  return request;
}

inline std::unique_ptr<RunWriter> writer(Store& store, std::string_view run, const RunOptions& options = {}) {
  return need(store.open_run(run_id(run), options));
}

/// Returns everything visible of a run as text: if two pictures are equal, nothing has changed.
std::string picture(Store& store, std::string_view run);

// A list of tests for each part of the contract; `contract_tests()` joins them.
[[nodiscard]] std::vector<ContractTest> saving_tests();
[[nodiscard]] std::vector<ContractTest> run_tests();
[[nodiscard]] std::vector<ContractTest> reading_tests();
[[nodiscard]] std::vector<ContractTest> inbox_tests();
[[nodiscard]] std::vector<ContractTest> pruning_tests();
[[nodiscard]] std::vector<ContractTest> audit_tests();
[[nodiscard]] std::vector<ContractTest> change_tests();
[[nodiscard]] std::vector<ContractTest> fork_tests();
[[nodiscard]] std::vector<ContractTest> erasing_tests();
[[nodiscard]] std::vector<ContractTest> recovery_tests();

}  // namespace pawl::testing::contract
