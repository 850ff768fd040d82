#include "text/text_diff.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/bytes.hpp"
#include "text/utf8.hpp"

namespace pawl {
namespace {

constexpr std::size_t kBlock = 32;               // size of the blocks that are searched for
constexpr std::size_t kBlocksWorthwhile = 4096;  // a smaller middle becomes one splice, because a search costs more
                                                 // than it saves
constexpr std::size_t kShortSkip = 256;          // a match this close need not be long
constexpr std::size_t kMiddleMax = std::size_t{4} << 20U;
constexpr std::size_t kStretchMax = std::size_t{256} << 10U;  // after this much new text without a match, the rest is
                                                              // likely to be new, too
constexpr std::size_t kLookAhead = 4096;                      // in `before`, beyond the matched part
constexpr std::size_t kLongMatch = 256;                       // long enough not to search for a longer one
constexpr std::size_t kPatience = 128;                        // number of bytes in which a longer match is searched for
constexpr std::size_t kCompare = 512;
constexpr std::size_t kUtf8Followers = 3;

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const std::size_t size = std::min(a.size(), b.size());
  std::size_t at = 0;
  while (at + kCompare <= size && std::memcmp(a.data() + at, b.data() + at, kCompare) == 0) at += kCompare;
  while (at + 8 <= size) {
    const auto difference = load_int<std::uint64_t>(a.data() + at) ^ load_int<std::uint64_t>(b.data() + at);
    if (difference != 0) return at + static_cast<std::size_t>(std::countr_zero(difference)) / 8;
    at += 8;
  }
  while (at < size && a[at] == b[at]) ++at;
  return at;
}

std::size_t common_suffix(std::string_view a, std::string_view b) {
  const std::size_t size = std::min(a.size(), b.size());
  const char* a_end = a.data() + a.size();
  const char* b_end = b.data() + b.size();
  std::size_t at = 0;
  while (at + kCompare <= size && std::memcmp(a_end - at - kCompare, b_end - at - kCompare, kCompare) == 0)
    at += kCompare;
  while (at + 8 <= size) {
    const auto difference = load_int<std::uint64_t>(a_end - at - 8) ^ load_int<std::uint64_t>(b_end - at - 8);
    if (difference != 0) return at + static_cast<std::size_t>(std::countl_zero(difference)) / 8;
    at += 8;
  }
  while (at < size && a[a.size() - 1 - at] == b[b.size() - 1 - at]) ++at;
  return at;
}

/// Returns whether `text` can be cut at `at`.
bool is_boundary(std::string_view text, std::size_t at) { return at >= text.size() || !is_utf8_continuation(text[at]); }

// A polynomial hash of kBlock bytes, modulo 2^64. Moving it by one byte takes two multiplications.
constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;

constexpr std::array<std::uint64_t, kBlock + 1> make_powers() {
  std::array<std::uint64_t, kBlock + 1> powers{1};
  for (std::size_t i = 1; i <= kBlock; ++i) powers[i] = powers[i - 1] * kFactor;
  return powers;
}
constexpr auto kPowers = make_powers();

std::uint64_t byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

std::uint64_t hash_block(std::string_view text, std::size_t at) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < kBlock; ++i) hash += byte_at(text, at + i) * kPowers[kBlock - 1 - i];
  return hash;
}

std::uint64_t roll(std::uint64_t hash, std::string_view text, std::size_t at) {
  return hash * kFactor + byte_at(text, at + kBlock) - byte_at(text, at) * kPowers[kBlock];
}

enum class Search : std::uint8_t { go_on, stop };

/// The blocks of a text (at multiples of kBlock) by their hash. Filled only as far as needed, so that a change near the
/// start of a large text does not require hashing all of it. Blocks in the same bucket are chained in ascending order.
/// Those before `from` are dropped permanently, because `from` never decreases. A sparse bitmap is checked before the
/// buckets: for bytes without a match, which are the majority, a single well-predicted bit test is enough.
class BlockIndex {
 public:
  explicit BlockIndex(std::string_view text) : text_(text), next_(text.size() / kBlock, kNone) {
    buckets_.resize(std::bit_ceil(std::max<std::size_t>(next_.size() * 2, 16)));
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(buckets_.size()));
    filter_.resize(buckets_.size() * kFilterBits / 64);
    filter_shift_ = shift_ - static_cast<unsigned>(std::countr_zero(kFilterBits));
  }

  /// Adds the blocks from `from` up to `until`.
  void cover(std::size_t from, std::size_t until) {
    if (until <= covered_) return;
    filled_ = std::max(filled_, from / kBlock);
    while (filled_ < next_.size() && filled_ * kBlock < until) {
      const std::uint64_t mixed = hash_block(text_, filled_ * kBlock) * kFactor;
      filter_[(mixed >> filter_shift_) / 64] |= std::uint64_t{1} << ((mixed >> filter_shift_) % 64);
      Bucket& bucket = buckets_[static_cast<std::size_t>(mixed >> shift_)];
      const auto block = static_cast<std::uint32_t>(filled_++);
      if (bucket.first == kNone) {
        bucket.first = block;
      } else {
        next_[bucket.last] = block;
      }
      bucket.last = block;
    }
    covered_ = filled_ < next_.size() ? filled_ * kBlock : SIZE_MAX;
  }

  /// Calls `visit` with the first few blocks at or after `from` that contain `wanted`, until it returns stop.
  template <class Visit>
  void find(std::uint64_t hash, const char* wanted, std::size_t from, Visit visit) {
    const std::uint64_t mixed = hash * kFactor;
    if ((filter_[(mixed >> filter_shift_) / 64] >> ((mixed >> filter_shift_) % 64) & 1U) == 0) return;
    Bucket& bucket = buckets_[static_cast<std::size_t>(mixed >> shift_)];
    while (bucket.first != kNone && std::size_t{bucket.first} * kBlock < from) bucket.first = next_[bucket.first];
    std::uint32_t block = bucket.first;
    for (int tries = 0; block != kNone && tries < kTriesMax; ++tries, block = next_[block]) {
      const std::size_t at = std::size_t{block} * kBlock;
      if (std::memcmp(text_.data() + at, wanted, kBlock) == 0 && visit(at) == Search::stop) return;
    }
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr int kTriesMax = 8;
  static constexpr std::size_t kFilterBits = 32;  // for each bucket
  struct Bucket {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };

  std::string_view text_;
  std::vector<std::uint32_t> next_;
  std::vector<Bucket> buckets_;
  std::vector<std::uint64_t> filter_;
  std::size_t filled_ = 0;
  std::size_t covered_ = 0;  // in bytes; everything before it has been added
  unsigned shift_ = 0;
  unsigned filter_shift_ = 0;
};

/// Returns the common part of the two middles, starting at `before_at` and `after_at`.
struct Match {
  std::size_t before_at = 0;
  std::size_t after_at = 0;
  std::size_t size = 0;
};

/// Finds the matches between two middles, from start to end in both.
class Matcher {
 public:
  Matcher(std::string_view before, std::string_view after)
      : before_(before),
        after_(after),
        index_(before.substr(0, kMiddleMax)),
        effort_left_(16 * (before.size() + after.size())) {}

  /// Returns the next match that starts at or after the end of the last one. Boilerplate causes short, misleading
  /// matches, so after a short one the search continues briefly for a longer one.
  std::optional<Match> next() {
    const std::size_t limit = std::min(after_.size(), kMiddleMax);
    if (done_.after_at + kBlock > limit) return std::nullopt;
    Match best;
    std::size_t stop_at = std::min(limit - kBlock, done_.after_at + kStretchMax);
    std::uint64_t hash = hash_block(after_, done_.after_at);
    for (std::size_t at = done_.after_at; at <= stop_at && effort_left_ > 0; ++at) {
      // The further the search goes, the further ahead a match may be. A match that is found late is not lost, because
      // it is extended towards the start.
      index_.cover(done_.before_at, done_.before_at + kLookAhead + 8 * (at - done_.after_at));
      index_.find(hash, after_.data() + at, done_.before_at,
                  [&](std::size_t before_at) { return consider(before_at, at, best); });
      if (best.size >= kLongMatch) break;
      if (best.size > 0) stop_at = std::min(stop_at, best.after_at + kPatience);
      if (at + kBlock < after_.size()) hash = roll(hash, after_, at);
    }
    if (best.size == 0) return std::nullopt;
    done_ = {best.before_at + best.size, best.after_at + best.size, 0};
    return best;
  }

 private:
  Search consider(std::size_t before_at, std::size_t after_at, Match& best) {
    const Match match = extended(before_at, after_at);
    if (worthwhile(match) && match.size > best.size) best = match;
    if (best.size >= kLongMatch) return Search::stop;
    effort_left_ -= std::min(effort_left_, match.size + kBlock);
    return effort_left_ == 0 ? Search::stop : Search::go_on;
  }

  [[nodiscard]] Match extended(std::size_t before_at, std::size_t after_at) const {
    const std::size_t room = std::min(before_at - done_.before_at, after_at - done_.after_at);
    const std::size_t back =
        common_suffix(before_.substr(before_at - room, room), after_.substr(after_at - room, room));
    Match match{before_at - back, after_at - back, 0};
    match.size = common_prefix(before_.substr(match.before_at), after_.substr(match.after_at));
    for (std::size_t i = 0; i < kUtf8Followers && match.size > 0 && !is_boundary(after_, match.after_at); ++i) {
      match = {match.before_at + 1, match.after_at + 1, match.size - 1};
    }
    for (std::size_t i = 0; i < kUtf8Followers && match.size > 0 && !is_boundary(after_, match.after_at + match.size);
         ++i) {
      --match.size;
    }
    return match;
  }

  /// A short match far ahead would skip everything before it, and is likely to be boilerplate.
  [[nodiscard]] bool worthwhile(const Match& match) const {
    const std::size_t skipped = match.before_at - done_.before_at;
    return match.size >= kBlock / 2 && (skipped <= kShortSkip || match.size >= skipped / 16);
  }

  std::string_view before_;
  std::string_view after_;
  BlockIndex index_;
  Match done_;               // the ends of the last match
  std::size_t effort_left_;  // keeps rejected matches from costing more than linear time
};

}  // namespace

std::vector<Splice> diff_text(std::string_view before, std::string_view after) {
  std::size_t prefix = common_prefix(before, after);
  if (prefix == before.size() && prefix == after.size()) return {};
  for (std::size_t i = 0; i < kUtf8Followers && prefix > 0 && !is_boundary(after, prefix); ++i) --prefix;
  std::size_t suffix = common_suffix(before.substr(prefix), after.substr(prefix));
  for (std::size_t i = 0; i < kUtf8Followers && suffix > 0 && !is_boundary(after, after.size() - suffix); ++i) --suffix;
  const std::string_view old_middle = before.substr(prefix, before.size() - prefix - suffix);
  const std::string_view new_middle = after.substr(prefix, after.size() - prefix - suffix);

  std::vector<Splice> splices;
  std::size_t old_at = 0;
  std::size_t new_at = 0;
  if (std::min(old_middle.size(), new_middle.size()) >= kBlock &&
      std::max(old_middle.size(), new_middle.size()) > kBlocksWorthwhile) {
    Matcher matcher(old_middle, new_middle);
    while (const std::optional<Match> match = matcher.next()) {
      if (match->before_at > old_at || match->after_at > new_at) {
        splices.push_back(
            {prefix + old_at, match->before_at - old_at, new_middle.substr(new_at, match->after_at - new_at)});
      }
      old_at = match->before_at + match->size;
      new_at = match->after_at + match->size;
    }
  }
  if (old_at < old_middle.size() || new_at < new_middle.size()) {
    splices.push_back({prefix + old_at, old_middle.size() - old_at, new_middle.substr(new_at)});
  }
  return splices;
}

std::optional<Splice> single_insertion(std::string_view before, std::string_view after) {
  if (after.size() <= before.size()) return std::nullopt;
  const std::size_t prefix = common_prefix(before, after);
  const std::size_t suffix = common_suffix(before.substr(prefix), after.substr(prefix));
  if (prefix + suffix != before.size()) return std::nullopt;
  return Splice{prefix, 0, after.substr(prefix, after.size() - before.size())};
}

std::optional<std::string> apply_splices(std::string_view before, const std::vector<Splice>& splices) {
  std::size_t inserted = 0;
  for (const Splice& splice : splices) inserted += splice.inserted.size();
  std::string after;
  after.reserve(before.size() + inserted);
  std::uint64_t at = 0;
  for (const Splice& splice : splices) {
    if (splice.offset < at || splice.offset > before.size() || splice.removed > before.size() - splice.offset) {
      return std::nullopt;
    }
    after.append(before.substr(at, splice.offset - at));
    after.append(splice.inserted);
    at = splice.offset + splice.removed;
  }
  after.append(before.substr(at));
  return after;
}

}  // namespace pawl
