// S22, S23: the audit trail.
#include <algorithm>

#include "testing/store_contract_checks.hpp"

namespace pawl::testing::contract {
namespace {

constexpr std::size_t kAllEntries = 1000;

using Entries = std::vector<AuditEntry>;

Entries trail(Store& store, std::string_view run) { return need(store.audit(run_id(run), 0, kAllEntries)); }

std::vector<std::string> types(const Entries& entries) {
  std::vector<std::string> found;
  for (const AuditEntry& entry : entries) found.push_back(entry.type);
  return found;
}

void expect_chain(const Entries& entries) {
  std::string previous(64, '0');
  std::uint64_t index = 0;
  for (const AuditEntry& entry : entries) {
    expect(entry.index == ++index, "entries are not numbered from 1");
    expect(entry.previous == previous, "an entry does not hold the hash of the one before");
    expect(entry.hash.size() == 64 && entry.hash != previous, "an entry has no hash of its own");
    previous = entry.hash;
  }
}

// --- S22

void s22_each_save_has_an_entry(StoreUnderTest& subject) {
  const auto store = subject.open();
  std::vector<Saved> saved;
  {
    const auto run = writer(*store, "r");
    for (const char* body : {"1", "2", "2", "3"}) saved.push_back(need(run->save(state(body))));
  }
  need(writer(*store, "other")->save(state("1")));
  const auto other = subject.open();
  for (Store* handle : {store.get(), other.get()}) {
    const Entries entries = trail(*handle, "r");
    expect(types(entries) ==
               std::vector<std::string>({"run_created", "checkpoint_saved", "checkpoint_saved", "checkpoint_saved"}),
           "the entries of three checkpoints are others");
    expect_chain(entries);
    for (const auto& [entry, of] : {std::pair(1, 0), std::pair(2, 1), std::pair(3, 3)}) {
      expect(entries[static_cast<std::size_t>(entry)].sequence == saved[static_cast<std::size_t>(of)].sequence,
             "an entry has another checkpoint's sequence");
      expect(entries[static_cast<std::size_t>(entry)].payload == saved[static_cast<std::size_t>(of)].checksum,
             "an entry has another payload than the checkpoint's checksum");
    }
  }
  expect(trail(*store, "other").size() == 2, "another run's saves are listed");
  expect(!trail(*store, "r").front().host.empty(), "who made the run is not said");
}

void s22_goes_on_with_the_next_writer(StoreUnderTest& subject) {
  Entries before;
  for (int turn = 0; turn < 3; ++turn) {
    const auto store = subject.open();
    need(writer(*store, "r")->save(state(std::to_string(turn))));
    const Entries entries = trail(*store, "r");
    expect_chain(entries);
    expect(entries.size() == before.size() + (turn == 0 ? 2 : 1), "a save adds not one entry");
    expect(std::equal(before.begin(), before.end(), entries.begin()), "an entry has changed");
    before = entries;
  }
}

void s22_pages(StoreUnderTest& subject) {
  const auto store = subject.open();
  {
    const auto run = writer(*store, "r");
    for (int i = 0; i < 5; ++i) need(run->save(state(std::to_string(i))));
  }
  const Entries all = trail(*store, "r");
  const Entries page = need(store->audit(run_id("r"), 2, 3));
  expect(page == Entries(all.begin() + 2, all.begin() + 5), "a page has other entries");
  expect(need(store->audit(run_id("r"), 6, kAllEntries)).empty(), "there are entries behind the last");
  expect(need(store->audit(run_id("r"), 0, 0)).empty(), "the limit is ignored");
  need_error(store->audit(run_id("missing"), 0, kAllEntries), Code::run_not_found);
}

void s22_pruning_leaves_it(StoreUnderTest& subject) {
  const auto store = subject.open();
  {
    const auto run = writer(*store, "r");
    for (int i = 0; i < 6; ++i) need(run->save(state(fmt::format("{{\"n\":{}}}", i))));
  }
  const Entries before = trail(*store, "r");
  RetentionSettings limits;
  limits.keep = 2;
  need(store->prune(run_id("r"), limits, PruneMode::remove));
  expect(trail(*store, "r") == before, "pruning changes the audit trail");
  expect(trail(*subject.open(), "r") == before, "pruning changes the audit trail for others");
}

// --- S23

void s23_audited_events(StoreUnderTest& subject) {
  const auto store = subject.open();
  SaveRequest request = state("1");
  request.events = {{"noise", R"({"n":1})"},
                    {"reviewed", R"({"verdict":"fine"})", Audited::yes, "alice"},
                    {"approved", R"({"by":"bob"})", Audited::by_type, "bob"},
                    {"noise", "{}"}};
  need(writer(*store, "r")->save(request));
  const auto other = subject.open();
  for (Store* handle : {store.get(), other.get()}) {
    const Entries entries = trail(*handle, "r");
    expect(types(entries) == std::vector<std::string>({"run_created", "reviewed", "approved", "checkpoint_saved"}),
           "the audited events have other entries");
    expect_chain(entries);
    expect(entries[1].agent == "alice" && entries[2].agent == "bob", "who acted is not said");
    expect(entries[1].event == 2 && entries[2].event == 3, "an entry refers to another event");
    expect(entries[1].data == R"({"verdict":"fine"})" && entries[2].data == R"({"by":"bob"})",
           "an entry has other data than its event");
    expect(entries[1].sequence == Sequence{1} && !entries[1].payload.empty(), "an entry vouches for nothing");
    expect(entries[1].host == entries[0].host && !entries[1].host.empty(), "where it was done is not said");
    expect(entries[3].agent.empty(), "a plain checkpoint has an agent");
  }
  expect(need(store->events(run_id("r"), 0, kAllEntries)).size() == 4, "audited events are not events any more");
}

}  // namespace

std::vector<ContractTest> audit_tests() {
  return {
      {"S22_EachSaveThatIsWrittenHasItsEntry", s22_each_save_has_an_entry},
      {"S22_TheTrailGoesOnWithTheNextWriter", s22_goes_on_with_the_next_writer},
      {"S22_EntriesAreListedInPages", s22_pages},
      {"S22_PruningLeavesTheTrailAsItIs", s22_pruning_leaves_it},
      {"S23_AuditedEventsHaveEntriesOfTheirOwn", s23_audited_events},
  };
}

}  // namespace pawl::testing::contract
