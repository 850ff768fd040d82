#include "engine/step_ledger.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "domain/event_types.hpp"
#include "engine/held_ledger.hpp"
#include "engine/secret_log.hpp"
#include "text/display.hpp"
#include "text/utf8.hpp"

namespace pawl {
namespace {

constexpr std::string_view kFormat = "steps/1";
constexpr std::uint64_t kBlock = 1ULL << 20;
constexpr std::uint64_t kPageBytes = 1ULL << 20;
constexpr std::size_t kPageEventsMax = 64;
constexpr std::size_t kNameMax = 128;
constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8U | (k < n ? static_cast<std::uint8_t>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= n ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t group = 0;
    std::size_t n = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const char c = text[i + k];
      const std::size_t digit = kDigits.find(c);
      const bool padding = c == '=' && k >= 2 && i + 4 == text.size();
      if (digit == std::string_view::npos && !padding) return std::nullopt;
      group = group << 6U | static_cast<std::uint32_t>(padding ? 0 : digit);
      n += padding ? 0U : 1U;
    }
    for (std::size_t k = 0; k + 1 < n; ++k) bytes += static_cast<char>(group >> (16 - 8 * k) & 0xFFU);
  }
  return bytes;
}

std::optional<std::string> output_bytes(const Json& output) {
  if (!output.is_object()) return std::nullopt;
  if (const auto text = output.find("text"); text != output.end() && text->is_string()) return text->get<std::string>();
  if (const auto text = output.find("base64"); text != output.end() && text->is_string())
    return from_base64(text->get_ref<const std::string&>());
  return std::nullopt;
}

Error lost(const std::string& name, std::string_view what) {
  return Error{
      Code::output_lost, fmt::format("the recorded output of step '{}' {}", name, what), {}, {}, 0, Advice::repeat_step,
      {.step = name}};
}

}  // namespace

std::size_t LedgerState::index_of(std::string_view name) const {
  for (; indexed_ < steps.size(); ++indexed_) index_.emplace(steps[indexed_].first, indexed_);
  const auto found = index_.find(name);
  return found == index_.end() ? steps.size() : found->second;
}

const StepRecord* LedgerState::find(std::string_view name) const {
  const std::size_t index = index_of(name);
  return index == steps.size() ? nullptr : &steps[index].second;
}

StepRecord& LedgerState::at(std::string_view name) {
  const std::size_t index = index_of(name);
  if (index == steps.size()) steps.emplace_back(name, StepRecord{});
  touched_.push_back(index);
  return steps[index].second;
}

std::vector<std::size_t> LedgerState::take_touched() {
  std::vector<std::size_t> touched = std::exchange(touched_, {});
  std::ranges::sort(touched);
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  return touched;
}

std::string ledger_text(std::uint64_t events, std::string_view records) {
  return fmt::format("{}{}{}{}}}}}", kLedgerHead, events, kLedgerMiddle, records);
}

std::string ledger_record_text(std::string_view name, const StepRecord& record) {
  return fmt::format("{}:{}", compact(Json(name)), compact(record.to_json()));
}

std::string LedgerState::text() const {
  std::string records;
  for (const auto& [name, record] : steps) {
    if (!records.empty()) records += ',';
    records += ledger_record_text(name, record);
  }
  return ledger_text(events, records);
}

Result<LedgerState> LedgerState::from_json(const Json& value) {
  if (!is_ledger(value)) {
    return fail(Error{Code::not_a_steps_run,
                      "steps of a script can't be recorded in this run: it was created in another way",
                      {},
                      "use another run: `export PAWL_RUN=my-job`",
                      0});
  }
  const auto events = value.find("events");
  const auto records = value.find("steps");
  if (events == value.end() || !events->is_number_unsigned() || records == value.end() || !records->is_object())
    return fail(Code::state_reconstruction_failed, "can't read the ledger of steps");
  LedgerState state;
  state.events = events->get<std::uint64_t>();
  for (const auto& [name, record] : records->items()) {
    PAWL_TRY_ASSIGN(StepRecord parsed, StepRecord::from_json(record));
    state.steps.emplace_back(name, std::move(parsed));
  }
  return state;
}

Error busy_step(Error error, const RunId& run, std::string_view name) {
  error.message = fmt::format("step '{}' of run {} is {}", name, run.text(), error.message);
  return error;
}

bool is_ledger(const Json& state) { return state.is_object() && state.value("pawl", Json()) == Json(kFormat); }

Result<void> check_step_name(std::string_view name) {
  const auto fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  if (!name.empty() && name.size() <= kNameMax && name.front() != '-' && name.front() != '.' &&
      std::ranges::all_of(name, fine))
    return {};
  return fail(Error{Code::invalid_label,
                    fmt::format("invalid step name '{}'", printable(name)),
                    {},
                    "use up to 128 letters, digits, '.', '_' or '-', starting with a letter, a digit or '_'",
                    0});
}

Result<LedgerState> load_ledger(Store& store, const RunId& run) {
  PAWL_TRY_ASSIGN(const Restored restored, store.restore(run, {}));
  Result<LedgerState> state = LedgerState::from_json(parse_json(restored.state));
  if (!state) return fail(at(state.error(), run.text()));
  return state;
}

Json output_json(std::string_view bytes) {
  if (is_valid_utf8(bytes)) return {{"text", bytes}};
  return {{"base64", to_base64(bytes)}};
}

std::string command_hash(const std::vector<std::string>& argv) {
  std::string joined;
  for (const std::string& word : argv) joined += word + '\0';
  return to_hex(sha256(joined)).substr(0, 16);
}

void place_output(LedgerState& state, LedgerChange& change, StepRecord& record, Json output, Json data,
                  std::string_view type) {
  record.output = nullptr;
  record.output_event = 0;
  if (compact(output).size() <= kOutputInline) {
    record.output = std::move(output);
  } else {
    data["output"] = std::move(output);
    record.output_event = state.events + change.events.size() + 1;
  }
  change.events.push_back({std::string(type), compact(data)});
}

Result<Uuid> StepLedger::open() {
  const Result<RunInfo> known = store_.run(run_);
  if (known) return known->uuid;
  if (known.error().code != Code::run_not_found && known.error().code != Code::store_not_found)
    return fail(known.error());
  PAWL_TRY_ASSIGN(std::unique_ptr<RunWriter> writer, open_ledger_writer(store_, clock_, run_));
  if (writer->info().latest) return writer->info().uuid;  // another process created it first
  PAWL_TRY_ASSIGN(const std::unique_ptr<HeldLedger> held, HeldLedger::take(std::move(writer), run_));
  return held->uuid();
}

Result<void> StepLedger::update(const Edit& edit) {
  PAWL_TRY_ASSIGN(std::unique_ptr<RunWriter> writer, open_ledger_writer(store_, clock_, run_));
  PAWL_TRY_ASSIGN(const std::unique_ptr<HeldLedger> held, HeldLedger::take(std::move(writer), run_));
  LedgerSave save;
  PAWL_TRY(held->prepare(edit, save));
  held->finish(save);
  return held->save(save);
}

Result<void> StepLedger::reach() {
  PAWL_TRY_ASSIGN(const std::optional<std::string> owner, store_.owner(run_));
  if (!owner) return {};
  PAWL_TRY(open_ledger_writer(store_, clock_, run_));
  return {};
}

/// A program that is started again asks for one output after the other, and the store reads a file from its beginning
/// each time. So several events are read at once, unless they are large.
Result<std::optional<std::string>> StepLedger::event_data(std::uint64_t number) {
  const Lock lock(mutex_);
  if (const auto known = page_.find(number); known != page_.end()) return std::optional(known->second);
  PAWL_TRY_ASSIGN(std::vector<Event> events, store_.events(run_, number - 1, page_events_));
  page_.clear();
  std::uint64_t bytes = 0;
  for (Event& event : events) {
    bytes += event.data.size();
    page_.emplace(event.number, std::move(event.data));
  }
  page_events_ =
      bytes < kPageBytes ? std::min(2 * page_events_, kPageEventsMax) : std::max<std::size_t>(1, page_events_ / 2);
  const auto found = page_.find(number);
  return found == page_.end() ? std::nullopt : std::optional(found->second);
}

Result<Json> StepLedger::recorded_output(const std::string& name, const StepRecord& record) {
  if (record.output_event == 0) return record.output;
  PAWL_TRY_ASSIGN(const std::optional<std::string> event, event_data(record.output_event));
  if (!event) return fail(lost(name, "is missing"));
  const Json data = parse_json(*event);
  if (!data.is_object() || data.value("step", Json()) != Json(name) || !data.contains("output"))
    return fail(lost(name, "is missing in its event"));
  return data["output"];
}

Result<void> StepLedger::replay(const std::string& name, const StepRecord& record, LocalFiles& files,
                                const std::function<void(std::string_view bytes)>& use) {
  PAWL_TRY_ASSIGN(const Json output, recorded_output(name, record));
  if (output.is_null()) return {};
  if (output.is_object() && output.contains("file")) return replay_file(name, output, files, use);
  const std::optional<std::string> bytes = output_bytes(output);
  if (!bytes) return fail(lost(name, "can't be read"));
  use(*bytes);
  return {};
}

Result<void> StepLedger::replay_file(const std::string& name, const Json& output, LocalFiles& files,
                                     const std::function<void(std::string_view bytes)>& use) {
  const Json file = output["file"];
  const Json size = output.value("size", Json());
  // The name comes from the store, so it may point outside of the folder.
  if (!file.is_string() || file.get_ref<const std::string&>().find('/') != std::string::npos ||
      !size.is_number_unsigned())
    return fail(lost(name, "can't be read"));
  PAWL_TRY_ASSIGN(const std::string folder, store_.local_folder(run_));
  const std::string path = folder + "/" + file.get<std::string>();
  const auto bytes = size.get<std::uint64_t>();
  PAWL_TRY_ASSIGN(std::shared_ptr<LogCipher> cipher, store_.log_cipher(run_));
  LogReader reader(files, std::move(cipher), folder);
  const auto for_each_block = [&](const auto& take) -> Result<std::uint64_t> {
    std::uint64_t read = 0;
    for (std::uint64_t at = 0;;) {
      PAWL_TRY_ASSIGN(const std::string block, reader.read(path, at, kBlock));
      if (block.empty()) return read;
      read += block.size();
      take(block);
    }
  };
  if (!files.exists(path)) return fail(at(lost(name, "is missing"), path));
  Sha256Stream hash;
  PAWL_TRY_ASSIGN(const std::uint64_t read, for_each_block([&](const std::string& block) { hash.add(block); }));
  if (read != bytes) return fail(at(lost(name, "is damaged"), path));
  if (Json(to_hex(hash.finish())) != output.value("sha256", Json())) return fail(at(lost(name, "is damaged"), path));
  PAWL_TRY(for_each_block([&](const std::string& block) { use(block); }));
  return {};
}

}  // namespace pawl
