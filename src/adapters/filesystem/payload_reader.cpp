#include "adapters/filesystem/payload_reader.hpp"

#include "adapters/filesystem/layout.hpp"

namespace pawl {

Result<std::string> read_payload(const PayloadPlace& place, RunCodec& codec, const RecordView& record) {
  if (record.payload_kind != Payload::state_blob && record.payload_kind != Payload::diff_blob)
    return codec.payload(record);
  PAWL_TRY_ASSIGN(const std::string name, decode_text_payload(record.payload));
  const std::string path = layout::blob(place.run, name);
  if (name.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return fail(Error{Code::checkpoint_corrupt, "a blob's name is not a hash", path, {}, 0});
  }
  const auto content = place.files.content(path);
  if (!content) {
    return fail(Error{
        Code::chain_broken,
        fmt::format("checkpoint {} of run '{}' refers to a blob that can't be read", record.sequence.value, place.run),
        path,
        {},
        0,
        Advice::check_store,
        {.run = std::string(place.run)}});
  }
  if (to_hex(sha256(place.salt, content->bytes)) != name) {
    return fail(Error{Code::checksum_mismatch,
                      fmt::format("the blob of checkpoint {} of run '{}' is damaged", record.sequence.value, place.run),
                      path,
                      {},
                      0,
                      Advice::check_store,
                      {.run = std::string(place.run)}});
  }
  if (record.how.empty() && !codec.encrypted()) return std::string(content->bytes);
  return codec.blob(record, content->bytes);
}

}  // namespace pawl
