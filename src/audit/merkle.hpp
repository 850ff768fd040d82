// Merkle trees as in RFC 6962, section 2.1: roots, proofs that an entry is in a tree, proofs that one tree begins
// another.
//
// A leaf's hash is SHA-256(0x00, data), a node's SHA-256(0x01, left, right). The left subtree is the largest full one
// that is smaller than the whole. The data of a leaf is the 32-byte hash of an audit entry.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/hash.hpp"

namespace pawl {

[[nodiscard]] Sha256 merkle_leaf(std::string_view data);
[[nodiscard]] Sha256 merkle_node(const Sha256& left, const Sha256& right);
/// Of no leaves: SHA-256 of nothing.
[[nodiscard]] Sha256 merkle_root(std::span<const Sha256> leaves);

/// A tree that grows: of its leaves only the roots of its full subtrees are kept, largest first, one for each bit of
/// its size.
class MerkleFrontier {
 public:
  MerkleFrontier() = default;
  /// Nothing where the number of peaks does not fit the size.
  [[nodiscard]] static std::optional<MerkleFrontier> of(std::uint64_t size, std::vector<Sha256> peaks);

  void add(const Sha256& leaf);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] Sha256 root() const;
  [[nodiscard]] const std::vector<Sha256>& peaks() const { return peaks_; }
  bool operator==(const MerkleFrontier&) const = default;

 private:
  std::uint64_t size_ = 0;
  std::vector<Sha256> peaks_;
};

/// Returns the hashes that lead from leaf `index` (from 0) to the root. `index` must be below the number of leaves.
[[nodiscard]] std::vector<Sha256> inclusion_proof(std::span<const Sha256> leaves, std::uint64_t index);

/// Returns the proof that the tree of all leaves begins with the first `old_size`. `old_size` is 1 or more, and at
/// most the number of leaves.
[[nodiscard]] std::vector<Sha256> consistency_proof(std::span<const Sha256> leaves, std::uint64_t old_size);

}  // namespace pawl
