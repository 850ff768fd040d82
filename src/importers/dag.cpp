// Format `dag`: rows of the table workflow_checkpoints, as an SQL dump or a JSON export.
#include <algorithm>
#include <charconv>
#include <map>

#include "codec/json_check.hpp"
#include "domain/event_types.hpp"
#include "importers/document.hpp"
#include "importers/formats.hpp"
#include "importers/sql_rows.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::string_view kTable = "workflow_checkpoints";
constexpr std::uint64_t kLookBytes = 64U << 10;

const std::vector<std::string>& table_columns() {
  static const std::vector<std::string> columns{"id",    "workflow_id",   "timestamp",       "layer_index",
                                                "state", "dag_structure", "execution_config"};
  return columns;
}

/// A row with its JSON values as text.
struct Row {
  std::string item;  // its place in the file
  std::map<std::string, std::string> values;
};

struct DagCheckpoint {
  std::string workflow;
  std::uint64_t layer = 0;
  Timestamp at;
  Json state;
  Json dag;
  ImportedCheckpoint checkpoint;
};

Result<std::string> need(const Row& row, const char* column) {
  const auto found = row.values.find(column);
  if (found == row.values.end() || found->second.empty())
    return fail(Code::import_invalid, "column '{}' is missing or empty", column);
  return found->second;
}

Result<Json> json_column(const Row& row, const char* column, std::uint64_t bytes_max) {
  PAWL_TRY_ASSIGN(const std::string text, need(row, column));
  const auto checked = check_json(text, bytes_max);
  if (!checked) return fail(at(checked.error(), fmt::format("column {}", column)));
  Json value = Json::parse(text, nullptr, false);
  if (!value.is_object() && !value.is_array())
    return fail(Code::import_invalid, "column '{}' is not a JSON object", column);
  return value;
}

Result<DagCheckpoint> checkpoint_of(const Row& row, const std::string& file, std::uint64_t bytes_max) {
  DagCheckpoint found;
  ImportedCheckpoint& checkpoint = found.checkpoint;
  PAWL_TRY_ASSIGN(checkpoint.id, need(row, "id"));
  PAWL_TRY_ASSIGN(found.workflow, need(row, "workflow_id"));
  PAWL_TRY(check_run_name(found.workflow));
  PAWL_TRY_ASSIGN(checkpoint.time, need(row, "timestamp"));
  const auto at = parse_foreign_time(checkpoint.time);
  if (!at) return fail(Code::import_invalid, "invalid timestamp '{}'", checkpoint.time);
  found.at = *at;
  PAWL_TRY_ASSIGN(const std::string layer, need(row, "layer_index"));
  const auto [end, problem] = std::from_chars(layer.data(), layer.data() + layer.size(), found.layer);
  if (problem != std::errc{} || end != layer.data() + layer.size() || found.layer > INT32_MAX) {
    return fail(Code::number_out_of_range, "invalid layer_index '{}'", layer);
  }
  PAWL_TRY_ASSIGN(found.state, json_column(row, "state", bytes_max));
  PAWL_TRY_ASSIGN(found.dag, json_column(row, "dag_structure", bytes_max));
  PAWL_TRY(json_column(row, "execution_config", bytes_max));
  if (!found.state.is_object()) return fail(Code::import_invalid, "column 'state' is not a JSON object");
  checkpoint.state =
      fmt::format(R"({{"layer_index":{},"state":{},"dag_structure":{},"execution_config":{}}})", found.layer,
                  trim_json(row.values.at("state")), trim_json(row.values.at("dag_structure")),
                  trim_json(row.values.at("execution_config")));
  checkpoint.checksum = sum_text(checkpoint.state);
  checkpoint.file = file;
  checkpoint.kind = Kind::stage_complete;
  checkpoint.reason = Reason::stage_completed;
  checkpoint.stage = fmt::format("layer{}", found.layer);
  return found;
}

/// A JSONB column is an object, or text that contains one in exports without a JSON type.
void add_export_row(std::string_view text, const std::string& item, std::vector<Row>& rows) {
  Row row{.item = item, .values = {}};
  JsonMembers members(text);
  while (const auto member = members.next()) {
    const std::string column = unescape_json(member->key);
    if (json_type(member->value) == JsonType::null) continue;
    row.values[column] =
        json_type(member->value) == JsonType::string ? unescape_json(member->value) : std::string(member->value);
  }
  rows.push_back(std::move(row));
}

void add_export_list(std::string_view list, const std::string& file, std::vector<Row>& rows, const ImportSink& sink) {
  JsonElements elements(list);
  for (std::uint64_t number = 1; const auto element = elements.next(); ++number) {
    const std::string item = fmt::format("row {}", number);
    if (json_type(*element) == JsonType::object) {
      add_export_row(*element, item, rows);
    } else {
      sink.problem({Code::import_invalid, file, item, "the row is not a JSON object"});
    }
  }
}

/// Reads one row per line.
void add_export_lines(std::string_view text, const std::string& file, std::uint64_t bytes_max, std::vector<Row>& rows,
                      const ImportSink& sink) {
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim_json(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const std::string item = fmt::format("line {}", number);
    if (const auto checked = check_json(line, bytes_max); !checked) {
      sink.problem(problem_of(file, checked.error(), item));
    } else if (json_type(line) == JsonType::object) {
      add_export_row(line, item, rows);
    } else {
      sink.problem({Code::import_invalid, file, item, "the row is not a JSON object"});
    }
  }
}

void read_export(std::string_view text, const std::string& file, std::uint64_t bytes_max, std::vector<Row>& rows,
                 const ImportSink& sink) {
  if (without_gz(file).ends_with(".jsonl")) return add_export_lines(text, file, bytes_max, rows, sink);
  if (const auto checked = check_json(text, bytes_max); !checked)
    return sink.problem(problem_of(file, checked.error()));
  const std::string_view value = trim_json(text);
  if (json_type(value) == JsonType::array) return add_export_list(value, file, rows, sink);
  for (const std::string_view key : {kTable, std::string_view("rows"), std::string_view("data")}) {
    if (const auto list = find_json_member(value, key); list && json_type(*list) == JsonType::array)
      return add_export_list(*list, file, rows, sink);
  }
  if (json_type(value) == JsonType::object) return add_export_row(value, "row 1", rows);
  sink.problem({Code::import_invalid, file, {}, "the file contains no rows"});
}

void read_dump(std::string_view text, const std::string& file, std::vector<Row>& rows, const ImportSink& sink) {
  for (SqlRow& found : sql_rows(text, kTable, table_columns())) {
    Row row{.item = fmt::format("line {}", found.line), .values = {}};
    if (!found.fault.empty()) {
      sink.problem({Code::import_invalid, file, row.item, found.fault});
      continue;
    }
    for (auto& [column, value] : found.values) {
      if (value) row.values[column] = std::move(*value);
    }
    rows.push_back(std::move(row));
  }
}

bool is_confirmed(const Json& task) {
  const std::string status = text_or_empty(task, "status");
  const Json* speculative = find_member(task, "speculative");
  if (speculative != nullptr && *speculative == Json(true)) return false;
  return status.empty() || status == "success" || status == "completed" || status == "done";
}

void collect_dag_steps(const DagCheckpoint& last, ImportedRun& run) {
  const Json* tasks = find_member(last.state, "tasks");
  std::size_t done = 0;
  if (tasks != nullptr && tasks->is_array()) {
    for (const Json& task : *tasks) {
      const std::string id = text_or_empty(task, "taskId");
      if (id.empty()) continue;
      const Json* result = find_member(task, "result");
      ImportedStep step{.id = id, .output = result != nullptr ? *result : Json()};
      step.ended = parse_foreign_time(text_or_empty(task, "timestamp")).value_or(last.at);
      if (text_or_empty(task, "status") == "failed" || text_or_empty(task, "status") == "error") {
        step.status = StepStatus::failed;
        step.output = Json();
        step.error = text_or_empty(task, "error").empty() ? "failed" : text_or_empty(task, "error");
      } else if (!is_confirmed(task)) {
        continue;
      } else {
        ++done;
      }
      run.steps.push_back(std::move(step));
    }
  }
  const Json* planned = find_member(last.dag, "tasks");
  run.completed = planned != nullptr && planned->is_array() && !planned->empty() && done == planned->size();
  if (const Json* context = find_member(last.state, "context"); context != nullptr && context->is_object())
    run.vars = *context;
}

void add_decisions(DagCheckpoint& found, std::map<std::string, bool>& known) {
  const Json* decisions = find_member(found.state, "decisions");
  if (decisions == nullptr || !decisions->is_array()) return;
  for (const Json& decision : *decisions) {
    const std::string text = compact(decision);
    if (known.emplace(text, true).second) found.checkpoint.events.push_back({event_type::kDecision, text});
  }
}

void hand_over(std::map<std::string, std::vector<DagCheckpoint>>& workflows, const ImportSink& sink) {
  for (auto& [workflow, checkpoints] : workflows) {
    std::ranges::sort(checkpoints, {}, [](const DagCheckpoint& found) {
      return std::tuple(found.at, found.layer, found.checkpoint.id);
    });
    ImportedRun run;
    run.id = workflow;
    collect_dag_steps(checkpoints.back(), run);
    if (run.completed) {
      checkpoints.back().checkpoint.kind = Kind::workflow_complete;
      checkpoints.back().checkpoint.status = Status::completed;
    }
    std::map<std::string, bool> decisions;
    for (DagCheckpoint& found : checkpoints) {
      add_decisions(found, decisions);
      run.checkpoints.push_back(std::move(found.checkpoint));
    }
    sink.run(std::move(run));
  }
}

bool is_export(std::string_view name) {
  name = without_gz(name);
  return name.ends_with(".json") || name.ends_with(".jsonl");
}

}  // namespace

bool looks_like_dag(const SourceTree& tree) {
  return std::ranges::any_of(tree.files(), [&](const std::string& file) {
    if (without_gz(file).ends_with(".sql")) return true;
    if (!is_export(file)) return false;
    const auto text = tree.unpacked(tree.begin_of(file, kLookBytes));
    if (!text && file.ends_with(".gz")) return file.find(kTable) != std::string::npos;  // only its beginning was read
    return text && text->find("\"dag_structure\"") != std::string::npos &&
           text->find("\"layer_index\"") != std::string::npos;
  });
}

void parse_dag(const SourceTree& tree, const ImportSink& sink) {
  std::map<std::string, std::vector<DagCheckpoint>> workflows;
  std::map<std::string, std::string> ids;
  const std::uint64_t bytes_max = tree.limits().file_bytes_max;
  for (const std::string& file : tree.files()) {
    const bool dump = without_gz(file).ends_with(".sql") || (tree.is_single() && !is_export(file));
    if (!dump && !is_export(file)) {
      sink.note({file, "ignored: not part of this format"});
      continue;
    }
    auto raw = tree.read(file);
    const auto text = raw ? tree.unpacked(std::move(*raw)) : std::move(raw);
    if (!text) {
      sink.problem(problem_of(file, text.error()));
      continue;
    }
    std::vector<Row> rows;
    if (dump) {
      read_dump(*text, file, rows, sink);
    } else {
      read_export(*text, file, bytes_max, rows, sink);
    }
    for (const Row& row : rows) {
      auto found = checkpoint_of(row, file, bytes_max);
      if (!found) {
        sink.problem(problem_of(file, found.error(), row.item));
        continue;
      }
      const auto [earlier, fresh] = ids.emplace(found->checkpoint.id, fmt::format("{} of {}", row.item, file));
      if (!fresh) {
        sink.problem({Code::import_duplicate, file, row.item,
                      fmt::format("{} already has the id {}", earlier->second, found->checkpoint.id)});
        continue;
      }
      workflows[found->workflow].push_back(std::move(*found));
    }
  }
  hand_over(workflows, sink);
}

}  // namespace pawl
