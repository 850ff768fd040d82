#include "adapters/filesystem/trail_archiver.hpp"

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "audit/audit_line.hpp"

namespace pawl {
namespace {

/// Writes a file under a temporary name, piece by piece. Without `finish`, nothing of it stays.
class NewFile {
 public:
  NewFile(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (!file_) return;
    file_.reset();
    static_cast<void>(files_.remove(temporary()));  // a full disk needs the blocks
  }

  Result<void> append(std::string_view bytes) {
    if (!file_) {
      PAWL_TRY(files_.remove(temporary()));
      PAWL_TRY_ASSIGN(file_, files_.open(temporary(), OpenMode::create_empty));
    }
    PAWL_TRY(file_->write_at(size_, bytes));
    size_ += bytes.size();
    return {};
  }
  /// Appends `from` from `offset` to its end.
  Result<void> append_rest(File& from, std::uint64_t offset) {
    while (true) {
      PAWL_TRY_ASSIGN(const std::string piece, from.read_at(offset, kPieceBytes));
      PAWL_TRY(append(piece));
      if (piece.size() < kPieceBytes) return {};
      offset += piece.size();
    }
  }
  Result<void> finish(const std::string& path, SyncPoint content, SyncPoint name) {
    PAWL_TRY(file_->sync(content));
    PAWL_TRY(files_.rename(temporary(), path));
    file_.reset();
    return files_.sync_folder(parent_folder(path), name);
  }

 private:
  [[nodiscard]] std::string temporary() const { return path_ + ".tmp"; }

  FileSystem& files_;
  const std::string path_;
  std::unique_ptr<File> file_;
  std::uint64_t size_ = 0;
};

class Archiver {
 public:
  Archiver(FileSystem& files, const std::string& run, const TrailLimits& limits, File& lock, Clock& clock)
      : files_(files), run_(run), limits_(limits), lock_(lock), clock_(clock) {}

  Result<void> archive() {
    PAWL_TRY_ASSIGN(const bool worthwhile, look());
    if (!worthwhile) return {};
    absorb();
    PAWL_TRY_ASSIGN(const bool written, write_archive());
    if (!written) return {};
    PAWL_TRY_ASSIGN(const bool locked, lock_publishing());
    if (!locked) return {};
    const auto cut = cut_trail();
    PAWL_TRY(lock_.unlock(layout::kPublisherByte));
    PAWL_TRY(cut);
    for (const TrailArchive& archive : absorbed_) PAWL_TRY(files_.remove(in_folder(archive.name)));
    return {};
  }

 private:
  [[nodiscard]] std::string in_folder(std::string_view name) const {
    return join_path(layout::audit_folder(run_), name);
  }

  /// Finds out which entries to archive. Returns false if they are too few, or if the trail is damaged.
  Result<bool> look() {
    auto plain = files_.open(layout::audit(run_), OpenMode::read);
    if (!plain && plain.error().code == Code::input_unreadable) return false;
    if (!plain) return std::unexpected(plain.error());
    plain_ = std::move(*plain);
    PAWL_TRY_ASSIGN(const auto last, last_line_below(*plain_, kHighest));
    if (!last || last->number <= limits_.keep) return false;
    last_ = std::min(last->number - limits_.keep, limits_.first_in_journal - 1);
    std::optional<TrailPoint> begin;
    PAWL_TRY(for_each_line_of(*plain_, [&](std::string_view line, bool complete, std::uint64_t) {
      const auto entry = complete ? AuditLine::parse(line) : std::nullopt;
      const auto previous = entry ? hash_of_hex(entry->previous) : std::nullopt;
      if (previous && entry->index > 0) begin = TrailPoint{entry->index - 1, *previous};
      return false;
    }));
    if (!begin || last_ < begin->entry + limits_.at_least) return false;
    begin_ = *begin;
    if (begin_.entry == 0) return true;
    PAWL_TRY_ASSIGN(archives_, archives_up_to(files_, run_, begin_.entry));
    return !archives_.empty();
  }

  /// A merge of archives of about the same size keeps their number small, and each entry is copied only a few times.
  void absorb() {
    first_ = begin_.entry + 1;
    base_ = archives_.empty() ? 0 : archives_.back().end;
    while (!archives_.empty() && archives_.back().count() <= last_ - first_ + 1) {
      first_ = archives_.back().first;
      absorbed_.insert(absorbed_.begin(), std::move(archives_.back()));
      archives_.pop_back();
    }
  }

  Result<bool> write_archive() {
    NewFile out(files_, in_folder("archive"));
    for (const TrailArchive& archive : absorbed_) {
      PAWL_TRY_ASSIGN(const auto file, files_.open(in_folder(archive.name), OpenMode::read));
      PAWL_TRY(out.append_rest(*file, 0));
    }
    TrailPacker packer(begin_);
    bool follows = true;
    Result<void> written;
    PAWL_TRY(for_each_line_of(*plain_, [&](std::string_view line, bool complete, std::uint64_t at) {
      follows = complete && packer.add(line);
      if (!follows) return false;
      cut_at_ = at + line.size() + 1;
      const bool is_last = packer.end().entry == last_;
      if (is_last || packer.full()) written = out.append(packer.take());
      return written && !is_last;
    }));
    PAWL_TRY(written);
    if (!follows || packer.end().entry != last_) return false;
    end_ = packer.end();
    const std::string name = archive_name(first_, last_, base_ + cut_at_);
    PAWL_TRY(out.finish(in_folder(name), SyncPoint::archived_trail, SyncPoint::archived_trail_name));
    return true;
  }

  Result<bool> lock_publishing() {
    for (std::int64_t waited_us = 0; waited_us < kLockWaitUs; waited_us += kLockStepUs) {
      PAWL_TRY_ASSIGN(const bool locked, lock_.try_lock(layout::kPublisherByte));
      if (locked) return true;
      clock_.sleep_us(kLockStepUs);
    }
    return false;
  }

  /// Lines may have been appended since the archive was written. Whoever appended them without a sync still has them in
  /// a journal, or syncs this folder before it discards them.
  Result<void> cut_trail() {
    PAWL_TRY_ASSIGN(const auto plain, files_.open(layout::audit(run_), OpenMode::read));
    PAWL_TRY_ASSIGN(const std::string rest, plain->read_at(cut_at_, kPieceBytes));
    const auto next = AuditLine::parse(std::string_view(rest).substr(0, rest.find('\n')));
    if (!next || next->index != last_ + 1 || !equals_hex(end_.hash, next->previous)) return {};
    NewFile out(files_, layout::audit(run_));
    PAWL_TRY(out.append_rest(*plain, cut_at_));
    return out.finish(layout::audit(run_), SyncPoint::cut_trail, SyncPoint::cut_trail_name);
  }

  FileSystem& files_;
  const std::string& run_;
  const TrailLimits limits_;
  File& lock_;
  Clock& clock_;
  std::unique_ptr<File> plain_;
  std::vector<TrailArchive> archives_;
  std::vector<TrailArchive> absorbed_;
  TrailPoint begin_;         // before the first entry in the file
  TrailPoint end_;           // the last archived entry
  std::uint64_t first_ = 0;  // of the new archive
  std::uint64_t last_ = 0;
  std::uint64_t base_ = 0;    // offset of the file in the trail
  std::uint64_t cut_at_ = 0;  // in the file
};

}  // namespace

Result<void> archive_trail(FileSystem& files, const std::string& run, const TrailLimits& limits, File& lock,
                           Clock& clock) {
  return Archiver(files, run, limits, lock, clock).archive();
}

Result<void> expand_trail(FileSystem& files, const std::string& run) {
  PAWL_TRY_ASSIGN(const auto entries, files.list(layout::audit_folder(run)));
  std::vector<std::string> archives;
  for (const FolderEntry& entry : entries) {
    if (!entry.is_folder && parse_archive_name(entry.name)) archives.push_back(entry.name);
  }
  if (archives.empty()) return {};
  auto trail = open_trail(files, run, OpenMode::read);
  if (!trail && trail.error().code == Code::input_unreadable) return {};
  if (!trail) return std::unexpected(trail.error());
  NewFile out(files, layout::audit(run));
  PAWL_TRY(out.append_rest(**trail, 0));
  PAWL_TRY(out.finish(layout::audit(run), SyncPoint::cut_trail, SyncPoint::cut_trail_name));
  PAWL_TRY_ASSIGN(const auto plain, files.open(layout::audit(run), OpenMode::read));
  PAWL_TRY_ASSIGN(const std::string head, plain->read_at(0, kPieceBytes));
  if (line_number(head) != 1) return {};  // an archive is missing
  for (const std::string& name : archives) PAWL_TRY(files.remove(join_path(layout::audit_folder(run), name)));
  return {};
}

}  // namespace pawl
