#include "domain/metrics.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pawl {
namespace {

TEST(Metrics, AreAddedUpButForThePeak) {
  Metrics total{100, 2, 300, 5'000, 0.25};
  total += Metrics{50, 1, 200, 4'000, 0.5};
  EXPECT_EQ(total, (Metrics{150, 3, 500, 5'000, 0.75}));
}

TEST(Metrics, DoNotWrapAround) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const Metrics total = Metrics{0, 0, kMost - 1, 0, 0} + Metrics{0, 0, 5, 0, 0};
  EXPECT_EQ(total.tokens, kMost);
}

TEST(Metrics, AreWrittenAsJson) {
  EXPECT_EQ(to_json(Metrics{1, 2, 3, 4, 0.5}),
            R"({"elapsed_ms":1,"api_calls":2,"tokens":3,"memory_peak_bytes":4,"cost":0.5})");
}

}  // namespace
}  // namespace pawl
