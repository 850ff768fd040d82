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

PAWL_STORE_CONTRACT(FilesystemEncrypted, [] {
  return std::make_unique<FilesystemUnderTest>(packed_options(small_options(), StateFormat::msgpack));
});
PAWL_STORE_CONTRACT(FilesystemEncryptedThreads, [] {
  return std::make_unique<FilesystemUnderTest>(with_threads(packed_options(FilesystemOptions(), StateFormat::cbor)));
});

}  // namespace
}  // namespace pawl::testing
