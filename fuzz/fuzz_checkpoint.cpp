// Decodes checkpoints, events, audit entries, run.json, store.json and files of lines from hostile bytes. The first
// byte selects the reader. Most readers get their input with a corrected checksum.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <string>

#include "adapters/filesystem/line_file.hpp"
#include "base/assert.hpp"
#include "codec/json_check.hpp"
#include "codec/object_members.hpp"
#include "codec/record_text.hpp"
#include "codec/sealed_text.hpp"
#include "domain/save_rules.hpp"
#include "text/json_text.hpp"

namespace {

using namespace pawl;

constexpr std::string_view kSalt = "00112233445566778899aabbccddeeff";
constexpr std::string_view kState = R"({"a":[1,2,3],"text":"zwölf Boxkämpfer"})";

std::string sealed(std::string_view open, std::uint32_t seed = 0) {
  std::string text(open);
  seal(text, seed);
  return text;
}

/// Does everything that a reader does with a record whose checksum is valid.
void use(const RecordView& record) {
  PAWL_ASSERT(record.payload.size() <= record.text.size() && record.sum.size() == 64);
  static_cast<void>(decode_info(record));
  static_cast<void>(decode_fingerprint(record));
  static_cast<void>(sum_matches(record, kSalt));
  std::string state(kState);
  if (!apply_encoded_splices(state, record.payload)) PAWL_ASSERT(state == kState);
  static_cast<void>(decode_text_payload(record.payload));
}

void raw_checkpoint(std::string_view text) {
  if (const auto record = decode_checkpoint(text, 0)) use(*record);
  std::string whole = sealed(text);
  if (const auto record = decode_checkpoint(whole, 0)) use(*record);
  whole = sealed(std::string(text) + R"(,"sum":"sha256:)" + to_hex(sha256(kSalt, text)) + '"');
  if (const auto record = decode_checkpoint(whole, 0)) {
    PAWL_ASSERT(sum_matches(*record, kSalt));
    use(*record);
  }
}

/// Labels are text that the engine has checked; here they are 7-bit.
std::string label(FuzzedDataProvider& data) {
  std::string text = data.ConsumeRandomLengthString(40);
  for (char& c : text) c = static_cast<char>(c & 0x7F);
  return text;
}

template <class E>
E any_of(FuzzedDataProvider& data, E last) {
  return static_cast<E>(data.ConsumeIntegralInRange<int>(0, static_cast<int>(last)));
}

CheckpointInfo any_info(FuzzedDataProvider& data) {
  CheckpointInfo info;
  info.sequence.value = data.ConsumeIntegral<std::uint64_t>();
  info.parent.value = data.ConsumeIntegral<std::uint64_t>();
  info.created.us = data.ConsumeIntegralInRange<std::int64_t>(0, 4'000'000'000'000'000);
  info.kind = any_of(data, Kind::workflow_complete);
  info.status = any_of(data, Status::recovering);
  info.reason = any_of(data, Reason::workflow_completed);
  info.name = label(data);
  info.caller_id = label(data);
  info.stage = label(data);
  info.step = label(data);
  info.state_bytes = data.ConsumeIntegral<std::uint64_t>();
  const std::string metadata = data.ConsumeRandomLengthString(100);
  if (json_type(trim_json(metadata)) == JsonType::object && check_json(metadata, 1U << 20))
    info.metadata = one_line(metadata);
  return info;
}

/// Encoding and decoding must return the same record, and any changed byte must be detected.
void round_trip(FuzzedDataProvider& data) {
  CheckpointInfo info = any_info(data);
  const Shape shape = data.ConsumeBool() ? Shape::file : Shape::line;
  const Payload kind = any_of(data, Payload::diff_blob);
  const RunSeal run{kSalt, data.ConsumeIntegral<std::uint32_t>()};
  const auto changed_at = data.ConsumeIntegral<std::uint32_t>();
  const auto change = data.ConsumeIntegralInRange<int>(1, 255);
  const std::string payload = data.ConsumeRemainingBytesAsString();
  // Only a state in its own file may end with a newline, because it has its own lines there.
  const bool own_lines = shape == Shape::file && kind == Payload::state;
  if (!own_lines && payload.ends_with('\n')) return;
  std::string sum;
  std::string text = encode_checkpoint({&info, "", kind, payload, "", info.metadata}, shape, run, sum);
  PAWL_ASSERT(text.ends_with('\n'));
  text.pop_back();
  const auto record = decode_checkpoint(text, run.seed);
  PAWL_ASSERT(record && record->sequence == info.sequence && record->parent == info.parent);
  PAWL_ASSERT(record->sum == sum && sum_matches(*record, kSalt));
  PAWL_ASSERT(record->payload == payload && record->payload_kind == kind);
  const auto back = decode_info(*record);
  PAWL_ASSERT(back.has_value());
  info.checksum = "sha256:" + sum;
  info.stored_bytes = text.size() + 1;
  info.whole = record->whole();
  info.metadata = trim_json(info.metadata);
  PAWL_ASSERT(*back == info);
  PAWL_ASSERT(!decode_checkpoint(text, run.seed + 1));
  text[changed_at % text.size()] = static_cast<char>(text[changed_at % text.size()] ^ change);
  PAWL_ASSERT(!decode_checkpoint(text, run.seed));
}

void splices(std::string_view payload) {
  std::string state(kState);
  if (!apply_encoded_splices(state, payload)) PAWL_ASSERT(state == kState);
  const auto text = decode_text_payload(escape_json(payload));
  PAWL_ASSERT(text && *text == payload);
  static_cast<void>(decode_text_payload(payload));
}

void event(std::string_view text) {
  static_cast<void>(decode_event(text, 0));
  const auto found = decode_event(sealed(text), 0);
  if (!found) return;
  const std::string line = encode_event(*found, 9);
  PAWL_ASSERT(line.find('\n') == line.size() - 1);
  const auto again = decode_event(std::string_view(line).substr(0, line.size() - 1), 9);
  PAWL_ASSERT(again && again->event.number == found->event.number && again->event.sequence == found->event.sequence &&
              again->event.type == found->event.type && again->how == found->how);
}

void audit(std::string_view text) {
  static_cast<void>(decode_audit(text));
  std::string previous;
  if (text.starts_with('{')) {
    if (const auto members = ObjectMembers::parse(text.substr(1))) previous = members->text("prev");
  }
  auto entry = decode_audit(std::string(text) + R"(,"hash":")" + to_hex(sha256(from_hex(previous), text)) + "\"}");
  if (!entry) return;
  const std::string line = encode_audit(*entry);
  const auto again = decode_audit(std::string_view(line).substr(0, line.size() - 1));
  PAWL_ASSERT(again && again->index == entry->index && again->hash == entry->hash &&
              again->previous == entry->previous);
}

void run_and_store(std::string_view text) {
  static_cast<void>(decode_run(text));
  static_cast<void>(decode_store(text));
  const std::string whole = sealed(text);
  if (const auto run = decode_run(whole)) {
    const auto again = decode_run(encode_run(*run));
    PAWL_ASSERT(again && again->run == run->run && again->uuid == run->uuid && again->salt == run->salt);
    PAWL_ASSERT(again->fork_of_run == run->fork_of_run);
  }
  if (const auto store = decode_store(whole)) {
    const auto again = decode_store(encode_store(*store));
    PAWL_ASSERT(again && again->id == store->id && again->created == store->created);
  }
}

class BytesFile final : public File {
 public:
  explicit BytesFile(std::string bytes) : bytes_(std::move(bytes)) {}
  Result<std::string> read_at(std::uint64_t offset, std::uint64_t size) override {
    return offset > bytes_.size() ? std::string() : bytes_.substr(offset, size);
  }
  Result<std::uint64_t> size() override { return bytes_.size(); }
  Result<void> write_at(std::uint64_t, std::string_view) override { return refuse(); }
  Result<void> sync(SyncPoint) override { return refuse(); }
  Result<void> resize(std::uint64_t) override { return refuse(); }
  Result<bool> try_lock(std::uint64_t) override { return refuse(); }
  Result<bool> try_lock_shared(std::uint64_t) override { return refuse(); }
  Result<void> unlock(std::uint64_t) override { return refuse(); }
  Result<bool> locked_elsewhere(std::uint64_t) override { return refuse(); }

 private:
  static std::unexpected<Error> refuse() { return fail(Code::write_failed, "read only"); }
  const std::string bytes_;
};

/// Reading backwards must find the same lines as reading forwards.
void lines(FuzzedDataProvider& data) {
  const auto limit = data.ConsumeIntegral<std::uint64_t>();
  const auto repeated = data.ConsumeIntegralInRange<int>(1, 200);
  const std::string piece = data.ConsumeRandomLengthString(300);
  const std::string end = data.ConsumeRemainingBytesAsString();
  std::string text;
  for (int i = 0; i < repeated; ++i) text += piece;
  text += end;
  std::optional<std::uint64_t> number;
  std::uint64_t at = 0;
  std::uint64_t offset = 0;
  for_each_line(text, [&](std::string_view line, bool complete) {
    offset += line.size() + 1;
    const auto found = line_number(line);
    if (complete && found && *found < limit) {
      number = found;
      at = offset;
    }
    return true;
  });
  BytesFile file(text);
  const auto found = last_line_below(file, limit);
  PAWL_ASSERT(found && found->has_value() == number.has_value());
  if (number) PAWL_ASSERT((*found)->number == *number && (*found)->end == at);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  FuzzedDataProvider data(bytes + 1, size - 1);
  switch (bytes[0] % 7) {
    case 0: raw_checkpoint(rest); break;
    case 1: round_trip(data); break;
    case 2: splices(rest); break;
    case 3: event(rest); break;
    case 4: audit(rest); break;
    case 5: run_and_store(rest); break;
    default: lines(data); break;
  }
  return 0;
}
