#include "testing/store_contract.hpp"

#include <algorithm>
#include <set>

#include "testing/store_contract_checks.hpp"

namespace pawl::testing {
namespace contract {
namespace {

constexpr std::size_t kAll = 1000;

std::string text_of(const CheckpointInfo& info) {
  std::string also;
  for (const SaveLabel& label : info.also)
    also += fmt::format(" {} {} '{}' '{}'", to_text(label.kind), to_text(label.reason), label.stage, label.step);
  return fmt::format("{}<-{} {} {} {} {} {} '{}' '{}' '{}' '{}'{} '{}' {} {}\n", info.sequence.value, info.parent.value,
                     info.id.text(), info.created.us, to_text(info.kind), to_text(info.status), to_text(info.reason),
                     info.name, info.caller_id, info.stage, info.step, also, info.metadata, info.state_bytes,
                     info.checksum);
}

}  // namespace

std::string picture(Store& store, std::string_view run) {
  const RunId id = run_id(run);
  const Result<RunInfo> info = store.run(id);
  if (!info) return describe(info.error());
  std::string text = fmt::format("{} {} {} {} {}\n", info->uuid.text(), info->created.us, info->updated.us,
                                 info->latest.value, to_text(info->durability));
  for (const CheckpointInfo& checkpoint : need(store.checkpoints(id, {}, kAll))) {
    text += text_of(checkpoint);
    text += need(store.restore(id, at_sequence(checkpoint.sequence.value))).state + "\n";
  }
  for (const Event& event : need(store.events(id, 0, kAll))) {
    text +=
        fmt::format("{} {} {} {} {}\n", event.number, event.sequence.value, event.created.us, event.type, event.data);
  }
  return text;
}

}  // namespace contract

std::span<const ContractTest> contract_tests() {
  static const std::vector<ContractTest> all = [] {
    std::vector<ContractTest> tests = contract::saving_tests();
    std::ranges::copy(contract::run_tests(), std::back_inserter(tests));
    std::ranges::copy(contract::reading_tests(), std::back_inserter(tests));
    std::ranges::copy(contract::inbox_tests(), std::back_inserter(tests));
    std::ranges::copy(contract::pruning_tests(), std::back_inserter(tests));
    std::ranges::copy(contract::audit_tests(), std::back_inserter(tests));
    std::ranges::copy(contract::change_tests(), std::back_inserter(tests));
    std::ranges::copy(contract::fork_tests(), std::back_inserter(tests));
    std::ranges::copy(contract::erasing_tests(), std::back_inserter(tests));
    std::ranges::copy(contract::recovery_tests(), std::back_inserter(tests));
    return tests;
  }();
  return all;
}

std::string run_contract_test(const ContractTest& test, const StoreFactory& factory) {
  const std::unique_ptr<StoreUnderTest> subject = factory();
  try {
    test.run(*subject);
    return {};
  } catch (const contract::Violation& violation) {
    return violation.what();
  } catch (const std::exception& thrown) {
    return fmt::format("an exception left the store: {}", thrown.what());
  }
}

std::vector<std::string> violated_clauses(const StoreFactory& factory) {
  std::set<std::string> clauses;
  for (const ContractTest& test : contract_tests()) {
    if (!run_contract_test(test, factory).empty()) clauses.emplace(test.clause());
  }
  return {clauses.begin(), clauses.end()};
}

}  // namespace pawl::testing
