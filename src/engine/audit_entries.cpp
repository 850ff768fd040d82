#include "engine/audit_entries.hpp"

#include <algorithm>

#include "domain/audited_events.hpp"
#include "domain/event_types.hpp"
#include "engine/deliver.hpp"
#include "engine/held_ledger.hpp"
#include "engine/mask_json.hpp"
#include "engine/open_run.hpp"
#include "engine/save.hpp"
#include "secrets/secret_patterns.hpp"

namespace pawl {
namespace {

Result<AddedEntry> ask_owner(Store& store, Clock& clock, const RunId& run, const NewAuditEntry& entry) {
  PAWL_TRY(deliver(store, clock, run,
                   compact({{"type", "audit"}, {"entry", entry.type}, {"agent", entry.agent}, {"data", entry.data}})));
  PAWL_TRY_ASSIGN(const std::optional<std::string> owner, store.owner(run));
  return AddedEntry{.asked = true, .owner = owner.value_or(""), .sequence = {}};
}

/// The states of workflow and step runs count the run's events, because outputs refer to them by number.
std::string counted(const std::string& text) {
  if (!text.starts_with(R"({"pawl":")")) return text;
  Json state = parse_json(text);
  const auto events = state.is_object() ? state.find("events") : state.end();
  if (!state.is_object() || events == state.end() || !events->is_number_unsigned()) return text;
  *events = events->get<std::uint64_t>() + 1;
  return compact(state);
}

Result<AddedEntry> write_entry(Store& store, RunWriter& writer, const RunId& run, const NewAuditEntry& entry,
                               std::uint64_t state_bytes_max) {
  PAWL_TRY_ASSIGN(const Restored last, store.restore(run, {}));
  const std::string state = counted(last.state);
  SaveRequest request;
  request.body = state;
  request.kind = last.info.kind;
  request.status = last.info.status;
  request.stage = last.info.stage;
  request.step = last.info.step;
  request.also = last.info.also;
  request.duplicates = Duplicates::write;
  request.events.push_back({entry.type, compact(entry.data), Audited::yes, entry.agent});
  PAWL_TRY_ASSIGN(const Saved saved, checked_save(writer, request, state_bytes_max));
  return AddedEntry{.asked = false, .owner = {}, .sequence = saved.sequence};
}

/// Returns whether a resume or a reader would take the type for a fact recorded by the engine.
bool is_pawls_own(std::string_view type) {
  if (type == event_type::kCheckpointRead) return false;
  if (is_audited_type(type)) return true;
  constexpr std::string_view kPrefixes[] = {"run_",      "stage_",      "step_",    "item_", "map_",
                                            "workflow_", "checkpoint_", "attempt_", "dlq_"};
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return type.starts_with(prefix); });
}

}  // namespace

std::string agent_of(const Json& data) {
  for (const char* key : {"by", "agent"}) {
    const auto found = data.find(key);
    if (found != data.end() && found->is_string() && check_label(key, found->get_ref<const std::string&>()))
      return found->get<std::string>();
  }
  return {};
}

Result<void> check_entry(const NewAuditEntry& entry) {
  PAWL_TRY(check_label("type of the entry", entry.type));
  PAWL_TRY(check_label("agent", entry.agent));
  if (entry.type.empty())
    return fail(
        Error{Code::invalid_label, "the entry type is empty", {}, "pass a type, for example --type reviewed", 0});
  if (is_pawls_own(entry.type)) {
    return fail(Error{Code::usage,
                      fmt::format("entry type '{}' is reserved for Pawl", entry.type),
                      {},
                      "choose another type, for example reviewed",
                      0});
  }
  if (const std::size_t size = compact(entry.data).size(); size > kAuditDataBytesMax) {
    return fail(Error{Code::state_too_large,
                      fmt::format("the data of the entry has {} bytes; the limit is {}", size, kAuditDataBytesMax),
                      {},
                      "keep large values in files, and their names or hashes in the entry",
                      0});
  }
  return {};
}

Result<AddedEntry> add_audit_entry(Store& store, const RunId& run, NewAuditEntry entry, const Settings& settings,
                                   Clock& clock) {
  PAWL_TRY(check_entry(entry));
  PAWL_TRY(store.run(run));  // opening a missing run would create it
  PAWL_TRY_ASSIGN(const auto patterns, SecretPatterns::make(settings.secrets, {}));
  MaskCounts counts;
  mask_texts(entry.data, patterns, counts);
  auto writer = store.open_run(run, {});
  if (!writer && writer.error().code == Code::run_busy) {
    // An execution reads its inbox; any other holder releases the run soon.
    if (load_state(store, run)) {
      Result<AddedEntry> asked = ask_owner(store, clock, run, entry);
      if (asked || asked.error().code != Code::run_ended) return asked;
    }
    writer = open_ledger_writer(store, clock, run);
  }
  if (!writer) return std::unexpected(writer.error());
  PAWL_TRY_ASSIGN(AddedEntry added, write_entry(store, **writer, run, entry, settings.checkpoint.size_max_bytes));
  return added;
}

}  // namespace pawl
