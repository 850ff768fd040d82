// The state or the differences that a checkpoint's record holds, wherever they stand.
#pragma once

#include <string>
#include <string_view>

#include "codec/run_codec.hpp"
#include "ports/file_system.hpp"

namespace pawl {

struct PayloadPlace {
  FileSystem& files;
  std::string_view run;
  std::string_view salt;
};

/// Out of the record itself or out of its blob, which is checked by its hash.
[[nodiscard]] Result<std::string> read_payload(const PayloadPlace& place, RunCodec& codec, const RecordView& record);

}  // namespace pawl
