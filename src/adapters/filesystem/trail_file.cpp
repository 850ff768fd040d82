#include "adapters/filesystem/trail_file.hpp"

#include <algorithm>
#include <charconv>

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"

namespace pawl {
namespace {

constexpr std::string_view kArchivePrefix = "audit_trail_";
constexpr std::string_view kArchiveSuffix = ".jsonl.gz";
constexpr std::uint64_t kTrailHeadBytes = 64;  // enough for the number of the first entry
constexpr std::uint64_t kArchiveReadBytes = std::uint64_t{1} << 20;
constexpr int kArchiveLooks = 5;

bool take_name_number(std::string_view& text, std::uint64_t& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_name_char(std::string_view& text, char expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(1);
  return true;
}

/// Reads archives from start to end. Going back starts again at the beginning of an archive.
class ArchiveReader {
 public:
  struct Opened {
    TrailArchive archive;
    std::unique_ptr<File> file;
    std::string path;
  };
  explicit ArchiveReader(std::vector<Opened> archives) : archives_(std::move(archives)) {}

  [[nodiscard]] std::uint64_t end() const { return archives_.back().archive.end; }

  /// Returns some bytes at `offset`, which is before the end.
  Result<std::string_view> at(std::uint64_t offset) {
    if (!started_ || offset < part_at_) start_before(offset);
    while (offset >= part_at_ + part_.size()) PAWL_TRY(read_part());
    return std::string_view(part_).substr(offset - part_at_);
  }

 private:
  std::unexpected<Error> bad(const Opened& archive, std::string message) const {
    return fail(Error{Code::checksum_mismatch, std::move(message), archive.path, {}, 0, Advice::check_store});
  }

  [[nodiscard]] std::uint64_t begin_of(std::size_t index) const {
    return index == 0 ? 0 : archives_[index - 1].archive.end;
  }

  void start_before(std::uint64_t offset) {
    started_ = true;
    next_ = 0;
    while (offset >= archives_[next_].archive.end) ++next_;
    stored_at_ = 0;
    stored_.clear();
    part_.clear();
    part_at_ = begin_of(next_);
    point_ = {archives_[next_].archive.first - 1, {}};
    point_known_ = next_ == 0;  // otherwise, only the number of its first entry is known
  }

  Result<void> read_part() {
    Opened& from = archives_[next_];
    const std::uint64_t begin = part_at_ + part_.size();
    if (stored_.empty()) PAWL_TRY(fill(from));
    auto part = unpack_trail(stored_);
    while (!part && more_) {
      PAWL_TRY(fill(from));
      part = unpack_trail(stored_);
    }
    if (!part) return bad(from, part.error().message);
    const bool follows = part->begin.entry == point_.entry && (!point_known_ || part->begin.hash == point_.hash);
    if (!follows) return bad(from, fmt::format("entry {} does not follow the previous entry", part->begin.entry + 1));
    stored_.erase(0, part->stored_bytes);
    part_ = std::move(part->lines);
    part_at_ = begin;
    point_ = part->end;
    point_known_ = true;
    const bool is_last = point_.entry == from.archive.last;
    if (part_.empty() || point_.entry > from.archive.last || (is_last && begin + part_.size() != from.archive.end))
      return bad(from, fmt::format("the archive has other entries than its name says, up to {}", point_.entry));
    if (!is_last) return {};
    ++next_;
    stored_at_ = 0;
    stored_.clear();
    return {};
  }

  /// Reads the next piece of the archive.
  Result<void> fill(Opened& from) {
    PAWL_TRY_ASSIGN(const std::string piece, from.file->read_at(stored_at_, kArchiveReadBytes));
    stored_at_ += piece.size();
    stored_ += piece;
    more_ = piece.size() == kArchiveReadBytes;
    return {};
  }

  std::vector<Opened> archives_;
  bool started_ = false;
  std::size_t next_ = 0;         // the archive that is being read
  std::uint64_t stored_at_ = 0;  // in that archive, after `stored_`
  std::string stored_;           // read, but not decompressed
  bool more_ = false;            // the archive has more
  std::string part_;             // decompressed
  std::uint64_t part_at_ = 0;    // its offset in the trail
  TrailPoint point_;             // its last entry
  bool point_known_ = false;
};

class TrailFile final : public File {
 public:
  TrailFile(std::unique_ptr<File> plain, ArchiveReader archives)
      : plain_(std::move(plain)), archives_(std::move(archives)), base_(archives_.end()) {}

  Result<std::string> read_at(std::uint64_t offset, std::uint64_t size) override {
    std::string text;
    while (offset < base_ && text.size() < size) {
      PAWL_TRY_ASSIGN(std::string_view piece, archives_.at(offset));
      piece = piece.substr(0, size - text.size());
      text += piece;
      offset += piece.size();
    }
    if (text.size() == size) return text;
    PAWL_TRY_ASSIGN(const std::string rest, plain_->read_at(offset - base_, size - text.size()));
    if (text.empty()) return rest;
    text += rest;
    return text;
  }
  /// Lines that are archived may be written again, but not changed.
  Result<void> write_at(std::uint64_t offset, std::string_view bytes) override {
    if (offset < base_) {
      const std::string_view repeated = bytes.substr(0, base_ - offset);
      PAWL_TRY_ASSIGN(const std::string there, read_at(offset, repeated.size()));
      if (there != repeated) return archived();
      offset += repeated.size();
      bytes.remove_prefix(repeated.size());
      if (bytes.empty()) return {};
    }
    return plain_->write_at(offset - base_, bytes);
  }
  Result<void> sync(SyncPoint point) override { return plain_->sync(point); }
  Result<void> resize(std::uint64_t size) override {
    if (size < base_) return archived();
    return plain_->resize(size - base_);
  }
  Result<std::uint64_t> size() override {
    PAWL_TRY_ASSIGN(const std::uint64_t size, plain_->size());
    return base_ + size;
  }
  Result<std::uint64_t> id() override { return plain_->id(); }
  Result<bool> try_lock(std::uint64_t byte) override { return plain_->try_lock(byte); }
  Result<bool> try_lock_shared(std::uint64_t byte) override { return plain_->try_lock_shared(byte); }
  Result<void> unlock(std::uint64_t byte) override { return plain_->unlock(byte); }
  Result<bool> locked_elsewhere(std::uint64_t byte) override { return plain_->locked_elsewhere(byte); }

 private:
  static std::unexpected<Error> archived() {
    return fail(Code::chain_broken, "archived audit entries can't be changed");
  }

  std::unique_ptr<File> plain_;
  ArchiveReader archives_;
  const std::uint64_t base_;
};

}  // namespace

std::optional<TrailArchive> parse_archive_name(std::string_view name) {
  if (!name.starts_with(kArchivePrefix) || !name.ends_with(kArchiveSuffix) ||
      name.size() <= kArchivePrefix.size() + kArchiveSuffix.size())
    return std::nullopt;
  TrailArchive archive{.name = std::string(name)};
  name = name.substr(kArchivePrefix.size(), name.size() - kArchivePrefix.size() - kArchiveSuffix.size());
  const bool whole = take_name_number(name, archive.first) && take_name_char(name, '-') &&
                     take_name_number(name, archive.last) && take_name_char(name, '_') &&
                     take_name_number(name, archive.end) && name.empty();
  if (!whole || archive.first == 0 || archive.last < archive.first) return std::nullopt;
  return archive_name(archive.first, archive.last, archive.end) == archive.name ? std::optional(archive) : std::nullopt;
}

std::string archive_name(std::uint64_t first, std::uint64_t last, std::uint64_t end) {
  return fmt::format("{}{}-{}_{}{}", kArchivePrefix, first, last, end, kArchiveSuffix);
}

Result<std::vector<TrailArchive>> archives_up_to(FileSystem& files, std::string_view run, std::uint64_t last) {
  PAWL_TRY_ASSIGN(const auto entries, files.list(layout::audit_folder(run)));
  std::vector<TrailArchive> all;
  for (const FolderEntry& entry : entries) {
    if (entry.is_folder) continue;
    if (auto archive = parse_archive_name(entry.name)) all.push_back(std::move(*archive));
  }
  // Of two that start at the same entry, one was merged into the other.
  std::ranges::sort(all, [](const TrailArchive& a, const TrailArchive& b) {
    return a.first != b.first ? a.first < b.first : a.last > b.last;
  });
  std::vector<TrailArchive> chosen;
  std::uint64_t reached = 0;
  std::uint64_t end = 0;
  for (TrailArchive& archive : all) {
    if (archive.first != reached + 1 || archive.last > last || archive.end <= end) continue;
    reached = archive.last;
    end = archive.end;
    chosen.push_back(std::move(archive));
  }
  if (reached != last) chosen.clear();
  return chosen;
}

Result<std::unique_ptr<File>> open_trail(FileSystem& files, std::string_view run, OpenMode mode) {
  for (int look = 1;; ++look) {
    PAWL_TRY_ASSIGN(auto plain, files.open(layout::audit(run), mode));
    PAWL_TRY_ASSIGN(const std::string head, plain->read_at(0, kTrailHeadBytes));
    const std::uint64_t first = line_number(head).value_or(1);
    if (first <= 1) return plain;
    PAWL_TRY_ASSIGN(auto archives, archives_up_to(files, run, first - 1));
    if (archives.empty()) return plain;
    std::vector<ArchiveReader::Opened> opened;
    bool all = true;
    for (TrailArchive& archive : archives) {
      const std::string path = join_path(layout::audit_folder(run), archive.name);
      auto file = files.open(path, OpenMode::read);
      if (!file && file.error().code == Code::input_unreadable && look < kArchiveLooks) {
        all = false;  // it was merged into another one meanwhile
        break;
      }
      if (!file) return std::unexpected(file.error());
      opened.push_back({std::move(archive), std::move(*file), path});
    }
    if (all) return std::make_unique<TrailFile>(std::move(plain), ArchiveReader(std::move(opened)));
  }
}

}  // namespace pawl
