// Launches attempts: environment, inputs and outputs of commands, and calls of handlers.
#include "base/error_line.hpp"
#include "codec/json_check.hpp"
#include "engine/environment_entries.hpp"
#include "engine/execution_parts.hpp"

namespace pawl {
namespace {

constexpr std::size_t kVariableBytesMax = 128U << 10;  // maximum size of one string in an environment (the kernel's
                                                       // MAX_ARG_STRLEN)

}  // namespace

Result<std::vector<std::string>> Execution::step_environment(const Node& node, const NodeNames& names) {
  std::vector<std::string> entries = environment();
  for (const std::string& file : node.step->env_files) {
    PAWL_TRY_ASSIGN(const std::string text,
                    services_.files.read(services_.files.absolute(file, state_.working_dir), 1 << 20));
    for (std::string& entry : parse_env_file(text)) set_entry(entries, std::move(entry));
  }
  for (const auto& [name, value] : node.step->env) {
    PAWL_TRY_ASSIGN(const std::string text, value.render(names));
    set_entry(entries, name + "=" + text);
  }
  return entries;
}

Result<void> Execution::write_input(const Node& node, const NodeNames& names, const Json& arguments) {
  Json input = {{"run", id_.text()}, {"step", node.path}, {"vars", state_.vars}, {"arguments", arguments}};
  for (const char* name : {"item", "index", "loop", "map"}) {
    const Result<Json> value = names.find(std::vector<PathPart>{PathPart(std::string(name))});
    if (value) input[name] = *value;
  }
  Json& steps = input["steps"] = Json::object();
  for (const std::size_t before : node.step->after) {
    const Node& other = *node.scope->nodes[before];
    PAWL_TRY_ASSIGN(Json output, output_of(other));
    steps[other.step->id] = {{"status", to_text(other.record.status)}, {"output", std::move(output)}};
  }
  const std::string path = work_stem(node) + ".input.json";
  take_spare_input(path);
  return services_.files.write_over(path, compact(input));
}

Result<Execution::Folder> Execution::make_folder_of(std::string_view path) {
  std::string folder(path.substr(0, path.rfind('/')));
  const auto known = folders_.find(folder);
  if (known != folders_.end()) return known->second;
  const Folder found = services_.files.exists(folder) ? Folder::was_there : Folder::is_new;
  PAWL_TRY(services_.files.make_folder(folder));
  folders_.emplace(std::move(folder), found);
  return found;
}

Result<ProcessSpec> Execution::command_spec(Node& node) {
  const auto& command = std::get<RunCommand>(node.step->work);
  const NodeNames names(*this, *node.scope, &node);
  const std::string stem = file_stem(node);
  const std::string work = work_stem(node);
  PAWL_TRY(make_folder_of(stem));
  PAWL_TRY(make_folder_of(work));
  PAWL_TRY_ASSIGN(std::vector<std::string> entries, step_environment(node, names));
  Json arguments = Json::array();
  for (std::size_t i = 0; i < command.command.arguments.size(); ++i) {
    PAWL_TRY_ASSIGN(Json value, command.command.arguments[i].evaluate(names));
    std::string text = text_of(value);
    if (text.find('\0') != std::string::npos)
      return fail(Code::invalid_command,
                  "the value of ${{{}}} contains a NUL character, which an environment variable can't hold",
                  command.command.arguments[i].text());
    set_entry(entries, fmt::format("PAWL_ARG_{}={}", i + 1, text));
    arguments.push_back(std::move(value));
  }
  set_entry(entries, "PAWL_RUN=" + id_.text());
  set_entry(entries, "PAWL_RUN_UUID=" + uuid_.text());
  set_entry(entries, "PAWL_STEP=" + node.path);
  set_entry(entries, fmt::format("PAWL_ATTEMPT={}", node.record.attempts + 1));
  set_entry(entries, attempt_mark(node));
  set_entry(entries, "PAWL_IDEMPOTENCY_KEY=" + idempotency_key(node));
  set_entry(entries, "PAWL_RESULT=" + work + ".result");
  set_entry(entries, "PAWL_INPUT=" + work + ".input.json");
  set_entry(entries, "PAWL_STORE=" + services_.store_uri);
  set_entry(entries, "PAWL_PREVIOUS=" + (node.record.partial.is_null() ? std::string() : compact(node.record.partial)));
  if (node.scope->is_reduce) set_entry(entries, "PAWL_ITEMS=" + work_ + "/" + node.scope->owner->path + ".items.jsonl");
  for (const std::string& entry : entries) {
    if (entry.size() < kVariableBytesMax) continue;
    return fail(Error{Code::value_too_large,
                      fmt::format("'{}' has {} bytes; an environment variable can hold at most {}",
                                  entry.substr(0, entry.find('=')), entry.size(), kVariableBytesMax - 1),
                      {},
                      "read it from the JSON file $PAWL_INPUT instead",
                      0});
  }
  PAWL_TRY(write_input(node, names, arguments));
  ProcessSpec spec;
  spec.environment = std::move(entries);
  const std::string tree = worktree_of(node);
  spec.working_dir = tree.empty() ? state_.working_dir : tree;
  if (node.step->working_dir) {
    PAWL_TRY_ASSIGN(const std::string place, node.step->working_dir->render(names));
    spec.working_dir = services_.files.absolute(place, spec.working_dir);
  }
  if (command.shell == Shell::bash) {
    spec.argv = {"bash", "-eo", "pipefail", "-c", command.command.script};
  } else {
    spec.argv = {"/bin/sh", "-e", "-c", command.command.script};  // POSIX guarantees the path: no search in PATH
  }
  std::function<void(std::string_view)> shown;
  if (services_.observer != nullptr && services_.observer->wants_output()) {
    shown = [observer = services_.observer, run = id_.text(), path = node.path](std::string_view text) {
      observer->on_output(run, path, text);
    };
  }
  node.log = make_output(stem + ".log", {.tail_bytes = kTailBytes, .shown = shown});
  node.captured = node.step->capture.format == CaptureFormat::none
                      ? nullptr
                      : make_output(stem + ".out", {.captured_bytes = kCaptureBytesMax, .shown = shown});
  spec.errors = node.log;
  spec.output = node.captured != nullptr ? node.captured : node.log;
  return spec;
}

std::shared_ptr<StepOutput> Execution::make_output(const std::string& path, StepOutput::Wanted wanted) const {
  auto file = open_output_ ? open_output_(path) : plain_output_files(services_.files)(path);
  return std::make_shared<StepOutput>(std::move(file), patterns_, masked_counts_, std::move(wanted));
}

/// Reports the failure from the loop. The end of an item starts the next one, so thousands of failing launches would
/// otherwise overflow the stack.
void Execution::launch_failed(Node& node, std::string error) {
  loop_.post([this, alive = alive_, &node, error = std::move(error)] {
    if (!*alive) return;
    Outcome outcome;
    outcome.error = error;
    outcome.retryable = false;
    --attempts_running_;
    attempt_ended(node, std::move(outcome));
  });
}

void Execution::launch_command(Node& node) {
  Result<ProcessSpec> spec = command_spec(node);
  if (!spec) {
    return launch_failed(node, spec.error().message + (spec.error().hint.empty() ? "" : "; " + spec.error().hint));
  }
  node.process = loop_.start_process(*spec, [this, alive = alive_, &node](const ProcessEnd& end) {
    if (*alive) process_ended(node, end);
  });
  arm_timeouts(node);
}

void Execution::launch_handler(Node& node) {
  const auto& call = std::get<CallHandler>(node.step->work);
  const NodeNames names(*this, *node.scope, &node);
  Result<Handler> handler = services_.handlers.get(call.name);
  Result<Json> with = call.with.evaluate(names);
  if (!handler || !with) {
    return launch_failed(node, !handler ? handler.error().message : with.error().message);
  }
  HandlerCall given{.run = id_.text(),
                    .step = node.path,
                    .idempotency_key = idempotency_key(node),
                    .attempt = node.record.attempts + 1,
                    .input = compact(*with)};
  if (node.scope->is_item) {
    given.item = compact(node.scope->item);
    given.index = node.scope->item_index;
  }
  given.previous = compact(node.record.partial);
  node.in_handler = true;
  arm_timeouts(node);
  loop_.start_work(
      [this, alive = alive_, &node, handler = std::move(*handler), given = std::move(given)]() -> EventLoop::Task {
        Outcome outcome;
        try {
          Result<HandlerResult> result = handler(given);
          outcome.ok = result.has_value();
          if (!result) {
            outcome.error = describe_in_line(result.error());
            const Category kind = category(result.error().code);
            const bool wrong_input = kind == Category::usage || kind == Category::not_found;
            outcome.retryable = !wrong_input && !is_refusal(result.error().code);
          } else if (const Result<void> checked = check_json(result->output, 8ULL << 20); !checked) {
            outcome.ok = false;
            outcome.error = fmt::format("the handler's output is not JSON: {}", checked.error().message);
          } else {
            outcome.output = Json::parse(result->output, nullptr, false);
            std::string lines;
            for (const std::string& line : result->report) lines += line + "\n";
            if (!lines.empty()) outcome.report = parse_report(lines, LastLine::finished);
          }
        } catch (const std::exception& error) {
          outcome.error = fmt::format("the handler threw: {}", error.what());
        } catch (...) {
          outcome.error = "the handler threw an exception of an unknown type";
        }
        return [this, alive, &node, outcome = std::make_shared<Outcome>(std::move(outcome))] {
          if (!*alive) return;
          node.in_handler = false;
          --attempts_running_;
          loop_.cancel(node.timeout);
          if (!node.killed.empty() && hold_ == Hold::none && outcome->ok) {
            outcome->ok = false;
            outcome->error = node.killed;
          }
          attempt_ended(node, std::move(*outcome));
        };
      });
}

}  // namespace pawl
