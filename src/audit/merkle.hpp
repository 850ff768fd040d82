// Merkle trees as in RFC 6962, section 2.1: roots, inclusion proofs and consistency proofs.
//
// The hash of a leaf is SHA-256(0x00, data), that of a node SHA-256(0x01, left, right). The left subtree is the largest
// full one that is smaller than the tree. The data of a leaf is the 32-byte hash of an audit entry.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/hash.hpp"

namespace pawl {

[[nodiscard]] Sha256 merkle_leaf(std::string_view data);
[[nodiscard]] Sha256 merkle_node(const Sha256& left, const Sha256& right);
/// Returns the root. Without leaves it is the SHA-256 of empty data.
[[nodiscard]] Sha256 merkle_root(std::span<const Sha256> leaves);

/// A growing tree. Keeps only the roots of its full subtrees, largest first, one for each set bit of its size.
class MerkleFrontier {
 public:
  MerkleFrontier() = default;
  /// Returns nothing if the number of peaks does not match the size.
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
