#include "domain/taxonomy.hpp"

#include <gtest/gtest.h>

#include <set>

namespace pawl {
namespace {

TEST(Taxonomy, MapsTheNamesOfTheSeedsToCodesAndBack) {
  EXPECT_EQ(code_of_taxonomy("DiskFullError"), Code::disk_full);
  EXPECT_EQ(code_of_taxonomy("CheckpointWriteError"), Code::write_failed);
  EXPECT_EQ(code_of_taxonomy("Nonsense"), std::nullopt);
  EXPECT_EQ(taxonomy_name(Code::checksum_mismatch), "ChecksumMismatchError");
  EXPECT_EQ(taxonomy_name(Code::usage), "");
}

TEST(Taxonomy, HasEachNameOnce) {
  std::set<std::string_view> names;
  for (const TaxonomyRow& row : kTaxonomy) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

}  // namespace
}  // namespace pawl
