#include "audit/merkle.hpp"

#include <bit>

#include "base/assert.hpp"

namespace pawl {
namespace {

/// Returns the largest power of two below `size`, which must be more than 1.
std::uint64_t split(std::uint64_t size) { return std::bit_floor(size - 1); }

/// Whether the verifier knows the root of a subtree, which is true only for the old tree itself.
enum class Known : std::uint8_t { no, yes };

/// RFC 6962, SUBPROOF(m, D, b).
void add_subproof(std::span<const Sha256> leaves, std::uint64_t old_size, Known known, std::vector<Sha256>& proof) {
  if (old_size == leaves.size()) {
    if (known == Known::no) proof.push_back(merkle_root(leaves));
    return;
  }
  const std::uint64_t left = split(leaves.size());
  if (old_size <= left) {
    add_subproof(leaves.first(left), old_size, known, proof);
    proof.push_back(merkle_root(leaves.subspan(left)));
  } else {
    add_subproof(leaves.subspan(left), old_size - left, Known::no, proof);
    proof.push_back(merkle_root(leaves.first(left)));
  }
}

}  // namespace

Sha256 merkle_leaf(std::string_view data) { return sha256(std::string_view("\0", 1), data); }

Sha256 merkle_node(const Sha256& left, const Sha256& right) { return sha256("\1", bytes_of(left), bytes_of(right)); }

Sha256 merkle_root(std::span<const Sha256> leaves) {
  MerkleFrontier frontier;
  for (const Sha256& leaf : leaves) frontier.add(leaf);
  return frontier.root();
}

std::optional<MerkleFrontier> MerkleFrontier::of(std::uint64_t size, std::vector<Sha256> peaks) {
  if (static_cast<std::size_t>(std::popcount(size)) != peaks.size()) return std::nullopt;
  MerkleFrontier frontier;
  frontier.size_ = size;
  frontier.peaks_ = std::move(peaks);
  return frontier;
}

void MerkleFrontier::add(const Sha256& leaf) {
  Sha256 peak = leaf;
  // The trailing one bits of the size are the full subtrees that merge into one.
  for (std::uint64_t rest = size_; (rest & 1U) != 0; rest >>= 1U) {
    peak = merkle_node(peaks_.back(), peak);
    peaks_.pop_back();
  }
  peaks_.push_back(peak);
  ++size_;
}

Sha256 MerkleFrontier::root() const {
  if (peaks_.empty()) return sha256("");
  Sha256 root = peaks_.back();
  for (auto peak = peaks_.rbegin() + 1; peak != peaks_.rend(); ++peak) root = merkle_node(*peak, root);
  return root;
}

std::vector<Sha256> inclusion_proof(std::span<const Sha256> leaves, std::uint64_t index) {
  PAWL_ASSERT(index < leaves.size());
  std::vector<Sha256> proof;
  while (leaves.size() > 1) {
    const std::uint64_t left = split(leaves.size());
    if (index < left) {
      proof.insert(proof.begin(), merkle_root(leaves.subspan(left)));
      leaves = leaves.first(left);
    } else {
      proof.insert(proof.begin(), merkle_root(leaves.first(left)));
      leaves = leaves.subspan(left);
      index -= left;
    }
  }
  return proof;
}

std::vector<Sha256> consistency_proof(std::span<const Sha256> leaves, std::uint64_t old_size) {
  PAWL_ASSERT(old_size > 0 && old_size <= leaves.size());
  std::vector<Sha256> proof;
  add_subproof(leaves, old_size, Known::yes, proof);
  return proof;
}

}  // namespace pawl
