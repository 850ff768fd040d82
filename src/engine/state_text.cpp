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
  by_path_.clear();
  for (const Step& step : steps) note(step);
  settle_entries();
}

void StateText::note(const Step& step) {
  const auto known = by_path_.find(step.path);
  if (known == by_path_.end() && !step.record) return;
  Entry* entry = known == by_path_.end() ? nullptr : known->second;
  if (entry == nullptr) {
    entries_.push_back(std::make_unique<Entry>(Entry{.path = step.path}));
    entry = entries_.back().get();
    by_path_[step.path] = entry;
  }
  entry->removed = !step.record;
  entry->next.reset();
  if (step.record) entry->next = entry_text(step.path, *step.record);
}

/// An entry is preceded by a comma, except for the first one.
std::vector<TextChange> StateText::changes_of_entries() {
  std::vector<TextChange> changes;
  std::uint64_t offset = head_.size();
  bool first = true;
  std::string added;
  for (const auto& entry : entries_) {
    if (entry->text.empty()) {  // new ones are at the end
      if (entry->next) added += (first && added.empty() ? "" : ",") + *entry->next;
      continue;
    }
    const std::uint64_t comma = first ? 0 : 1;
    first = false;
    if (entry->removed) {
      changes.push_back({offset, comma + entry->text.size(), ""});
    } else if (entry->next && *entry->next != entry->text) {
      changes.push_back({offset + comma, entry->text.size(), *entry->next});
    }
    offset += comma + entry->text.size();
  }
  if (!added.empty()) changes.push_back({offset, 0, std::move(added)});
  return changes;
}

void StateText::settle_entries() {
  std::erase_if(entries_, [this](const std::unique_ptr<Entry>& entry) {
    const bool gone = entry->removed || (entry->text.empty() && !entry->next);
    if (gone) by_path_.erase(entry->path);
    return gone;
  });
  size_ = head_.size() + kEnd.size() + (entries_.empty() ? 0 : entries_.size() - 1);
  for (const auto& entry : entries_) {
    if (entry->next) entry->text = *std::exchange(entry->next, std::nullopt);
    size_ += entry->text.size();
  }
}

std::optional<std::vector<TextChange>> StateText::update(const std::string& head, const std::vector<Step>& steps) {
  for (const Step& step : steps) note(step);
  const std::string next = opened(head);
  // Without the first entry, the next one would lose its comma.
  const bool whole = head_.empty() || (!entries_.empty() && entries_.front()->removed);
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
  for (const auto& entry : entries_) {
    if (!std::exchange(first, false)) out += ',';
    out += entry->text;
  }
  out += kEnd;
  return out;
}

}  // namespace pawl
