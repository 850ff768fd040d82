#include <gtest/gtest.h>

#include "testing/memory_under_test.hpp"

namespace pawl::testing {
namespace {

PAWL_STORE_CONTRACT(Memory, [] { return std::make_unique<MemoryUnderTest>(); });

}  // namespace
}  // namespace pawl::testing
