#include "adapters/filesystem/damaged_group.hpp"

#include <algorithm>
#include <array>

#include "adapters/filesystem/line_file.hpp"
#include "base/json.hpp"
#include "codec/record_text.hpp"

namespace pawl {
namespace {

constexpr std::array<std::string_view, 16> kLabels = {"seq",   "parent", "stored", "v",      "enc",    "id",
                                                      "at",    "kind",   "status", "reason", "caller", "caller_sum",
                                                      "stage", "step",   "also",   "meta"};

/// Reads the labels without the checksum. Returns nothing unless all of them are what Pawl writes: a changed byte must
/// not turn a named checkpoint into one without a name.
std::optional<DoubtfulCheckpoint> labels_of(std::string_view text, Sequence expected) {
  const std::size_t size = text.find(",\"size\":");
  if (size == std::string_view::npos) return std::nullopt;
  const Json labels = Json::parse(std::string(text.substr(0, size)) + "}", nullptr, false);
  if (!labels.is_object()) return std::nullopt;
  for (const auto& [key, value] : labels.items()) {
    if (std::ranges::find(kLabels, key) == kLabels.end()) return std::nullopt;  // "name", or damaged
  }
  const auto number = labels.find("seq");
  const auto id = Uuid::parse(text_in(labels, "id"));
  const auto created = Timestamp::parse(text_in(labels, "at"));
  const auto kind = parse_kind(text_in(labels, "kind"));
  if (number == labels.end() || *number != expected.value || !id || !created || !kind) return std::nullopt;
  DoubtfulCheckpoint found;
  found.info.sequence = expected;
  found.info.id = *id;
  found.info.created = *created;
  found.info.kind = *kind;
  found.info.stage = text_in(labels, "stage");
  if (const auto also = labels.find("also"); also != labels.end()) {
    auto more = decode_labels(compact(*also));
    if (!more) return std::nullopt;
    found.info.also = std::move(*more);
  }
  found.info.caller_id = text_in(labels, "caller");
  found.fingerprint = text_in(labels, "caller_sum");
  if (!found.info.caller_id.empty() && found.fingerprint.empty()) return std::nullopt;
  return found;
}

}  // namespace

std::vector<DoubtfulCheckpoint> doubtful_checkpoints(const Chain& chain, const PrunedList& list, Sequence first,
                                                     Sequence last) {
  std::vector<std::string_view> lines;  // the text of checkpoint base + 1 + i
  if (chain.lines_text) {
    for_each_line(*chain.lines_text, [&](std::string_view line, bool) {
      lines.push_back(line);
      return true;
    });
  }
  std::vector<DoubtfulCheckpoint> found;
  for (Sequence next = list.next_there(first); next <= last; next = list.next_there(next.next())) {
    const std::size_t index = next.value - chain.base.value;
    std::optional<DoubtfulCheckpoint> labels;
    if (index == 0 && chain.whole_text) labels = labels_of(*chain.whole_text, next);
    if (index > 0 && index <= lines.size()) labels = labels_of(lines[index - 1], next);
    if (labels && list.rewritten(next) != nullptr) labels->info.checksum = "sha256:" + list.rewritten(next)->was;
    // Its caller's id must still be answered after it was pruned, which needs the checksum.
    const bool answered = labels && (labels->info.caller_id.empty() || !labels->info.checksum.empty());
    if (!answered) {
      labels.emplace();
      labels->info.sequence = next;
      labels->info.name = "?";
    }
    found.push_back(std::move(*labels));
  }
  return found;
}

}  // namespace pawl
