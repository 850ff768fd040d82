#include "codec/pruned_text.hpp"

#include <algorithm>
#include <iterator>

#include "codec/object_members.hpp"
#include "codec/sealed_text.hpp"
#include "domain/sequence_limit.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kListFormat = 2;
constexpr std::size_t kSumHexDigits = 64;

Error pruned_list_damaged() {
  return Error{
      Code::store_damaged, "the list of pruned checkpoints is damaged", {}, "restore the file from a backup", 0};
}

std::optional<std::map<std::uint64_t, PrunedList::Sums>> parse_kept(const std::string& text) {
  const auto rows = nlohmann::json::parse(text, nullptr, false);
  if (!rows.is_array()) return std::nullopt;
  std::map<std::uint64_t, PrunedList::Sums> kept;
  for (const auto& row : rows) {
    if (!row.is_array() || row.size() != 3 || !row[0].is_number_unsigned() || !row[1].is_string() ||
        !row[2].is_string()) {
      return std::nullopt;
    }
    PrunedList::Sums sums{row[1].get<std::string>(), row[2].get<std::string>()};
    if (sums.was.size() != kSumHexDigits || sums.is.size() != kSumHexDigits) return std::nullopt;
    kept[row[0].get<std::uint64_t>()] = std::move(sums);
  }
  return kept;
}

std::optional<std::map<std::uint64_t, std::uint64_t>> parse_tails(const std::string& text) {
  if (text.empty()) return std::map<std::uint64_t, std::uint64_t>();  // format 1 has none
  const auto rows = nlohmann::json::parse(text, nullptr, false);
  if (!rows.is_array()) return std::nullopt;
  std::map<std::uint64_t, std::uint64_t> tails;
  for (const auto& row : rows) {
    if (!row.is_array() || row.size() != 2 || !row[0].is_number_unsigned() || !row[1].is_number_unsigned())
      return std::nullopt;
    tails[row[0].get<std::uint64_t>()] = row[1].get<std::uint64_t>();
  }
  return tails;
}

/// Ranges are ascending, so the last one tells.
bool is_bounded(const IndexRanges& numbers) {
  return numbers.empty() || (numbers.ranges().begin()->first > 0 && numbers.ranges().rbegin()->second <= kSequenceMax);
}

std::optional<std::string_view> body_of(std::string_view text, std::uint32_t seed) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const auto body = unseal(text, seed);
  if (!body || !body->starts_with('{')) return std::nullopt;
  return body->substr(1);
}

}  // namespace

Sequence PrunedList::last_there(Sequence sequence) const {
  const auto after = dropped.ranges().upper_bound(sequence.value);
  if (after == dropped.ranges().begin()) return sequence;
  const auto& [first, last] = *std::prev(after);
  return last < sequence.value ? sequence : Sequence{first - 1};
}

bool PrunedList::is_gone(Sequence sequence) const {
  if (!is_closed(sequence) || !is_dropped(sequence)) return false;
  const auto after = tails.upper_bound(sequence.value);
  return after == tails.begin() || std::prev(after)->second < sequence.value;
}

Sequence PrunedList::before_aside(Sequence base, Sequence up_to) const {
  const auto after = aside.ranges().upper_bound(base.value);
  if (after == aside.ranges().end()) return up_to;
  return std::min(up_to, Sequence{after->first - 1});
}

std::string encode_pruned(const PrunedList& list, std::uint32_t seed) {
  // Older programs can read a list without tails.
  std::string out = fmt::format("{{\"pawl\":{}", list.tails.empty() ? 1 : kListFormat);
  append_json_member(out, "at", list.at.text());
  append_json_member(out, "dropped", list.dropped.text());
  append_json_member(out, "closed", list.closed.text());
  out += ",\"kept\":[";
  for (const auto& [sequence, sums] : list.kept) {
    if (!out.ends_with('[')) out += ',';
    out += fmt::format("[{},\"{}\",\"{}\"]", sequence, sums.was, sums.is);
  }
  out += ']';
  if (!list.tails.empty()) {
    out += ",\"tails\":[";
    for (const auto& [base, last] : list.tails) {
      if (!out.ends_with('[')) out += ',';
      out += fmt::format("[{},{}]", base, last);
    }
    out += ']';
  }
  out += fmt::format(",\"callers\":{}", list.callers);
  seal(out, seed);
  out += '\n';
  return out;
}

Result<PrunedList> decode_pruned(std::string_view text, std::uint32_t seed) {
  const auto body = body_of(text, seed);
  if (!body || !text.ends_with('\n')) return fail(pruned_list_damaged());
  const auto members = ObjectMembers::parse(*body);
  if (!members) return fail(pruned_list_damaged());
  if (members->number("pawl") > kListFormat) {
    return fail(newer_format("the list of pruned checkpoints", members->number("pawl"), kListFormat));
  }
  PrunedList list;
  const auto at_time = Timestamp::parse(members->text("at"));
  auto dropped = IndexRanges::parse(members->text("dropped"));
  auto closed = IndexRanges::parse(members->text("closed"));
  auto kept = parse_kept(members->raw("kept"));
  auto tails = parse_tails(members->raw("tails"));
  if (!at_time || !dropped || !closed || !kept || !tails) return fail(pruned_list_damaged());
  const bool based = std::ranges::all_of(
      *tails, [&](const auto& tail) { return kept->contains(tail.first) && tail.second > tail.first; });
  if (!based) return fail(pruned_list_damaged());
  const bool bounded = is_bounded(*dropped) && is_bounded(*closed) && members->number("callers") <= kSequenceMax &&
                       (kept->empty() || (kept->begin()->first > 0 && kept->rbegin()->first <= kSequenceMax)) &&
                       std::ranges::all_of(*tails, [](const auto& tail) { return tail.second <= kSequenceMax; });
  if (!bounded) return fail(pruned_list_damaged());
  list.at = *at_time;
  list.dropped = std::move(*dropped);
  list.closed = std::move(*closed);
  list.kept = std::move(*kept);
  list.tails = std::move(*tails);
  list.callers = members->number("callers");
  return list;
}

std::string encode_pruned_caller(const PrunedCaller& caller, std::uint32_t seed) {
  std::string out = fmt::format("{{\"n\":{},\"seq\":{}", caller.number, caller.info.sequence.value);
  append_json_member(out, "id", caller.info.id.text());
  append_json_member(out, "kind", to_text(caller.info.kind));
  append_json_member(out, "sum", caller.info.checksum);
  append_json_member(out, "caller", caller.info.caller_id);
  append_json_member(out, "caller_sum", caller.fingerprint);
  seal(out, seed);
  out += '\n';
  return out;
}

Result<PrunedCaller> decode_pruned_caller(std::string_view line, std::uint32_t seed) {
  const auto bad = [] {
    return fail(Error{
        Code::store_damaged, "the caller ID of a pruned save is damaged", {}, "restore the file from a backup", 0});
  };
  const auto body = body_of(line, seed);
  if (!body) return bad();
  const auto members = ObjectMembers::parse(*body);
  if (!members) return bad();
  PrunedCaller caller;
  const auto id = Uuid::parse(members->text("id"));
  const auto kind = parse_kind(members->text("kind"));
  if (!id || !kind) return bad();
  caller.number = members->number("n");
  caller.info.sequence.value = members->number("seq");
  caller.info.id = *id;
  caller.info.kind = *kind;
  caller.info.checksum = members->text("sum");
  caller.info.caller_id = members->text("caller");
  if (caller.number > kSequenceMax || caller.info.sequence.value > kSequenceMax) return bad();
  caller.fingerprint = members->text("caller_sum");
  return caller;
}

}  // namespace pawl
