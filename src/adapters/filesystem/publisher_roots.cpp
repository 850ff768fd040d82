// Publisher: the Merkle roots of settled audit entries.
#include <algorithm>

#include "adapters/filesystem/failure_log.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/publisher.hpp"
#include "adapters/filesystem/trail_file.hpp"
#include "adapters/filesystem/whole_file.hpp"
#include "base/hash.hpp"
#include "codec/record_text.hpp"
#include "domain/event_types.hpp"

namespace pawl {
namespace {

/// Returns the entries of `audit` after `size`, or nothing if some are missing.
std::span<const JournalRecord> following(std::span<const JournalRecord> audit, std::uint64_t size) {
  const auto first = std::ranges::find(audit, size + 1, &JournalRecord::number);
  const auto rest = audit.subspan(static_cast<std::size_t>(first - audit.begin()));
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i].number != rest[i - 1].number + 1) return {};
  }
  return rest;
}

/// Adds entries from the file, for when no journal contains them any more. Returns false if they are missing or
/// invalid.
Result<bool> add_from_file(FileSystem& files, std::string_view run, std::uint64_t last, SettledRoot& root) {
  PAWL_TRY_ASSIGN(const auto file, open_trail(files, run, OpenMode::read));
  std::string rest;
  std::uint64_t offset = root.bytes;
  while (root.tree.size() < last) {
    PAWL_TRY_ASSIGN(const std::string piece, file->read_at(offset, kPieceBytes));
    if (piece.empty()) return false;
    offset += piece.size();
    rest += piece;
    std::size_t begin = 0;
    for (std::size_t end = rest.find('\n'); end != std::string::npos && root.tree.size() < last;
         end = rest.find('\n', begin)) {
      if (!add_entry(root, std::string_view(rest).substr(begin, end + 1 - begin))) return false;
      begin = end + 1;
    }
    rest.erase(0, begin);
  }
  return true;
}

/// Returns the root over all entries of the trail except the one about an erasure. Returns nothing if an entry is
/// damaged, or if one of `known` differs from the root over the same entries.
Result<std::optional<SettledRoot>> root_of_trail(File& trail, std::span<const SettledRoot> known) {
  SettledRoot root;
  std::string previous(first_previous_hash());
  bool valid = true;
  const auto read = for_each_line_of(trail, [&](std::string_view line, bool complete, std::uint64_t) {
    const auto entry = decode_audit(line);
    valid = complete && entry && entry->previous == previous;
    if (!valid || entry->type == event_type::kErased) return false;
    previous = entry->hash;
    valid = add_entry(root, fmt::format("{}\n", line));
    if (!known.empty() && known.front().tree.size() == root.tree.size()) {
      valid = valid && known.front() == root;
      known = known.subspan(1);
    }
    return valid;
  });
  if (!read && !is_refusal(read.error().code)) return std::unexpected(read.error());
  if (!read || !valid || !known.empty() || root.tree.size() == 0) return std::optional<SettledRoot>();
  return std::optional(std::move(root));
}

}  // namespace

Result<void> Publisher::rewrite_roots(std::string_view run) {
  const std::string path = layout::roots(run);
  PAWL_TRY_ASSIGN(const auto described, files_.read_file(layout::run_file(run), 1ULL << 20));
  PAWL_TRY_ASSIGN(const RunRecord record, decode_run(described));
  const std::uint32_t seed = seal_seed(record.uuid);
  PAWL_TRY_ASSIGN(const auto lock, lock_run(run, OpenMode::create, Publish::settled));
  PAWL_TRY_ASSIGN(const auto found, read_if_there(files_, path));
  const RootsText parsed = found ? parse_roots(*found, seed) : RootsText();
  PAWL_TRY_ASSIGN(const auto trail, open_trail(files_, run, OpenMode::read));
  PAWL_TRY_ASSIGN(const auto root, root_of_trail(*trail, parsed.roots));
  if (!root) return {};
  std::string text = found ? found->substr(0, parsed.end) : std::string();
  const bool covered = !parsed.roots.empty() && parsed.roots.back().tree.size() == root->tree.size();
  text += covered ? std::string(kRootsEnd) : next_root_text(*root, parsed.end, seed);
  if (found == text) return {};
  if (found && !parsed.fault.empty())
    PAWL_TRY(set_aside(files_, fmt::format("recovery/roots-{}-{}.json", run, to_hex(crc32c(*found))), *found));
  known_roots_.erase(path);
  PAWL_TRY(write_whole_file(files_, path, text, SyncPoint::published_file));
  return files_.sync_folder(layout::audit_folder(run), SyncPoint::published_name);
}

/// Returns whether the file still ends with this root. Another process may have continued it, or replaced the root by
/// one whose text is as long.
Result<bool> Publisher::is_last_root(File& file, const KnownRoot& known, std::uint32_t seed) {
  const std::string expected = next_root_text(known.root, known.begin, seed);
  if (known.begin + expected.size() != known.end + kRootsEnd.size()) return false;
  PAWL_TRY_ASSIGN(const std::string there, file.read_at(known.begin, expected.size() + 1));
  return there == expected;
}

/// Rewrites what another process left, because it may never have reached the disk. After that, only the end of the file
/// changes. The file can be derived from the audit trail, so a damaged end is simply replaced.
///
/// Lazy publishing writes a provisional root over entries that a journal still contains, and the next root replaces it.
/// The files of a closed store are therefore consistent, and the number of roots does not grow with the number of
/// processes.
Result<void> Publisher::publish_roots(std::string_view run, std::span<const JournalRecord> audit, Publish mode,
                                      bool in_new_folder) {
  const std::string path = layout::roots(run);
  const std::uint32_t seed = seal_seed(audit.front().run_uuid);
  PAWL_TRY_ASSIGN(std::shared_ptr<File> file, files_.open(path, OpenMode::create));
  if (known_roots_.size() > kKnownMax) known_roots_.clear();
  KnownRoot known;
  std::string kept;
  const auto found = known_roots_.find(path);
  bool is_known = mode == Publish::settled && !in_new_folder && found != known_roots_.end();
  if (is_known) {
    PAWL_TRY_ASSIGN(is_known, is_last_root(*file, found->second, seed));
  }
  if (is_known) {
    known = found->second;
  } else if (!in_new_folder) {
    PAWL_TRY_ASSIGN(kept, files_.read_file(path));
    RootsText parsed = parse_roots(kept, seed);
    std::size_t count = parsed.roots.size();
    const bool behind = count > 0 && parsed.roots.back().tree.size() < audit.back().number;
    // A replaced root may be lost in a crash. The remaining ones must reach up to the first entry in the journal.
    const auto left_of = [&](std::size_t i) { return i == 0 ? 0 : parsed.roots[i - 1].tree.size(); };
    while (behind && count > 0 && left_of(count) >= audit.front().number &&
           left_of(count - 1) + 1 >= audit.front().number)
      --count;
    // The tree continues from the last root, even if that root is replaced.
    if (!parsed.roots.empty()) known.root = std::move(parsed.roots.back());
    known.begin = count > 1 ? parsed.ends[count - 2] : 0;
    known.end = count > 0 ? parsed.ends[count - 1] : 0;
    kept.resize(known.end);
  }
  const std::uint64_t offset = known.end - kept.size();
  const std::size_t kept_bytes = kept.size();
  std::string text = std::move(kept);
  if (const std::uint64_t last = audit.back().number; known.root.tree.size() < last) {
    const auto lines = following(audit, known.root.tree.size());
    bool complete = !lines.empty();
    for (const JournalRecord& record : lines) complete = complete && add_entry(known.root, record.text);
    if (lines.empty()) {
      const auto added = add_from_file(files_, run, last, known.root);
      if (!added && !is_refusal(added.error().code)) return std::unexpected(added.error());
      complete = added && *added;
    }
    if (!complete) return {};  // the audit trail is damaged; `pawl verify` reports where
    text += next_root_text(known.root, known.end, seed);
    known.begin = known.end;
    known.end = offset + text.size() - kRootsEnd.size();
  } else if (!text.empty()) {
    text += kRootsEnd;
  }
  if (mode != Publish::settled) {
    // Settled roots are not rewritten, because a crash could then lose them.
    known_roots_.erase(path);
    const std::string_view end = std::string_view(text).substr(kept_bytes);
    if (end == kRootsEnd || end.empty()) return {};
    PAWL_TRY(file->write_at(kept_bytes, end));
    return in_new_folder ? Result<void>() : file->resize(text.size());
  }
  if (!text.empty()) {
    PAWL_TRY(file->write_at(offset, text));
    if (!in_new_folder) PAWL_TRY(file->resize(offset + text.size()));
  }
  known_roots_[path] = std::move(known);
  touch(path, std::move(file), Publish::settled);
  return {};
}

}  // namespace pawl
