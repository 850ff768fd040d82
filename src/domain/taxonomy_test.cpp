#include "domain/taxonomy.hpp"

#include <gtest/gtest.h>

#include <set>

namespace pawl {
namespace {

TEST(Taxonomy, MapsNamesToCodesAndBack) {
  EXPECT_EQ(code_of_error_name("DiskFullError"), Code::disk_full);
  EXPECT_EQ(code_of_error_name("diskfullERROR"), Code::disk_full);
  EXPECT_EQ(code_of_error_name("CheckpointWriteError"), Code::write_failed);
  EXPECT_EQ(code_of_error_name("Nonsense"), std::nullopt);
  EXPECT_EQ(error_names(Code::checksum_mismatch),
            (std::vector<std::string_view>{"ChecksumMismatchError", "IntegrityError"}));
  EXPECT_TRUE(error_names(Code::usage).empty());
}

TEST(Taxonomy, HasEachNameOnce) {
  std::set<std::string_view> names;
  for (const TaxonomyRow& row : kTaxonomy) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

}  // namespace
}  // namespace pawl
