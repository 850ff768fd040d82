// The contract of the Store port as tests: at least one per clause of `ports/store.hpp`, named after its clause. The
// same functions run as GoogleTest cases on every adapter, and as plain functions on stores that are broken on purpose,
// to prove that the tests of each clause can fail.
//
// An adapter adds one file with:
//
//   PAWL_STORE_CONTRACT(Memory, [] { return std::make_unique<MemoryUnderTest>(); });
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ports/store.hpp"
#include "testing/manual_environment.hpp"

namespace pawl::testing {

/// The data of a store, initially empty, and its handles.
struct StoreUnderTest {
  StoreUnderTest() = default;
  StoreUnderTest(const StoreUnderTest&) = delete;
  StoreUnderTest& operator=(const StoreUnderTest&) = delete;
  virtual ~StoreUnderTest() = default;

  /// Opens a new handle on the same data, as another process would. All handles must be destroyed before this object.
  virtual std::unique_ptr<Store> open() = 0;
  /// The clock of all handles. Starts well after 1970.
  virtual ManualClock& clock() = 0;
  /// The process id in the Owner of the handles: run_busy must name it.
  [[nodiscard]] virtual std::uint64_t writer_pid() const = 0;
};

using StoreFactory = std::function<std::unique_ptr<StoreUnderTest>()>;

struct ContractTest {
  std::string_view name;  // "S05_ConflictingExpectedParentFailsAndWritesNothing"
  void (*run)(StoreUnderTest&);

  /// "S05"
  [[nodiscard]] std::string_view clause() const { return name.substr(0, 3); }
};

inline void PrintTo(const ContractTest& test, std::ostream* out) { *out << test.name; }

[[nodiscard]] std::span<const ContractTest> contract_tests();

/// Runs one test on a new store. Returns the violation, or an empty string.
[[nodiscard]] std::string run_contract_test(const ContractTest& test, const StoreFactory& factory);

/// Runs all tests. Returns the violated clauses ("S05"), sorted, without duplicates.
[[nodiscard]] std::vector<std::string> violated_clauses(const StoreFactory& factory);

}  // namespace pawl::testing

// NOLINTBEGIN(cppcoreguidelines-macro-usage): GoogleTest registers through macros.
#define PAWL_STORE_CONTRACT(Adapter, ...)                                                                      \
  class Adapter##StoreContract : public ::testing::TestWithParam<::pawl::testing::ContractTest> {};            \
  TEST_P(Adapter##StoreContract, Holds) {                                                                      \
    const ::pawl::testing::StoreFactory factory = __VA_ARGS__;                                                 \
    EXPECT_EQ(::pawl::testing::run_contract_test(GetParam(), factory), "");                                    \
  }                                                                                                            \
  INSTANTIATE_TEST_SUITE_P(                                                                                    \
      Clause, Adapter##StoreContract,                                                                          \
      ::testing::ValuesIn(::pawl::testing::contract_tests().begin(), ::pawl::testing::contract_tests().end()), \
      [](const auto& test) { return std::string(test.param.name); })
// NOLINTEND(cppcoreguidelines-macro-usage)
