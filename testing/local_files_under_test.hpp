// Local files for tests.
#pragma once

#include "adapters/posix/posix_local_files.hpp"

namespace pawl::testing {

using LocalFilesUnderTest = PosixLocalFiles;

}  // namespace pawl::testing
