#include <gtest/gtest.h>

#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

FilesystemOptions with_threads(FilesystemOptions options) {
  options.background = Background::thread;
  return options;
}

PAWL_STORE_CONTRACT(Filesystem, [] { return std::make_unique<FilesystemUnderTest>(FilesystemOptions()); });
PAWL_STORE_CONTRACT(FilesystemSmall, [] { return std::make_unique<FilesystemUnderTest>(small_options()); });
PAWL_STORE_CONTRACT(FilesystemThreads,
                    [] { return std::make_unique<FilesystemUnderTest>(with_threads(FilesystemOptions())); });
PAWL_STORE_CONTRACT(FilesystemThreadsSmall,
                    [] { return std::make_unique<FilesystemUnderTest>(with_threads(small_options())); });

}  // namespace
}  // namespace pawl::testing
