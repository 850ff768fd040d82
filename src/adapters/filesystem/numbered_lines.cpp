#include "adapters/filesystem/numbered_lines.hpp"

#include <algorithm>

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/trail_file.hpp"

namespace pawl {
NumberedLines NumberedLines::of_trail(FileSystem& files, std::string_view run, const Records* journal) {
  NumberedLines lines(files, "entry", {layout::audit(run)}, journal);
  lines.open_ = [&files, run = std::string(run)](const std::string&) { return open_trail(files, run, OpenMode::read); };
  return lines;
}

Error NumberedLines::bad(std::string message) const {
  return Error{
      Code::checksum_mismatch, std::move(message), next_path_ == 0 ? std::string() : paths_[next_path_ - 1], {}, 0,
      Advice::check_store};
}

const JournalRecord* NumberedLines::in_journal(std::uint64_t number) const {
  if (journal_ == nullptr) return nullptr;
  const auto found = journal_->find(number);
  return found == journal_->end() ? nullptr : &found->second;
}

/// Opens the next existing file. Returns false if there is none.
Result<bool> NumberedLines::open_next() {
  while (next_path_ < paths_.size()) {
    auto file = open_(paths_[next_path_++]);
    if (!file && file.error().code != Code::input_unreadable) return std::unexpected(file.error());
    if (!file) continue;
    file_ = std::move(*file);
    offset_ = 0;
    PAWL_TRY_ASSIGN(size_, file_->size());
    at_start_ = true;
    return true;
  }
  return false;
}

/// Reads the next piece of the file. Returns false at its end.
Result<bool> NumberedLines::fill() {
  if (offset_ >= size_) return false;
  PAWL_TRY_ASSIGN(std::string piece, file_->read_at(offset_, std::min(kPieceBytes, size_ - offset_)));
  if (piece.empty()) return false;
  offset_ += piece.size();
  if (begin_ == buffer_.size()) {
    buffer_ = std::move(piece);
  } else {
    buffer_.erase(0, begin_);
    buffer_ += piece;
  }
  begin_ = 0;
  return true;
}

Result<std::optional<NumberedLines::FileLine>> NumberedLines::peek() {
  while (true) {
    if (!file_) {
      PAWL_TRY_ASSIGN(const bool opened, open_next());
      if (!opened) return std::optional<FileLine>();
    }
    std::size_t looked = 0;
    while (true) {
      const std::size_t end = buffer_.find('\n', begin_ + looked);
      if (end != std::string::npos)
        return std::optional(FileLine{std::string_view(buffer_).substr(begin_, end - begin_), true});
      looked = buffer_.size() - begin_;
      PAWL_TRY_ASSIGN(const bool more, fill());
      if (!more) break;
    }
    if (begin_ < buffer_.size()) return std::optional(FileLine{std::string_view(buffer_).substr(begin_), false});
    file_.reset();
    buffer_.clear();
    begin_ = 0;
  }
}

/// Returns `size` bytes from the current position, or fewer at the end of the file.
Result<std::string_view> NumberedLines::look(std::size_t size) {
  while (buffer_.size() - begin_ < size) {
    PAWL_TRY_ASSIGN(const bool more, fill());
    if (!more) break;
  }
  return std::string_view(buffer_).substr(begin_, size);
}

void NumberedLines::consume(std::size_t size) {
  begin_ += size;
  at_start_ = false;
}

Result<std::optional<NumberedLines::Line>> NumberedLines::next() {
  const std::uint64_t number = last_ + 1;
  const JournalRecord* const record = in_journal(number);
  PAWL_TRY_ASSIGN(const auto line, peek());
  const auto from_journal = [&] {
    last_ = number;
    return std::optional(Line{number, without_newline(record->text), layout::kJournals});
  };
  const auto from_file = [&] {
    last_ = number;
    consume(line->text.size() + 1);
    return std::optional(Line{number, line->text, paths_[next_path_ - 1]});
  };
  if (!line && record != nullptr) return from_journal();
  if (!line && journal_ != nullptr && journal_->upper_bound(number) != journal_->end())
    return fail(bad(
        fmt::format("{} {} is missing; found {} in its place", what_, number, journal_->upper_bound(number)->first)));
  if (!line) return std::optional<Line>();
  const auto found = line_number(line->text);
  if (record != nullptr) {
    if (line->complete && line->text == without_newline(record->text)) return from_file();
    // After a crash, the previous file lacks its last lines; the journal contains them.
    if (at_start_ && line->complete && found && *found > number) return from_journal();
    PAWL_TRY_ASSIGN(const std::string_view copy, look(record->text.size()));
    if (!is_left_by_crash(copy, record->text))
      return fail(bad(fmt::format("{} {} differs from the journal", what_, number)));
    consume(copy.size());
    return from_journal();
  }
  if (!line->complete && truncated_is_end_) return std::optional<Line>();
  if (!line->complete) return fail(bad(fmt::format("{} {} is truncated", what_, number)));
  if (!found) return fail(bad(fmt::format("{} {} is damaged", what_, number)));
  if (*found != number) return fail(bad(fmt::format("{} {} is missing; found {} in its place", what_, number, *found)));
  return from_file();
}

}  // namespace pawl
