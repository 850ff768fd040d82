#include "adapters/filesystem/journal_losses.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "adapters/filesystem/line_file.hpp"
#include "codec/record_text.hpp"
#include "codec/sealed_text.hpp"

namespace pawl {
namespace {

std::string_view line_of(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

/// The text of a record has a checksum of its own.
bool is_intact(const JournalRecord& record) {
  const std::uint32_t seed = seal_seed(record.run_uuid);
  switch (record.type) {
    case RecordType::run: {
      const auto run = decode_run(record.text);
      return run && run->run == record.run && run->uuid == record.run_uuid;
    }
    case RecordType::checkpoint: {
      const auto checkpoint = decode_checkpoint(line_of(record.text), seed);
      return checkpoint && checkpoint->sequence == record.sequence;
    }
    case RecordType::event: {
      const auto event = decode_event(line_of(record.text), seed);
      return event && event->event.sequence == record.sequence && event->event.number == record.number;
    }
    case RecordType::audit: {
      const auto entry = decode_audit(line_of(record.text));
      return entry && entry->sequence == record.sequence && entry->index == record.number;
    }
    default: return false;
  }
}

bool same_save(const JournalRecord& a, const JournalRecord& b) { return a.run == b.run && a.sequence == b.sequence; }

/// What the text does not repeat must follow from something else. Which group a difference belongs to follows from the
/// run's other checkpoints (JournalSnapshot::place_differences).
bool is_header_certain(const JournalRecord& record, const std::vector<JournalRecord>& batch) {
  switch (record.type) {
    case RecordType::checkpoint:
      if (record.flags == RecordFlags::own_file) return record.number == record.sequence.value;
      return record.flags == RecordFlags::none && record.number < record.sequence.value;
    case RecordType::audit:  // its text does not depend on the UUID, but the checkpoint's does
      return std::ranges::any_of(batch, [&](const JournalRecord& other) {
        return other.type == RecordType::checkpoint && same_save(other, record) && other.run_uuid == record.run_uuid;
      });
    default: return true;
  }
}

bool is_usable(const JournalRecord& record, const std::vector<JournalRecord>& batch) {
  return is_intact(record) && is_header_certain(record, batch);
}

/// The checksum of a text covers the UUID of its run, but not its name.
bool names_agree(const SalvagedBatch& part) {
  std::map<std::string, std::string_view> names;  // by UUID
  for (const JournalRecord& record : part.records) {
    if (part.header_valid && !part.runs.empty() && !part.runs.may_have(record.run)) return false;
    if (!RunId::parse(record.run)) return false;
    if (names.emplace(record.run_uuid.text(), record.run).first->second != record.run) return false;
  }
  return true;
}

/// Returns whether it is known which run and save each record belongs to. The records of a save follow each other, so a
/// damaged one between intact ones of the same save belongs to it.
bool owners_known(const SalvagedBatch& part) {
  if (!part.complete || part.records.empty()) return false;
  if (part.body_valid) return true;
  if (!names_agree(part)) return false;
  for (std::size_t i = 0; i < part.records.size(); ++i) {
    const JournalRecord& record = part.records[i];
    if (is_usable(record, part.records)) continue;
    const auto vouches = [&](const JournalRecord& other) {
      return same_save(other, record) && is_usable(other, part.records);
    };
    const bool before = i > 0 && vouches(part.records[i - 1]);
    const bool after = i + 1 < part.records.size() && vouches(part.records[i + 1]);
    if (!before && !after) return false;
  }
  return true;
}

/// No save takes less than the fixed parts of its two records.
std::uint64_t saves_in(const SalvagedBatch& part) {
  constexpr std::uint64_t kSaveBytesMin = 2 * 68;
  if (part.header_valid) return part.record_count;
  return (part.place.end - part.place.offset) / kSaveBytesMin + 1;
}

}  // namespace

void LostBatches::add(const SalvagedBatch& part) {
  saves_max += saves_in(part);
  if (owners_known(part)) {
    for (const JournalRecord& record : part.records) {
      auto found = runs.find(record.run);
      if (found == runs.end()) found = runs.emplace(std::string(record.run), 0).first;
      // Nothing else says which checkpoint the record of the run belongs to.
      if (part.body_valid || record.type != RecordType::run)
        found->second = std::max(found->second, record.sequence.value);
      const bool is_difference = record.type == RecordType::checkpoint && record.flags == RecordFlags::none;
      if (!part.body_valid && !is_usable(record, part.records)) {
        unreadable.push_back(record);
      } else {
        (is_difference && !part.body_valid ? differences : intact).push_back(record);
      }
    }
  } else if (part.header_valid && !part.runs.empty()) {
    filters.push_back(part.runs);
  } else {
    any_run = true;
  }
}

std::optional<std::uint64_t> LostBatches::highest_lost(std::string_view run) const {
  if (nothing_lost) return std::nullopt;
  std::optional<std::uint64_t> highest;
  const auto known = runs.find(run);
  if (known != runs.end()) highest = known->second;
  const bool suspected =
      any_run || std::ranges::any_of(filters, [&](const RunsFilter& filter) { return filter.may_have(run); });
  if (!suspected) return highest;
  // The records of a run are written in order: what was lost before an existing one is older than that.
  const auto next = later.find(run);
  return next == later.end() ? kUnknownSequence : std::max(highest.value_or(0), next->second - 1);
}

bool LostBatches::may_hide_any() const { return !settled && (any_run || !unreadable.empty() || !filters.empty()); }

bool LostBatches::may_hide(std::string_view run) const {
  if (settled) return false;
  const auto is_of_run = [&](const JournalRecord& record) { return record.run == run; };
  return any_run || std::ranges::any_of(unreadable, is_of_run) ||
         std::ranges::any_of(filters, [&](const RunsFilter& filter) { return filter.may_have(run); });
}

std::uint64_t LostBatches::highest_number(std::string_view run, RecordType type) const {
  std::uint64_t highest = 0;
  if (nothing_lost) return highest;
  const RecordType other = type == RecordType::event ? RecordType::audit : RecordType::event;
  for (const JournalRecord& record : unreadable) {
    // The type may be what is damaged. A checkpoint that can't be read stops the run in any case.
    if (record.run != run || record.type == other) continue;
    highest = std::max(highest, record.number);
    // If the number itself is damaged, the text may still be readable.
    if (const auto number = line_number(line_of(record.text))) highest = std::max(highest, *number);
  }
  return highest;
}

std::uint64_t LostBatches::first_unreadable(std::string_view run, std::uint64_t after) const {
  std::uint64_t found = kUnknownSequence;
  for (const JournalRecord& record : unreadable) {
    if (record.run == run && record.sequence.value > after) found = std::min(found, record.sequence.value);
  }
  return found;
}

std::uint64_t LostBatches::first_unrecorded(std::string_view run, std::uint64_t after) const {
  const auto is_checkpoint = [&](const JournalRecord& record) {
    if (record.type != RecordType::checkpoint) return false;
    // If the checkpoint is there, the type of this record is what is damaged.
    return std::ranges::none_of(intact, [&](const JournalRecord& other) {
      return other.type == RecordType::checkpoint && same_save(other, record);
    });
  };
  std::uint64_t found = kUnknownSequence;
  for (const JournalRecord& record : unreadable) {
    if (record.run == run && record.sequence.value > after && !is_checkpoint(record))
      found = std::min(found, record.sequence.value);
  }
  return found;
}

std::string LostBatches::runs_text() const {
  if (any_run) return "unknown";
  std::vector<std::string> names;
  for (const auto& [run, sequence] : runs) names.push_back(fmt::format("{}@{}", run, sequence));
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (!filters.empty()) text += text.empty() ? "listed below" : ", and others listed below";
  return text;
}

}  // namespace pawl
