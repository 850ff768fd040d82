#include "engine/item_source.hpp"

#include <algorithm>
#include <charconv>

#include "base/error_line.hpp"
#include "base/hash.hpp"
#include "codec/json_check.hpp"
#include "domain/event_types.hpp"
#include "engine/run_events.hpp"
#include "machine/names.hpp"
#include "text/size_words.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kItemBytesMax = 8ULL << 20;
constexpr std::size_t kBlockBytes = 1U << 20U;

constexpr std::size_t kPlainDigits = 17;  // integers with at most this many digits fit into 64 bits

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

/// Returns whether this valid JSON is certainly as `compact` writes it: no blanks between values, nothing escaped, only
/// ASCII, and no numbers that could be written in another way.
bool is_compact(std::string_view json) {
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '\\' || c < ' ' || c > '~') return false;
    if (c == '"') in_text = !in_text;
    if (in_text) continue;
    if (c == ' ' || c == '.' || c == 'E' || c == '+') return false;
    if (c == 'e' && i > 0 && is_digit(json[i - 1])) return false;
    if (c == '-' && i + 1 < json.size() && json[i + 1] == '0') return false;
    if (is_digit(c) && i >= kPlainDigits && std::ranges::all_of(json.substr(i - kPlainDigits, kPlainDigits), is_digit))
      return false;
  }
  return true;
}

Json result_line(const Json& data) {
  return {{"index", data.value("index", std::uint64_t{0})},
          {"item", data.value("item", Json())},
          {"status", data.value("status", "")},
          {"output", data.value("output", Json())},
          {"error", data.value("error", Json())}};
}

}  // namespace

Result<machine::fact::ItemsLoaded> ItemSource::read_items(const std::string& path) const {
  PAWL_TRY_ASSIGN(const std::unique_ptr<LineSource> lines, context_.services.files.lines(path, kItemBytesMax));
  std::string hash;  // of the hash so far and the next line
  auto hashes = std::make_shared<std::vector<std::uint64_t>>();
  while (true) {
    PAWL_TRY_ASSIGN(const std::optional<std::string> line, lines->next());
    if (!line) break;
    if (is_blank(*line)) continue;
    const Result<void> checked = check_json(*line, kItemBytesMax);
    if (!checked) {
      Error error = checked.error();
      error.where = fmt::format("{}, item {}", path, hashes->size() + 1);
      return fail(error);
    }
    hash = to_hex(sha256(hash, *line));
    hashes->push_back(is_compact(*line) ? machine::hash_of_item_text(*line)
                                        : machine::hash_of_item(Json::parse(*line, nullptr, false)));
  }
  return machine::fact::ItemsLoaded{.hash = "sha256:" + hash, .item_hashes = std::move(hashes)};
}

void ItemSource::load_items(const machine::command::LoadItems& command) {
  const std::string path = context_.services.files.absolute(command.file, context_.base.working_dir);
  Result<machine::fact::ItemsLoaded> read = read_items(path);
  machine::fact::ItemsLoaded loaded = read ? std::move(*read) : machine::fact::ItemsLoaded{};
  loaded.node = command.node;
  if (!read) loaded.error = describe_in_line(read.error());
  streams_[command.node] = {.path = path, .lines = {}, .next = 0};
  context_.feed(std::move(loaded));
}

Result<Json> ItemSource::item_at(Stream& stream, std::uint64_t index) const {
  if (!stream.lines || index < stream.next) {
    PAWL_TRY_ASSIGN(stream.lines, context_.services.files.lines(stream.path, kItemBytesMax));
    stream.next = 0;
  }
  while (true) {
    PAWL_TRY_ASSIGN(const std::optional<std::string> line, stream.lines->next());
    if (!line) return fail(Code::items_changed, "the items file became shorter while it was being read");
    if (is_blank(*line) || stream.next++ != index) continue;
    Json item = Json::parse(*line, nullptr, false);
    if (item.is_discarded()) return fail(Code::items_changed, "the items file changed while it was being read");
    return item;
  }
}

void ItemSource::load_item(const machine::command::LoadItem& command) {
  machine::fact::ItemLoaded loaded{.node = command.node, .index = command.index};
  Result<Json> item = item_at(streams_[command.node], command.index);
  if (item) {
    loaded.item = std::move(*item);
  } else {
    loaded.error = item.error().message;
  }
  context_.feed(std::move(loaded));
}

void ItemSource::load_output(const machine::command::LoadOutput& command) {
  const machine::Node* node = context_.node(command.node);
  if (node == nullptr) return;
  machine::fact::OutputLoaded loaded{.node = command.node};
  Result<Json> output =
      command.record == 0 ? results_of(*node) : event_output(recorder_.event_of(command.record), node->path);
  if (output) {
    loaded.output = std::move(*output);
  } else {
    loaded.error = output.error().message + (output.error().hint.empty() ? "" : "; " + output.error().hint);
    if (output.error().code == Code::value_too_large) loaded.party = machine::fact::Party::work;
  }
  context_.feed(std::move(loaded));
}

void ItemSource::load_finished(const machine::command::LoadFinished& command) {
  const machine::Node* node = context_.node(command.node);
  if (node == nullptr) return;
  auto hashes = std::make_shared<std::map<std::uint64_t, std::uint64_t>>();
  machine::fact::FinishedLoaded loaded{.node = command.node};
  const Result<void> read = for_each_result(node->path, [&](Json data) -> Result<void> {
    const std::string text = text_in(data, "hash");
    std::uint64_t hash = 0;
    std::from_chars(text.data(), text.data() + text.size(), hash, 16);
    (*hashes)[data.value("index", std::uint64_t{0})] = hash;
    return {};
  });
  if (!read) loaded.error = describe_in_line(read.error());
  loaded.hashes = std::move(hashes);
  context_.feed(std::move(loaded));
}

Result<Json> ItemSource::event_output(std::uint64_t event, const std::string& path) const {
  PAWL_TRY_ASSIGN(const std::vector<Event> events, context_.services.store.events(context_.id, event - 1, 1));
  if (events.empty())
    return fail(Code::event_replay_failed, "event {} with the output of '{}' is missing", event, path);
  const Json data = parse_json(events.front().data);
  if (!data.is_object() || !data.contains("output"))
    return fail(Code::event_replay_failed, "event {} does not contain the output of '{}'", event, path);
  Json output = data["output"];
  context_.masks.unmask(output);
  return output;
}

Result<Json> ItemSource::output_of(const machine::Node& node) const {
  if (!machine::needs_loading(node)) return machine::output_of(node);
  if (node.record.output_event != 0) return event_output(recorder_.event_of(node.record.output_event), node.path);
  return results_of(node);
}

/// Visits the results of a map that a rollback did not take back, oldest first.
Result<void> ItemSource::for_each_result(const std::string& path, const std::function<Result<void>(Json)>& use) const {
  if (const RecentResults::Results* recent = recorder_.results().find(path)) {
    for (const auto& [index, data] : *recent) PAWL_TRY(use(Json::parse(data, nullptr, false)));
    return {};
  }
  std::uint64_t after = 0;
  while (true) {
    PAWL_TRY_ASSIGN(const std::vector<Event> events, context_.services.store.events(context_.id, after, kEventsPage));
    if (events.empty()) return {};
    after = events.back().number;
    for (const Event& event : events) {
      if (event.type != event_type::kItemCompleted && event.type != event_type::kItemFailed) continue;
      if (context_.base.lost.contains(event.number)) continue;
      Json data = Json::parse(event.data, nullptr, false);
      if (!data.is_object() || data.value("step", std::string()) != path) continue;
      context_.masks.unmask(data);
      PAWL_TRY(use(std::move(data)));
    }
  }
}

bool ItemSource::counts(const machine::Node& map, std::uint64_t index) const {
  return map.record.map && index < map.record.map->total && map.record.map->done.contains(index);
}

Result<Json> ItemSource::results_of(const machine::Node& map) const {
  std::map<std::uint64_t, std::string> results;
  std::uint64_t bytes = 0;
  PAWL_TRY(for_each_result(map.path, [&](Json data) -> Result<void> {
    const auto index = data.value("index", std::uint64_t{0});
    if (!counts(map, index)) return {};
    std::string text = compact(result_line(data));
    std::string& known = results[index];
    bytes = bytes - known.size() + text.size();
    if (bytes > kMapOutputBytesMax)
      return fail(Error{Code::value_too_large,
                        fmt::format("the results of '{}' are larger than {}", map.path, size_words(kMapOutputBytesMax)),
                        {},
                        "use `reduce`, which receives them as a file",
                        0});
    known = std::move(text);
    return {};
  }));
  Json output = Json::array();
  for (const auto& [index, text] : results) output.push_back(Json::parse(text, nullptr, false));
  return output;
}

Result<void> ItemSource::write_results(const machine::Node& map, const std::string& path) const {
  struct Span {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };
  LocalFiles& files = context_.services.files;
  const std::string unsorted = path + ".unsorted";
  files.remove(unsorted);
  std::vector<Span> spans(map.record.map->total);
  std::uint64_t offset = 0;
  std::string block;
  PAWL_TRY(for_each_result(map.path, [&](Json data) -> Result<void> {
    const auto index = data.value("index", std::uint64_t{0});
    if (!counts(map, index)) return {};
    const std::string text = compact(result_line(data)) + "\n";
    spans[index] = {offset, text.size()};  // a retried item has several results; the last one counts
    offset += text.size();
    block += text;
    if (block.size() < kBlockBytes) return {};
    return files.append(unsorted, std::exchange(block, {}));
  }));
  PAWL_TRY(files.append(unsorted, block));
  PAWL_TRY(files.write(path, ""));
  block.clear();
  for (std::size_t i = 0; i < spans.size();) {
    // Neighbours are read together.
    const std::uint64_t begin = spans[i].offset;
    std::uint64_t end = begin;
    while (i < spans.size() && (spans[i].size == 0 || spans[i].offset == end) && end - begin < kBlockBytes) {
      end += spans[i].size;
      ++i;
    }
    PAWL_TRY_ASSIGN(const std::string text, files.read_range(unsorted, begin, end - begin));
    PAWL_TRY(files.append(path, text));
  }
  files.remove(unsorted);
  return {};
}

}  // namespace pawl
