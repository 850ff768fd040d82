// Archived audit entries: the older part of a trail, compressed. Links and hashes of entries follow from the entries
// themselves, so an archive leaves them out and they are computed again when it is read (docs/formats/audit.md).
//
// An archive consists of parts. A part is a gzip member with this text:
//   {"first":1,"prev":"64 hex digits"}     the hash of the entry before the first one
//   {"i":1,"at":...}                       the entries, without `prev` and `hash`
//   {"last":1000,"hash":"64 hex digits"}   the hash of the last entry
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "base/result.hpp"

namespace pawl {

/// A part never gets larger than this when it is decompressed.
inline constexpr std::uint64_t kTrailPartBytesMax = std::uint64_t{4} << 20;

/// A position in the chain of a trail: the number and the hash of an entry. 0 and zeros: before the first one.
struct TrailPoint {
  std::uint64_t entry = 0;
  Sha256 hash = {};
  bool operator==(const TrailPoint&) const = default;
};

/// Collects entries and turns them into parts.
class TrailPacker {
 public:
  explicit TrailPacker(const TrailPoint& after) : begin_(after), end_(after) {}

  /// Adds an entry (a line without its newline). Returns false, and adds nothing, if it does not follow the last one.
  [[nodiscard]] bool add(std::string_view line);
  /// Whether the entries are enough for a part.
  [[nodiscard]] bool full() const;
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] const TrailPoint& end() const { return end_; }
  /// Returns the part with all entries added since the last call.
  [[nodiscard]] std::string take();

 private:
  TrailPoint begin_;
  TrailPoint end_;
  std::string text_;
};

/// The entries of a part as lines of the trail, each with its newline.
struct TrailPart {
  std::string lines;
  TrailPoint begin;  // before the first entry
  TrailPoint end;
  std::uint64_t stored_bytes = 0;
};

/// Reads the part at the start of `archive`. Fails with checksum_mismatch if it is damaged, or if its entries don't
/// lead to the hash at its end.
[[nodiscard]] Result<TrailPart> unpack_trail(std::string_view archive);

}  // namespace pawl
