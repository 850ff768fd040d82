// `pawl dlq`: failed items of maps (dead-letter queue).
#include <algorithm>

#include "cli/command.hpp"
#include "cli/hints.hpp"
#include "cli/workflow_session.hpp"
#include "service/retry_letters.hpp"
#include "text/utf8.hpp"

namespace pawl::cli {
namespace {

struct DlqArguments {
  std::string run;
  std::vector<std::string> rest;  // STEP, then indices
  bool all = false;
  bool rerun_dependents = false;
  bool no_run = false;
};

bool names_items(const LetterChoice& choice) { return !choice.indices.empty() || !choice.ranges.empty(); }

/// Adds `3`, `3-9` or `3,7-9` to the choice. Returns whether it was one of these.
bool add_indices(std::string_view word, LetterChoice& choice) {
  do {
    const std::size_t comma = std::min(word.find(','), word.size());
    const std::string_view part = word.substr(0, comma);
    const std::optional<IndexRanges> parsed = part.empty() ? std::nullopt : IndexRanges::parse(part);
    if (!parsed) return false;
    const auto [first, last] = *parsed->ranges().begin();
    if (part.find('-') == std::string_view::npos) {
      choice.indices.add(first);
    } else {
      choice.ranges.emplace_back(first, last);
    }
    word.remove_prefix(std::min(comma + 1, word.size()));
  } while (!word.empty());
  return true;
}

/// `[STEP] INDEX...`; a step id never begins with a digit.
Result<LetterChoice> parse_choice(const DlqArguments& arguments) {
  LetterChoice choice;
  if (arguments.all) choice.scope = LetterChoice::Scope::all;
  for (std::size_t i = 0; i < arguments.rest.size(); ++i) {
    const std::string& word = arguments.rest[i];
    if (add_indices(word, choice)) continue;
    if (i > 0)
      return fail(Error{Code::usage, fmt::format("not an item index: '{}'", word), {}, "write 3, 3,7 or 3-9", 0});
    choice.step = word;
  }
  if (arguments.all && names_items(choice))
    return fail(Error{Code::usage, "indices and --all can't be used together", {}, "remove one of them", 0});
  return choice;
}

Json letter_json(const DeadLetter& letter) {
  return {{"step", letter.step},        {"index", letter.index},       {"item", letter.item},   {"error", letter.error},
          {"stderr", letter.last_line}, {"attempts", letter.attempts}, {"at", letter.at.text()}};
}

/// Returns the error without the step and index, which have their own columns.
std::string error_in_row(const DeadLetter& letter) {
  const std::string item = fmt::format("{}[{}].", letter.step, letter.index);
  return letter.error.starts_with(item) ? letter.error.substr(item.size()) : letter.error;
}

Result<void> list_letters(const Invocation& invocation, const DlqArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  if (arguments.rest.size() > 1)
    return fail(Error{Code::usage,
                      fmt::format("unexpected argument: '{}'", arguments.rest[1]),
                      {},
                      "to show one item, run: pawl dlq show RUN INDEX",
                      0});
  const std::string step = arguments.rest.empty() ? "" : arguments.rest.front();
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const std::vector<DeadLetter> letters, dead_letters(*store, run, step));
  if (invocation.json()) {
    Json document = Json::array();
    for (const DeadLetter& letter : letters) document.push_back(letter_json(letter));
    invocation.print(compact(document) + "\n");
    return {};
  }
  if (letters.empty()) {
    invocation.note(fmt::format("run {} has no failed items", run.text()));
    return {};
  }
  Table table({{.name = "STEP", .cut = Cut::middle, .rank = 1, .least = 12},
               {.name = "INDEX"},
               {.name = "TRIES", .rank = 5},
               {.name = "FAILED", .rank = 4},
               {.name = "ITEM", .cut = Cut::end, .rank = 3, .least = 10},
               {.name = "ERROR", .cut = Cut::end, .rank = 2, .least = 12, .wanted = 30},
               {.name = "STDERR", .cut = Cut::end, .rank = 0, .least = 20}});
  for (const DeadLetter& letter : letters) {
    table.add({printable(letter.step), std::to_string(letter.index), std::to_string(letter.attempts),
               invocation.time_text(letter.at), printable(compact(letter.item)), printable(error_in_row(letter)),
               printable(letter.last_line)});
  }
  invocation.print(table.text(invocation.style(), invocation.table_width()));
  return {};
}

Result<void> show_letter(const Invocation& invocation, const DlqArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  PAWL_TRY_ASSIGN(const LetterChoice choice, parse_choice(arguments));
  if (choice.indices.count() != 1 || !choice.ranges.empty())
    return fail(Error{Code::usage,
                      "missing argument: INDEX",
                      {},
                      fmt::format("to list failed items, run: pawl dlq list {}", run.text()),
                      0});
  const std::uint64_t index = choice.indices.ranges().begin()->first;
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const DeadLetter letter, find_dead_letter(*store, run, choice.step, index));
  if (invocation.json()) {
    invocation.print(compact(letter_json(letter)) + "\n");
    return {};
  }
  invocation.print(fmt::format(
      "Step:      {}\nIndex:     {}\nAttempts:  {}\nFailed:    {}\nItem:      {}\nError:     {}\nStderr:    {}\n",
      printable(letter.step), letter.index, letter.attempts, letter.at.text(),
      printable(letter.item.dump(2, ' ', false, Json::error_handler_t::replace)), printable(letter.error),
      printable(letter.last_line)));
  return {};
}

std::string numbers_text(const std::vector<std::uint64_t>& indices) {
  IndexRanges ranges;
  for (const std::uint64_t index : indices) ranges.add(index);
  return ranges.text();
}

void show_change(const Invocation& invocation, const RunId& run, const ChangedLetters& changed, std::string_view word) {
  if (invocation.json()) {
    const Json document = {
        {"run", run.text()}, {"step", changed.step}, {"indices", changed.indices}, {"dependents", changed.dependents}};
    return invocation.print(compact(document) + "\n");
  }
  const std::size_t count = changed.indices.size();
  invocation.print(fmt::format("{}: {} item{} of {} {}: {}\n", run.text(), count, count == 1 ? "" : "s",
                               printable(changed.step), word, numbers_text(changed.indices)));
  for (const std::string& path : changed.dependents) invocation.note(fmt::format("{} will run again", path));
}

/// Repeats what the user chose, so that the hint can be pasted.
Error with_choice(Error error, const RunId& run, const DlqArguments& arguments) {
  std::string words;
  for (const std::string& word : arguments.rest) words += " " + shell_word(word);
  if (arguments.all) words += " --all";
  if (arguments.rerun_dependents) words += " --rerun-dependents";
  error.advice = Advice::none;
  return with_hint(std::move(error),
                   fmt::format("restore it, or run: pawl dlq retry {0}{1} --no-run && pawl resume {0} --accept-changes",
                               run.text(), words));
}

Result<void> retry(const Invocation& invocation, const DlqArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  RetryRequest request{.dependents = arguments.rerun_dependents ? Dependents::rerun : Dependents::keep,
                       .then = arguments.no_run ? RetryRequest::Then::leave_queued : RetryRequest::Then::resume};
  PAWL_TRY_ASSIGN(request.choice, parse_choice(arguments));
  CliContext& context = invocation.context();
  {
    PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
    Result<ChangedLetters> queued = retry_dead_letters(
        *store, run, request, [&](const std::string& file) { return load_workflow(context, file, LoadFor::begun_run); },
        invocation.state_bytes_max());
    if (!queued && queued.error().advice == Advice::queue_and_accept_changes)
      return fail(with_choice(std::move(queued).error(), run, arguments));
    PAWL_TRY_ASSIGN(const ChangedLetters changed, std::move(queued));
    if (!invocation.json() || arguments.no_run)
      show_change(invocation, run, changed, "queued");  // otherwise the resume prints
  }
  if (!arguments.no_run) return resume_workflow(invocation, ResumeRequest{.id = run}, {});
  invocation.note(fmt::format("to run them: pawl resume {}", run.text()));
  return {};
}

Result<void> drop(const Invocation& invocation, const DlqArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  PAWL_TRY_ASSIGN(const LetterChoice choice, parse_choice(arguments));
  if (!names_items(choice) && !arguments.all)
    return fail(Error{Code::usage, "missing argument: INDEX", {}, "pass their indices, or --all", 0});
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const ChangedLetters changed, drop_letters(*store, run, choice, invocation.state_bytes_max()));
  show_change(invocation, run, changed, "dropped");
  return {};
}

Options& add_part(Options& dlq, const std::shared_ptr<DlqArguments>& arguments, const std::string& name,
                  const std::string& help, const std::string& rest) {
  Options& app = dlq.command(name, help);
  app.text("RUN", arguments->run, "Run id").required();
  app.list(rest, arguments->rest, "Map step (needed if several have failed items), then item indices: 3 7-9");
  return app;
}

}  // namespace

Command add_dlq(Options& root) {
  const auto arguments = std::make_shared<DlqArguments>();
  Options& app = root.command("dlq", "List, retry or drop items of maps that failed (dead-letter queue)");
  app.group(kWorkflowGroup);
  const Options& list = add_part(app, arguments, "list", "List the failed items of a run", "STEP");
  const Options& show = add_part(app, arguments, "show", "Show one failed item with its error", "[STEP] INDEX");
  Options& retried =
      add_part(app, arguments, "retry", "Run failed items again, then the map's reduce step", "[STEP] INDEX");
  retried.when_output_closes(ClosedOutput::ignored);
  retried.flag("--all", arguments->all, "All failed items of the map (default without indices)");
  retried.flag("--rerun-dependents", arguments->rerun_dependents, "Run all steps after the map again");
  retried.flag("--no-run", arguments->no_run, "Only queue them; `pawl resume` runs them");
  Options& dropped =
      add_part(app, arguments, "drop", "Give up on items: they stay failed but are no longer listed", "[STEP] INDEX");
  dropped.flag("--all", arguments->all, "All failed items of the map");
  app.footer(
      "Examples:\n"
      "  pawl dlq list notes-k3f9\n"
      "  pawl dlq show notes-k3f9 pages 17\n"
      "  pawl dlq retry notes-k3f9 17 40-45\n"
      "  pawl dlq drop notes-k3f9 --all");
  return {&app, [arguments, &list, &show, &retried](const Invocation& invocation) {
            if (list.chosen()) return list_letters(invocation, *arguments);
            if (show.chosen()) return show_letter(invocation, *arguments);
            return retried.chosen() ? retry(invocation, *arguments) : drop(invocation, *arguments);
          }};
}

}  // namespace pawl::cli
