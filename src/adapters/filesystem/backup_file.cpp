#include "adapters/filesystem/backup_file.hpp"

#include <algorithm>
#include <charconv>

#include "adapters/filesystem/layout.hpp"
#include "codec/compression.hpp"
#include "codec/export_text.hpp"
#include "codec/object_members.hpp"

namespace pawl {
namespace {

constexpr std::string_view kBackupFormat = "backup/1";
constexpr std::string_view kBackupFormats = "backup/";
constexpr std::size_t kFrameContent = 4U << 20U;
constexpr std::size_t kFrameContentMax = 2 * kFrameContent;
constexpr std::size_t kFrameBytesMax = kFrameContentMax + (kFrameContentMax >> 8U) + 1024;
constexpr std::size_t kCopyBytes = 1U << 20U;
constexpr std::uint64_t kSumLineMax = 64 + 2 + kTarPathBytesMax + 1;
constexpr int kLevel = 3;

// A frame that every reader of zstd skips: magic number, length, text.
constexpr std::string_view kSkippedMagic("\x50\x2a\x4d\x18", 4);
constexpr std::size_t kTotalsTextBytes = 80;
constexpr std::size_t kTotalsBytes = 8 + kTotalsTextBytes;

std::string encode_totals(const BackupTotals& totals) {
  std::string text =
      fmt::format("pawl {} files {:020} bytes {:020}", kBackupFormat, totals.files, totals.content_bytes);
  text.resize(kTotalsTextBytes, ' ');
  text.back() = '\n';
  std::string frame(kSkippedMagic);
  frame += std::string_view("\x50\0\0\0", 4);
  static_assert(kTotalsTextBytes == 0x50);
  return frame + text;
}

std::optional<BackupTotals> decode_totals(std::string_view frame) {
  constexpr std::size_t kDigits = 20;
  constexpr std::size_t kFilesAt = 8 + 4 + 1 + kBackupFormat.size() + 7;
  constexpr std::size_t kBytesAt = kFilesAt + kDigits + 7;
  if (frame.size() != kTotalsBytes) return std::nullopt;
  BackupTotals totals;
  const auto number = [&](std::size_t at, std::uint64_t& value) {
    const std::string_view text = frame.substr(at, kDigits);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
  };
  if (!number(kFilesAt, totals.files) || !number(kBytesAt, totals.content_bytes)) return std::nullopt;
  if (encode_totals(totals) != frame) return std::nullopt;
  return totals;
}

std::unexpected<Error> damaged_backup(std::string what) {
  return fail(Error{Code::backup_damaged, std::move(what), {}, "use another backup, or copy this one again", 0});
}

std::string sum_line(const Sha256& hash, std::string_view path) { return fmt::format("{}  {}\n", to_hex(hash), path); }

}  // namespace

std::optional<RunPart> run_part(std::string_view name) {
  for (const std::string_view file : {"run.json", "key.json", "erased.json"}) {
    if (name == file) return RunPart::file;
  }
  for (const std::string_view folder : {"checkpoints", "events", "audit", "blobs", "inbox", "forks", "logs"}) {
    if (name == folder) return RunPart::folder;
  }
  return std::nullopt;
}

std::string encode_backup_about(const BackupAbout& about) {
  return fmt::format(R"({{"pawl":"{}","store":"{}","at":"{}"}})"
                     "\n",
                     kBackupFormat, about.store.text(), about.at.text());
}

Result<BackupAbout> decode_backup_about(std::string_view text) {
  if (text.size() < 3 || text.size() > 4096) return damaged_backup("backup.json can't be read");
  const auto members = ObjectMembers::parse(text.substr(1, text.size() - 3));
  const std::string format = members ? members->text("pawl") : std::string();
  if (!format.starts_with(kBackupFormats)) return damaged_backup("backup.json can't be read");
  if (format != kBackupFormat)
    return fail(Code::unsupported_version, "the backup has format '{}'; this version of pawl reads '{}'", format,
                kBackupFormat);
  const auto store = Uuid::parse(members->text("store"));
  const auto at = Timestamp::parse(members->text("at"));
  if (!store || !at) return damaged_backup("backup.json can't be read");
  const BackupAbout about{*store, *at};
  if (encode_backup_about(about) != text) return damaged_backup("backup.json can't be read");
  return about;
}

bool may_be_in_backup(std::string_view path) {
  if (path == kBackupAbout || path == kBackupSums || path == layout::kStoreFile || path == "config.yaml") return true;
  if (path == layout::segment(1, 1)) return true;
  // Backslashes and line breaks would have to be escaped in the list of checksums.
  if (path.find('\\') != std::string_view::npos || path.size() > kTarPathBytesMax) return false;
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view top = path.substr(0, slash);
  std::string_view rest = path.substr(slash + 1);
  const bool is_single = rest.find('/') == std::string_view::npos;
  if (top == layout::kRecovery) return is_single && may_be_exported(rest);
  if (top == layout::kErasing) return RunId::parse(rest).has_value();
  if (top != layout::kRuns || is_single) return false;
  const std::size_t end = rest.find('/');
  if (!RunId::parse(rest.substr(0, end))) return false;
  rest = rest.substr(end + 1);
  if (rest == "key.json") return true;
  const auto part = run_part(rest.substr(0, rest.find('/')));
  const bool is_file = rest.find('/') == std::string_view::npos;
  if (!part || is_file != (*part == RunPart::file)) return false;
  return may_be_exported(rest) && !rest.ends_with(".lock");
}

BackupWriter::BackupWriter(File& file, Timestamp at) : file_(file), modified_s_(at.us / 1'000'000) {}

Result<void> BackupWriter::add(const std::string& path, std::string_view content) {
  const Read read = [&](std::uint64_t offset, std::uint64_t size) -> Result<std::string> {
    return std::string(content.substr(offset, size));
  };
  PAWL_TRY(add(path, content.size(), read, Short::fails));
  return {};
}

Result<bool> BackupWriter::add(const std::string& path, std::uint64_t size_bytes, const Read& read, Short what) {
  if (!paths_.insert(path).second) {
    return fail(
        Error{Code::write_failed, fmt::format("the backup would contain '{}' twice", path), {}, "try again", 0});
  }
  paths_since_mark_.push_back(path);
  PAWL_TRY(put(encode_tar_header({.path = path, .size_bytes = size_bytes, .modified_s = modified_s_})));
  Sha256Stream hash;
  for (std::uint64_t at = 0; at < size_bytes;) {
    const std::uint64_t wanted = std::min<std::uint64_t>(kCopyBytes, size_bytes - at);
    PAWL_TRY_ASSIGN(std::string piece, read(at, wanted));
    if (piece.size() < wanted && what == Short::fails) return false;
    piece.resize(wanted, '\0');
    hash.add(piece);
    PAWL_TRY(put(piece));
    at += wanted;
  }
  PAWL_TRY(put(std::string(tar_padding_bytes(size_bytes), '\0')));
  if (path == kBackupSums) return true;
  sums_ += sum_line(hash.finish(), path);
  ++totals_.files;
  totals_.content_bytes += size_bytes;
  return true;
}

void BackupWriter::mark() {
  mark_ = Mark{end_, pending_.size(), sums_.size(), totals_};
  paths_since_mark_.clear();
}

Result<void> BackupWriter::take_back() {
  if (end_ != mark_->end) {
    PAWL_TRY(file_.resize(mark_->end));
    end_ = mark_->end;
    pending_.clear();
  }
  pending_.resize(mark_->pending);
  sums_.resize(mark_->sums);
  totals_ = mark_->totals;
  for (const std::string& path : paths_since_mark_) paths_.erase(path);
  paths_since_mark_.clear();
  return {};
}

Result<void> BackupWriter::put(std::string_view bytes) {
  pending_ += bytes;
  return pending_.size() >= kFrameContent ? flush() : Result<void>();
}

/// What was added before the mark gets a frame of its own, so that the rest can be taken back.
Result<void> BackupWriter::flush() {
  if (mark_ && mark_->pending > 0 && mark_->end == end_) {
    PAWL_TRY(write_frame(mark_->pending));
    mark_->end = end_;
    mark_->pending = 0;
  }
  return pending_.empty() ? Result<void>() : write_frame(pending_.size());
}

Result<void> BackupWriter::write_frame(std::size_t bytes) {
  const std::string frame = compress_zstd(std::string_view(pending_).substr(0, bytes), kLevel);
  if (frame.empty()) return fail(Code::write_failed, "can't compress the backup: not enough memory");
  PAWL_TRY(file_.write_at(end_, frame));
  end_ += frame.size();
  pending_.erase(0, bytes);
  return {};
}

Result<BackupTotals> BackupWriter::finish() {
  const std::string sums = std::move(sums_);
  PAWL_TRY(add(std::string(kBackupSums), sums));
  PAWL_TRY(put(std::string(2 * kTarBlockBytes, '\0')));
  mark_.reset();
  PAWL_TRY(flush());
  const std::string totals = encode_totals(totals_);
  PAWL_TRY(file_.write_at(end_, totals));
  end_ += totals.size();
  return totals_;
}

BackupReader::BackupReader(File& file) : file_(file) {}

Result<BackupTotals> BackupReader::totals() {
  if (totals_) return *totals_;
  PAWL_TRY_ASSIGN(const std::uint64_t size, file_.size());
  if (size < kTotalsBytes) return damaged_backup("this is not a backup, or it is incomplete");
  PAWL_TRY_ASSIGN(const std::string frame, file_.read_at(size - kTotalsBytes, kTotalsBytes));
  totals_ = decode_totals(frame);
  if (!totals_) return damaged_backup("this is not a backup, or it is incomplete");
  file_end_ = size - kTotalsBytes;
  return *totals_;
}

Result<void> BackupReader::read_frame() {
  PAWL_TRY(totals());
  if (at_ >= file_end_) return damaged_backup("the backup is incomplete");
  PAWL_TRY_ASSIGN(std::string bytes, file_.read_at(at_, std::min<std::uint64_t>(kFrameBytesMax, file_end_ - at_)));
  const auto size = zstd_frame_bytes(bytes);
  if (!size) return damaged_backup(fmt::format("the backup is damaged at byte {}", at_));
  auto content = decompress_zstd(std::string_view(bytes).substr(0, *size), kFrameContentMax);
  if (!content) return damaged_backup(fmt::format("the backup is damaged at byte {}", at_));
  at_ += *size;
  buffer_.erase(0, used_);
  used_ = 0;
  buffer_ += *content;
  return {};
}

Result<std::string> BackupReader::take(std::uint64_t bytes) {
  // An empty frame makes no progress, but read_frame fails at the end of the file.
  while (buffer_.size() - used_ < bytes) PAWL_TRY(read_frame());
  std::string taken = buffer_.substr(used_, bytes);
  used_ += bytes;
  return taken;
}

Result<std::string> BackupReader::content() {
  PAWL_TRY_ASSIGN(std::string piece, take(std::min<std::uint64_t>(left_, kCopyBytes)));
  left_ -= piece.size();
  hash_->add(piece);
  return piece;
}

/// Skips what the caller did not read, and notes the checksum.
Result<void> BackupReader::close_entry() {
  while (left_ > 0) PAWL_TRY(content());
  PAWL_TRY_ASSIGN(const std::string padding, take(tar_padding_bytes(entry_->size_bytes)));
  if (padding.find_first_not_of('\0') != std::string::npos) return damaged_backup("the backup is damaged");
  const Sha256 hash = hash_->finish();
  if (entry_->path == kBackupSums) {
    listed_ = to_hex(hash);
  } else {
    sums_.add(sum_line(hash, entry_->path));
    ++found_.files;
    found_.content_bytes += entry_->size_bytes;
    PAWL_TRY_ASSIGN(const BackupTotals said, totals());
    if (found_.content_bytes > said.content_bytes || found_.files > said.files)
      return damaged_backup("the backup contains more than it says");
  }
  entry_.reset();
  return {};
}

Result<void> BackupReader::check_end() {
  PAWL_TRY_ASSIGN(const std::string last, take(kTarBlockBytes));
  PAWL_TRY_ASSIGN(const BackupTotals said, totals());
  if (!is_tar_end(last) || used_ != buffer_.size() || at_ != file_end_)
    return damaged_backup("the backup is followed by unexpected data");
  if (said.files != found_.files || said.content_bytes != found_.content_bytes)
    return damaged_backup("the backup contains less than it says");
  if (listed_.empty() || listed_ != to_hex(sums_.finish()))
    return damaged_backup("the checksums of the backup are wrong");
  return {};
}

Result<std::optional<TarHeader>> BackupReader::next() {
  if (entry_) PAWL_TRY(close_entry());
  PAWL_TRY_ASSIGN(std::string blocks, take(kTarBlockBytes));
  if (is_tar_end(blocks)) {
    PAWL_TRY(check_end());
    return std::optional<TarHeader>();
  }
  if (!listed_.empty()) return damaged_backup("the backup is followed by unexpected data");
  PAWL_TRY_ASSIGN(const std::uint64_t bytes, tar_header_bytes(blocks));
  PAWL_TRY_ASSIGN(const std::string rest, take(bytes - blocks.size()));
  PAWL_TRY_ASSIGN(TarHeader header, decode_tar_header(blocks + rest));
  if (!may_be_in_backup(header.path))
    return damaged_backup(fmt::format("the backup contains the file '{}', which is not part of a store", header.path));
  PAWL_TRY_ASSIGN(const BackupTotals said, totals());
  const std::uint64_t size_max =
      header.path == kBackupSums ? found_.files * kSumLineMax : said.content_bytes - found_.content_bytes;
  if (header.size_bytes > size_max) return damaged_backup("the backup contains more than it says");
  entry_ = header;
  left_ = header.size_bytes;
  hash_.emplace();
  return std::optional(std::move(header));
}

}  // namespace pawl
