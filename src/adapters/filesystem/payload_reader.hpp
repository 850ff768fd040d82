// Reads the state or the differences of a checkpoint's record, wherever they are stored.
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

/// Reads from the record itself, or from its blob, which is checked against its hash.
[[nodiscard]] Result<std::string> read_payload(const PayloadPlace& place, RunCodec& codec, const RecordView& record);

}  // namespace pawl
