// Checks Merkle proofs without the audit trail, independently of the code that creates them.
#pragma once

#include <bit>
#include <span>
#include <vector>

#include "audit/merkle.hpp"

namespace pawl {

/// RFC 9162, section 2.1.3.2.
[[nodiscard]] inline bool proves_inclusion(const Sha256& leaf, std::uint64_t index, std::uint64_t size,
                                           std::span<const Sha256> proof, const Sha256& root) {
  if (index >= size) return false;
  std::uint64_t node = index;
  std::uint64_t last = size - 1;
  Sha256 hash = leaf;
  for (const Sha256& other : proof) {
    if (last == 0) return false;
    if ((node & 1U) != 0 || node == last) {
      hash = merkle_node(other, hash);
      while ((node & 1U) == 0 && node != 0) {
        node >>= 1U;
        last >>= 1U;
      }
    } else {
      hash = merkle_node(hash, other);
    }
    node >>= 1U;
    last >>= 1U;
  }
  return last == 0 && hash == root;
}

/// RFC 9162, section 2.1.4.2.
[[nodiscard]] inline bool proves_consistency(std::uint64_t old_size, const Sha256& old_root, std::uint64_t size,
                                             const Sha256& root, std::span<const Sha256> proof) {
  if (old_size == 0 || old_size > size) return false;
  if (old_size == size) return proof.empty() && old_root == root;
  std::vector<Sha256> path(proof.begin(), proof.end());
  if (std::has_single_bit(old_size)) path.insert(path.begin(), old_root);
  if (path.empty()) return false;
  std::uint64_t node = old_size - 1;
  std::uint64_t last = size - 1;
  while ((node & 1U) != 0) {
    node >>= 1U;
    last >>= 1U;
  }
  Sha256 old_hash = path.front();
  Sha256 hash = path.front();
  for (const Sha256& other : std::span(path).subspan(1)) {
    if (last == 0) return false;
    if ((node & 1U) != 0 || node == last) {
      old_hash = merkle_node(other, old_hash);
      hash = merkle_node(other, hash);
      while ((node & 1U) == 0 && node != 0) {
        node >>= 1U;
        last >>= 1U;
      }
    } else {
      hash = merkle_node(hash, other);
    }
    node >>= 1U;
    last >>= 1U;
  }
  return last == 0 && old_hash == old_root && hash == root;
}

}  // namespace pawl
