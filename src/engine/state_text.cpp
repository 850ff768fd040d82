#include "engine/state_text.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "text/text_diff.hpp"

namespace pawl {
namespace {

constexpr std::string_view kEnd = "}}";

/// Returns the head without its last brace, and the beginning of the steps.
std::string opened(const std::string& head) {
  std::string text = head.substr(0, head.size() - 1);
  text += text.size() > 1 ? ",\"steps\":{" : "\"steps\":{";
  return text;
}

std::string entry_text(const std::string& path, const std::string& record) {
  return compact(Json(path)) + ":" + record;
}

}  // namespace

void StateText::reset(const std::string& head, const std::vector<Step>& steps) {
  head_ = opened(head);
  entries_.clear();
  compact_entries();
  for (const Step& step : steps) note(step);
  settle_entries();
}

void StateText::note(const Step& step) {
  const auto known = by_path_.find(step.path);
  if (known == by_path_.end() && !step.record) return;
  const std::size_t index = known == by_path_.end() ? entries_.size() : known->second;
  if (known == by_path_.end()) {
    entries_.push_back({.path = step.path});
    by_path_[step.path] = index;
  }
  Entry& entry = entries_[index];
  if (!std::exchange(entry.touched, true)) touched_.push_back(index);
  entry.removed = !step.record;
  entry.next.reset();
  if (step.record) entry.next = entry_text(step.path, *step.record);
}

std::uint64_t StateText::offset_of(std::size_t index) const {
  std::uint64_t offset = head_.size();
  for (std::size_t i = index; i > 0; i -= i & (~i + 1)) offset += sums_[i - 1];
  return offset;
}

void StateText::set_size(std::size_t index, std::uint64_t size) {
  if (index == sizes_.size()) {
    sizes_.push_back(0);
    const std::size_t end = index + 1;
    std::uint64_t sum = 0;
    for (std::size_t width = 1; width < (end & (~end + 1)); width <<= 1U) sum += sums_[end - width - 1];
    sums_.push_back(sum);
  }
  const std::uint64_t added = size - std::exchange(sizes_[index], size);  // modulo 2^64
  for (std::size_t i = index + 1; i <= sums_.size(); i += i & (~i + 1)) sums_[i - 1] += added;
}

/// Without the first entry, the next one would lose its comma.
bool StateText::removes_first() const { return !entries_.empty() && entries_.front().removed; }

/// An entry is preceded by a comma, except for the first one.
std::vector<TextChange> StateText::changes_of_entries() const {
  std::vector<TextChange> changes;
  std::string added;
  const bool any = removed_ < sizes_.size();
  for (const std::size_t index : touched_) {
    const Entry& entry = entries_[index];
    if (entry.text.empty()) {  // new ones are at the end
      if (entry.next) added += (!any && added.empty() ? "" : ",") + *entry.next;
    } else if (entry.removed) {
      changes.push_back({offset_of(index) - 1, 1 + entry.text.size(), ""});
    } else if (entry.next && *entry.next != entry.text) {
      changes.push_back({offset_of(index), entry.text.size(), *entry.next});
    }
  }
  if (!added.empty()) changes.push_back({offset_of(sizes_.size()) - (any ? 1 : 0), 0, std::move(added)});
  return changes;
}

void StateText::settle_entries() {
  for (const std::size_t index : touched_) {
    Entry& entry = entries_[index];
    entry.touched = false;
    if (entry.next) entry.text = *std::exchange(entry.next, std::nullopt);
    if (entry.removed) {
      entry.text.clear();
      by_path_.erase(entry.path);
      ++removed_;
    }
    set_size(index, entry.text.empty() ? 0 : 1 + entry.text.size());
  }
  touched_.clear();
  if (removes_first() || removed_ > entries_.size() / 2) compact_entries();
  const std::uint64_t end = offset_of(sizes_.size());
  size_ = end - (removed_ < entries_.size() ? 1 : 0) + kEnd.size();
}

/// Forgets the entries that were removed.
void StateText::compact_entries() {
  std::erase_if(entries_, &Entry::removed);
  by_path_.clear();
  sums_.clear();
  sizes_.clear();
  touched_.clear();
  removed_ = 0;
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    by_path_[entries_[index].path] = index;
    set_size(index, 1 + entries_[index].text.size());
  }
}

std::optional<std::vector<TextChange>> StateText::update(const std::string& head, const std::vector<Step>& steps) {
  for (const Step& step : steps) note(step);
  const std::string next = opened(head);
  std::ranges::sort(touched_);
  const bool whole = head_.empty() || removes_first();
  std::vector<TextChange> changes;
  if (!whole) {
    for (const Splice& splice : diff_text(head_, next))
      changes.push_back({splice.offset, splice.removed, std::string(splice.inserted)});
    std::ranges::move(changes_of_entries(), std::back_inserter(changes));
  }
  head_ = next;
  settle_entries();
  if (whole) return std::nullopt;
  return changes;
}

std::string StateText::text() const {
  std::string out;
  out.reserve(size_);
  out = head_;
  bool first = true;
  for (const Entry& entry : entries_) {
    if (entry.removed) continue;
    if (!std::exchange(first, false)) out += ',';
    out += entry.text;
  }
  out += kEnd;
  return out;
}

}  // namespace pawl
