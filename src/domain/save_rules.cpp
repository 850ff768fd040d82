#include "domain/save_rules.hpp"

#include <algorithm>
#include <charconv>
#include <ranges>

#include "base/assert.hpp"
#include "base/hash.hpp"
#include "domain/event_types.hpp"
#include "domain/lifecycle.hpp"
#include "text/json_text.hpp"
#include "text/state_patch.hpp"

namespace pawl {
namespace {

Saved answer(const CheckpointInfo& checkpoint, Saved::Outcome outcome) {
  return {checkpoint.sequence, checkpoint.id, checkpoint.checksum, outcome};
}

Result<void> check_caller_id(const SaveRequest& request, const SaveFacts& facts) {
  const CheckpointInfo& earlier = *facts.earlier;
  const bool same_kind = earlier.kind == request.kind;
  if (facts.earlier_has_same_body && same_kind) return {};
  const std::string& run = facts.run.text();
  const std::string what = same_kind ? std::string("a different body or format")
                                     : fmt::format("kind {} (now {})", to_text(earlier.kind), to_text(request.kind));
  return fail(Error{Code::caller_id_reused,
                    fmt::format("id '{}' was already used for a save with {}", request.caller_id, what),
                    fmt::format("{}@{}", run, earlier.sequence.value),
                    "give each save an id of its own",
                    0,
                    Advice::show_checkpoint,
                    {.run = run, .sequence = earlier.sequence.value}});
}

Result<void> check_parent(const SaveRequest& request, const SaveFacts& facts) {
  const Sequence head = facts.head == nullptr ? Sequence{} : facts.head->sequence;
  if (!request.expected_parent || *request.expected_parent == head) return {};
  const std::string& run = facts.run.text();
  const std::string is = head ? fmt::format("is {}", head.value) : std::string("does not exist yet");
  const std::string expected =
      *request.expected_parent ? fmt::format("{} was expected", request.expected_parent->value) : "none was expected";
  return fail(Error{Code::parent_conflict,
                    fmt::format("the last checkpoint of run '{}' {}, but {}", run, is, expected),
                    head ? fmt::format("{}@{}", run, head.value) : run,
                    head ? fmt::format("read the newest state, then save on top of checkpoint {}", head.value)
                         : "expect 0 for the first checkpoint of a run, or leave the expectation out",
                    0,
                    head ? Advice::list_checkpoints : Advice::none,
                    {.run = run}});
}

/// The first save of a fork starts over, whatever the status of its parent run.
Result<void> check_status_change(const SaveRequest& request, const SaveFacts& facts) {
  if (request.status_change == StatusChange::any || facts.head == nullptr || facts.head_is_shared) return {};
  if (may_become(facts.head->status, request.status)) return {};
  return fail(Error{Code::transition_refused,
                    fmt::format("run '{}' is {} and can't become {}", facts.run.text(), to_text(facts.head->status),
                                to_text(request.status)),
                    fmt::format("{}@{}", facts.run.text(), facts.head->sequence.value),
                    {},
                    0});
}

Result<void> check_size(std::string_view what, std::uint64_t bytes, std::uint64_t bytes_max) {
  if (bytes <= bytes_max) return {};
  return fail(Code::state_too_large, "the {} state would have {} bytes; the maximum is {}", what, bytes, bytes_max);
}

/// State and patch were checked separately; together they may be too large.
Result<void> check_patched(std::string_view state, std::uint64_t bytes_max) {
  PAWL_TRY(check_size("patched", state.size(), bytes_max));
  if (json_depth(state) > kJsonDepthMax)
    return fail(Code::json_too_deep, "the patched state would be nested too deeply");
  return {};
}

bool is_unchanged(const SaveRequest& request, const CheckpointInfo& head) {
  return request.events.empty() && request.caller_id.empty() && request.kind == head.kind &&
         request.status == head.status && request.name == head.name && request.stage == head.stage &&
         request.step == head.step && request.also == head.also &&
         one_line(request.metadata) == one_line(head.metadata);
}

Result<std::optional<Saved>> answer_repeated(const SaveRequest& request, const SaveFacts& facts) {
  PAWL_ASSERT(facts.earlier == nullptr || facts.earlier->caller_id == request.caller_id);
  if (facts.earlier == nullptr || request.caller_id.empty()) return std::optional<Saved>();
  PAWL_TRY(check_caller_id(request, facts));
  return std::optional(answer(*facts.earlier, Saved::Outcome::repeated));
}

/// Returns whether an equal state would be answered with the last checkpoint.
bool may_answer_unchanged(const SaveRequest& request, const SaveFacts& facts) {
  return facts.head != nullptr && !facts.head_is_shared && request.duplicates == Duplicates::answer &&
         is_unchanged(request, *facts.head);
}

Result<std::uint64_t> changed_size(const SaveFacts& facts, std::span<const Splice> change) {
  std::uint64_t size = facts.head_state.size();
  std::uint64_t reached = 0;
  for (const Splice& splice : change) {
    if (splice.offset < reached || splice.offset > facts.head_state.size() ||
        splice.removed > facts.head_state.size() - splice.offset)
      return fail(Code::invalid_patch, "the change at byte {} does not fit the last state of run '{}' ({} bytes)",
                  splice.offset, facts.run.text(), facts.head_state.size());
    reached = splice.offset + splice.removed;
    size += splice.inserted.size() - splice.removed;
  }
  return size;
}

bool changes_nothing(std::string_view state, std::span<const Splice> change) {
  return std::ranges::all_of(
      change, [&](const Splice& splice) { return state.substr(splice.offset, splice.removed) == splice.inserted; });
}

}  // namespace

Result<SaveDecision> decide_save(const SaveRequest& request, const SaveFacts& facts) {
  PAWL_TRY_ASSIGN(const std::optional<Saved> repeated, answer_repeated(request, facts));
  if (repeated) return *repeated;
  PAWL_TRY(check_parent(request, facts));
  PAWL_TRY(check_status_change(request, facts));

  WriteState write;
  if (request.form == Form::patch) {
    PAWL_TRY_ASSIGN(write.patched, apply_patch(facts.head == nullptr ? "{}" : facts.head_state, request.body));
    PAWL_TRY(check_patched(write.patched, facts.state_bytes_max));
  }
  if (may_answer_unchanged(request, facts) && state_to_write(request, write) == facts.head_state) {
    return answer(*facts.head, Saved::Outcome::unchanged);
  }
  return write;
}

Result<ChangeDecision> decide_change(const SaveRequest& request, std::span<const Splice> change,
                                     const SaveFacts& facts) {
  PAWL_TRY_ASSIGN(const std::optional<Saved> repeated, answer_repeated(request, facts));
  if (repeated) return ChangeDecision{.answer = *repeated};
  PAWL_TRY(check_parent(request, facts));
  if (!request.expected_parent || facts.head == nullptr) {
    return fail(Error{Code::parent_conflict, "a change must name the checkpoint that it was made from",
                      facts.run.text(), "pass the last sequence as the expected parent", 0});
  }
  PAWL_TRY(check_status_change(request, facts));
  ChangeDecision decision;
  PAWL_TRY_ASSIGN(decision.state_bytes, changed_size(facts, change));
  PAWL_TRY(check_size("changed", decision.state_bytes, facts.state_bytes_max));
  if (may_answer_unchanged(request, facts) && changes_nothing(facts.head_state, change))
    decision.answer = answer(*facts.head, Saved::Outcome::unchanged);
  return decision;
}

void apply_change(std::string& state, std::span<const Splice> change) {
  // Offsets refer to the state before the change, so it is applied from the back.
  for (const Splice& splice : change | std::views::reverse)
    state.replace(splice.offset, splice.removed, splice.inserted);
}

bool is_undone(Sequence saved, std::span<const Event> later) {
  return std::ranges::any_of(later, [&](const Event& event) {
    if (event.type != event_type::kRolledBack || event.sequence <= saved) return false;
    const auto to = find_json_member(event.data, "to");
    std::uint64_t target = 0;
    return to && std::from_chars(to->data(), to->data() + to->size(), target).ec == std::errc{} && target < saved.value;
  });
}

std::string one_line(std::string_view json) {
  std::string line(json);
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

std::uint64_t body_fingerprint(const SaveRequest& request) {
  const std::uint64_t checksum = crc32c(request.body, static_cast<std::uint32_t>(request.form) + 1);
  return (static_cast<std::uint64_t>(request.body.size()) << 32U) | checksum;
}

std::uint64_t change_fingerprint(const SaveRequest& request, std::span<const Splice> change) {
  constexpr std::uint32_t kSeed = 3;  // no Form has it
  const std::uint64_t parent = request.expected_parent.value_or(Sequence()).value;
  std::uint32_t checksum = crc32c(fmt::format("{}", parent), kSeed);
  std::uint64_t size = 0;
  for (const Splice& splice : change) {
    checksum = crc32c(fmt::format(" {} {} ", splice.offset, splice.removed), checksum);
    checksum = crc32c(splice.inserted, checksum);
    size += splice.inserted.size();
  }
  return (size << 32U) | checksum;
}

CheckpointInfo draft_checkpoint(const SaveRequest& request, std::uint64_t state_bytes, const DraftFacts& facts) {
  CheckpointInfo info;
  info.sequence = facts.latest.next();
  info.parent = facts.latest;
  info.id = facts.id;
  info.created = next_timestamp(facts.previous, facts.now);
  info.kind = request.kind;
  info.status = request.status;
  info.reason = request.reason;
  info.name = request.name;
  info.caller_id = request.caller_id;
  info.stage = request.stage;
  info.step = request.step;
  info.also = request.also;
  info.metadata = one_line(request.metadata);
  info.state_bytes = state_bytes;
  return info;
}

}  // namespace pawl
