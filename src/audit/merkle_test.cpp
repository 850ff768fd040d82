#include "audit/merkle.hpp"
#include "testing/merkle_proofs.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace pawl {
namespace {

// The leaves and roots that certificate transparency logs test RFC 6962 with.
const std::array<std::string, 8> kData = {
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"};
constexpr std::array<const char*, 9> kRoots = {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                                               "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                                               "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                                               "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                                               "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                                               "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                                               "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                                               "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                                               "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};

std::vector<Sha256> known_leaves(std::size_t count) {
  std::vector<Sha256> leaves;
  for (std::size_t i = 0; i < count; ++i) leaves.push_back(merkle_leaf(from_hex(kData[i])));
  return leaves;
}

std::vector<Sha256> made_leaves(std::size_t count) {
  std::vector<Sha256> leaves;
  for (std::size_t i = 0; i < count; ++i) leaves.push_back(merkle_leaf("leaf " + std::to_string(i)));
  return leaves;
}

/// The definition itself, word by word: MTH of RFC 6962.
Sha256 defined_root(std::span<const Sha256> leaves) {
  if (leaves.empty()) return sha256("");
  if (leaves.size() == 1) return leaves.front();
  std::size_t left = 1;
  while (left * 2 < leaves.size()) left *= 2;
  return merkle_node(defined_root(leaves.first(left)), defined_root(leaves.subspan(left)));
}

TEST(Merkle, RootsAreTheKnownOnes) {
  for (std::size_t size = 0; size <= kData.size(); ++size)
    EXPECT_EQ(to_hex(merkle_root(known_leaves(size))), kRoots[size]) << size;
}

TEST(Merkle, ProofsAreTheKnownOnes) {
  const std::vector<Sha256> leaves = known_leaves(8);
  const std::vector<Sha256> inclusion = inclusion_proof(leaves, 5);
  ASSERT_EQ(inclusion.size(), 3U);
  EXPECT_EQ(to_hex(inclusion[0]), "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b");
  EXPECT_EQ(to_hex(inclusion[1]), "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0");
  EXPECT_EQ(to_hex(inclusion[2]), kRoots[4]);
  const std::vector<Sha256> consistency = consistency_proof(leaves, 6);
  ASSERT_EQ(consistency.size(), 3U);
  EXPECT_EQ(to_hex(consistency[0]), "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a");
  EXPECT_EQ(to_hex(consistency[1]), "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0");
  EXPECT_EQ(to_hex(consistency[2]), kRoots[4]);
}

TEST(Merkle, TheFrontierHasTheRootOfEverySize) {
  const std::vector<Sha256> leaves = made_leaves(70);
  MerkleFrontier frontier;
  for (std::size_t size = 0; size <= leaves.size(); ++size) {
    EXPECT_EQ(frontier.root(), defined_root(std::span(leaves).first(size))) << size;
    const auto again = MerkleFrontier::of(size, frontier.peaks());
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, frontier);
    EXPECT_FALSE(MerkleFrontier::of(size ^ 1U, frontier.peaks())) << size;
    if (size < leaves.size()) frontier.add(leaves[size]);
  }
}

TEST(Merkle, EveryEntryOfEveryTreeUpTo64HasItsProofAndNoOther) {
  const std::vector<Sha256> leaves = made_leaves(64);
  for (std::size_t size = 1; size <= leaves.size(); ++size) {
    const std::span<const Sha256> tree = std::span(leaves).first(size);
    const Sha256 root = defined_root(tree);
    for (std::size_t index = 0; index < size; ++index) {
      const std::vector<Sha256> proof = inclusion_proof(tree, index);
      EXPECT_TRUE(proves_inclusion(leaves[index], index, size, proof, root)) << index << " of " << size;
      EXPECT_FALSE(proves_inclusion(merkle_leaf("another"), index, size, proof, root));
      EXPECT_FALSE(proves_inclusion(leaves[index], size, size, proof, root));
      for (std::size_t other = 0; other < size; ++other) {
        EXPECT_EQ(proves_inclusion(leaves[index], other, size, proof, root), other == index)
            << other << " for " << index;
      }
      if (proof.empty()) continue;
      EXPECT_FALSE(proves_inclusion(leaves[index], index, size, std::span(proof).first(proof.size() - 1), root));
      std::vector<Sha256> changed = proof;
      changed.back()[7] ^= 1U;
      EXPECT_FALSE(proves_inclusion(leaves[index], index, size, changed, root));
    }
  }
}

TEST(Merkle, EveryTreeUpTo64BeginsEveryLargerOneAndNoOther) {
  const std::vector<Sha256> leaves = made_leaves(64);
  for (std::size_t size = 1; size <= leaves.size(); ++size) {
    const std::span<const Sha256> tree = std::span(leaves).first(size);
    const Sha256 root = defined_root(tree);
    for (std::size_t old_size = 1; old_size <= size; ++old_size) {
      const Sha256 old_root = defined_root(tree.first(old_size));
      const std::vector<Sha256> proof = consistency_proof(tree, old_size);
      EXPECT_TRUE(proves_consistency(old_size, old_root, size, root, proof)) << old_size << " to " << size;
      Sha256 other = old_root;
      other[0] ^= 1U;
      EXPECT_FALSE(proves_consistency(old_size, other, size, root, proof)) << old_size << " to " << size;
      EXPECT_FALSE(proves_consistency(old_size, old_root, size, other, proof)) << old_size << " to " << size;
      if (proof.empty()) continue;
      std::vector<Sha256> changed = proof;
      changed.front()[31] ^= 1U;
      EXPECT_FALSE(proves_consistency(old_size, old_root, size, root, changed)) << old_size << " to " << size;
    }
  }
}

}  // namespace
}  // namespace pawl
