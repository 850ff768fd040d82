#include "adapters/filesystem/limit_file.hpp"

#include <algorithm>
#include <charconv>

#include "adapters/filesystem/layout.hpp"

namespace pawl {
namespace {

constexpr std::string_view kTitle = "pawl-limit 1 ";
constexpr std::size_t kNumberDigits = 10;
constexpr std::size_t kTimeDigits = 20;

std::string padded(std::string line) {
  line.resize(LimitFile::kLineBytes - 1, ' ');
  return line + '\n';
}

/// Returns the number at the front of `text`, which has exactly `digits` digits, and removes it with the next byte.
std::optional<std::uint64_t> number_in(std::string_view& text, std::size_t digits) {
  if (text.size() <= digits) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + digits, value);
  if (problem != std::errc() || end != text.data() + digits) return std::nullopt;
  text.remove_prefix(digits + 1);
  return value;
}

std::optional<std::uint32_t> limit_of(std::uint64_t number) {
  return number == 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(number));
}

std::string definition_line(const LimitDefinition& limit) {
  return padded(fmt::format("{:010} {:010}", limit.per_minute.value_or(0), limit.parallel.value_or(0)));
}

}  // namespace

Result<std::unique_ptr<LimitFile>> LimitFile::open(FileSystem& files, const std::string& name) {
  PAWL_TRY(files.make_folder(layout::kLimits));
  std::string path = layout::limit(name);
  PAWL_TRY_ASSIGN(auto file, files.open(path, OpenMode::create));
  return std::unique_ptr<LimitFile>(new LimitFile(std::move(file), std::move(path), name));
}

bool LimitFile::parse_header(std::string_view line) {
  if (!line.starts_with(kTitle)) return false;
  line.remove_prefix(kTitle.size());
  const auto starts = number_in(line, kNumberDigits);
  const auto highest = starts ? number_in(line, 5) : std::nullopt;
  if (!highest || *highest > kLimitParallelMax) return false;
  starts_ = *starts;
  highest_ = static_cast<std::uint32_t>(*highest);
  return true;
}

Result<void> LimitFile::write_header() {
  return file_->write_at(0, padded(fmt::format("{}{:010} {:05}", kTitle, starts_, highest_)));
}

/// The locks on slots are not affected, so their number is counted anew.
Result<void> LimitFile::replace() {
  starts_ = 0;
  highest_ = kLimitParallelMax;
  PAWL_TRY(file_->resize(0));
  std::string lines;
  for (std::uint64_t i = 0; i < kDefinitionsMax; ++i) lines += padded({});
  PAWL_TRY(file_->write_at(kLineBytes, lines));
  return write_header();
}

/// Returns false if a line is damaged.
Result<bool> LimitFile::read_definitions(std::string_view lines) {
  const std::string none = padded({});
  for (std::uint64_t i = 0; i < kDefinitionsMax; ++i) {
    std::string_view line = lines.substr(i * kLineBytes, kLineBytes);
    if (line == none || own_definition_ == i) continue;
    PAWL_TRY_ASSIGN(const bool in_use, file_->locked_elsewhere(kDefinitionByte + i));
    if (!in_use) {  // its process has died
      PAWL_TRY(file_->write_at(kLineBytes * (1 + i), none));
      continue;
    }
    const auto per_minute = number_in(line, kNumberDigits);
    const auto parallel = per_minute ? number_in(line, kNumberDigits) : std::nullopt;
    if (!parallel || *per_minute > kLimitPerMinuteMax || *parallel > kLimitParallelMax) return false;
    tighten(strictest_, {.name = name_, .per_minute = limit_of(*per_minute), .parallel = limit_of(*parallel)});
  }
  return true;
}

Result<void> LimitFile::announce(const LimitDefinition& own) {
  for (std::uint64_t i = 0; i < kDefinitionsMax && !own_definition_; ++i) {
    PAWL_TRY_ASSIGN(const bool locked, file_->try_lock(kDefinitionByte + i));
    if (locked) own_definition_ = i;
  }
  if (!own_definition_) return {};  // too many handles: the definition counts for this one only
  return file_->write_at(kLineBytes * (1 + *own_definition_), definition_line(own));
}

Result<bool> LimitFile::read(const LimitDefinition& own) {
  strictest_ = own;
  PAWL_TRY_ASSIGN(const std::uint64_t size, file_->size());
  PAWL_TRY_ASSIGN(const std::string text, file_->read_at(0, kStartsAt));
  bool damaged = size != 0 && text.size() < kStartsAt;
  if (!damaged && size != 0) damaged = !parse_header(text);
  if (!damaged && size != 0) {
    PAWL_TRY_ASSIGN(const bool intact, read_definitions(std::string_view(text).substr(kLineBytes)));
    damaged = !intact;
  }
  if (!damaged) {
    const std::uint64_t kept = std::min(starts_, kStartsKept);
    damaged = size != 0 && size < kStartsAt + kept * kStartBytes;
  }
  if (damaged || size == 0) PAWL_TRY(replace());
  PAWL_TRY(announce(own));
  PAWL_TRY(count_slots());
  return damaged;
}

Result<void> LimitFile::count_slots() {
  std::uint32_t highest = 0;
  taken_ = 0;
  free_slot_ = 0;
  for (std::uint32_t slot = 1; slot <= highest_; ++slot) {
    bool is_taken = own_slots_.contains(slot);
    if (!is_taken) {
      PAWL_TRY_ASSIGN(is_taken, file_->locked_elsewhere(kSlotByte + slot - 1));
    }
    if (is_taken) {
      ++taken_;
      highest = slot;
    } else if (free_slot_ == 0) {
      free_slot_ = slot;
    }
  }
  if (free_slot_ == 0 && highest < kLimitParallelMax) free_slot_ = highest + 1;
  highest_ = highest;
  return {};
}

Result<Timestamp> LimitFile::start_at(std::uint64_t number) {
  PAWL_TRY_ASSIGN(const std::string line, file_->read_at(kStartsAt + number % kStartsKept * kStartBytes, kStartBytes));
  std::string_view text = line;
  const auto time = number_in(text, kTimeDigits);
  // A damaged line counts as one of the far future, which limit_starts_to corrects.
  return Timestamp{time ? static_cast<std::int64_t>(std::min<std::uint64_t>(*time, INT64_MAX)) : INT64_MAX};
}

/// The clock was set back: what was started in the future was started now.
Result<void> LimitFile::limit_starts_to(Timestamp now) {
  const std::uint64_t kept = std::min<std::uint64_t>(starts_, kLimitPerMinuteMax);
  for (std::uint64_t number = starts_ - kept; number < starts_; ++number) {
    PAWL_TRY_ASSIGN(const Timestamp start, start_at(number));
    if (start <= now) continue;
    PAWL_TRY(file_->write_at(kStartsAt + number % kStartsKept * kStartBytes,
                             fmt::format("{:020}\n", std::max<std::int64_t>(now.us, 0))));
  }
  return {};
}

Result<std::optional<LimitWait>> LimitFile::obstacle(Timestamp now) {
  if (strictest_.parallel && taken_ >= *strictest_.parallel)
    return std::optional(LimitWait{LimitWait::Why::parallel, name_, Timestamp{now.us + kLimitAskAgain_us}});
  if (!strictest_.per_minute || starts_ < *strictest_.per_minute) return std::optional<LimitWait>();
  PAWL_TRY_ASSIGN(Timestamp start, start_at(starts_ - *strictest_.per_minute));
  if (start > now) {
    PAWL_TRY(limit_starts_to(now));
    start = now;
  }
  const Timestamp room{start.us + kLimitMinute_us};
  if (room <= now) return std::optional<LimitWait>();
  return std::optional(LimitWait{LimitWait::Why::rate, name_, room});
}

/// The start is written before the header counts it: if the process dies in between, nothing was started.
Result<std::uint32_t> LimitFile::take(Timestamp now) {
  const std::uint32_t slot = free_slot_;
  if (slot != 0) {
    PAWL_TRY_ASSIGN(const bool locked, file_->try_lock(kSlotByte + slot - 1));
    if (!locked) return fail(Code::store_busy, "slot {} of limit '{}' is locked", slot, name_);
    own_slots_.insert(slot);
  }
  const auto record = [&]() -> Result<void> {
    PAWL_TRY(file_->write_at(kStartsAt + starts_ % kStartsKept * kStartBytes,
                             fmt::format("{:020}\n", std::max<std::int64_t>(now.us, 0))));
    ++starts_;
    highest_ = std::max(highest_, slot);
    return write_header();
  };
  if (auto recorded = record(); !recorded) {
    release(slot);
    return std::unexpected(recorded.error());
  }
  return slot;
}

void LimitFile::release(std::uint32_t slot) {
  if (slot == 0 || own_slots_.erase(slot) == 0) return;
  static_cast<void>(file_->unlock(kSlotByte + slot - 1));
}

void LimitFile::leave() {
  if (own_definition_) static_cast<void>(file_->unlock(kDefinitionByte + *own_definition_));
  own_definition_.reset();
}

}  // namespace pawl
