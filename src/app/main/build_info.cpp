// The only file that contains the commit, so that a new commit recompiles nothing else.
#include "app/main/build_info.hpp"

#include <fmt/format.h>
#include <pawl_commit.hpp>

namespace pawl {
namespace {

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

cli::BuildInfo build_info() {
  return {.commit = PAWL_COMMIT,
          .date = PAWL_COMMIT_DATE,
          .build_type = PAWL_BUILD_TYPE,
          .compiler = compiler(),
          .platform = PAWL_PLATFORM,
          .features = {{"formats", {"json", "msgpack", "cbor"}},
                       {"compression", {"zstd", "gzip (reading)"}},
                       {"encryption", {"aes-256-gcm", "scrypt"}},
                       {"stores", {"folder", "memory"}}}};
}

}  // namespace pawl
