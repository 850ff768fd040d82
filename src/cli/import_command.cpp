#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/workflow_session.hpp"
#include "codec/export_text.hpp"
#include "importers/formats.hpp"
#include "importers/write_import.hpp"

namespace pawl::cli {
namespace {

constexpr std::string_view kPortable = "pawl";
constexpr std::uint64_t kLookBytes = 64;
constexpr std::size_t kNotesShown = 20;

struct ImportArguments {
  std::string path;
  std::string from;
  std::string run_id;
  std::string workflow;
  bool dry_run = false;
};

/// The folder to open, and the file in it to import (empty: all).
struct Source {
  std::unique_ptr<FileSystem> files;
  std::string only;
};

Result<Source> open_source(const CliContext& context, const std::string& path) {
  LocalFiles& local = context.workflows->files;
  const std::string absolute = absolute_path(context, path);
  Source source;
  if (local.is_folder(absolute)) {
    PAWL_TRY_ASSIGN(source.files, context.open_folder(absolute));
    return source;
  }
  if (!local.exists(absolute))
    return fail(Error{Code::input_unreadable, "no such file or folder", path, "pass an existing file or folder", 0});
  const std::size_t slash = absolute.rfind('/');
  PAWL_TRY_ASSIGN(source.files, context.open_folder(slash == 0 ? "/" : absolute.substr(0, slash)));
  source.only = absolute.substr(slash + 1);
  return source;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const ImportFormat& format : import_formats()) names.emplace_back(format.name);
  names.emplace_back(kPortable);
  return names;
}

/// Whether an exported run was counted.
enum class Counted : std::uint8_t { all, checkpoints, nothing };

std::string run_json(const TakenRun& run, Counted counted) {
  JsonObject object;
  object.text("run", run.run).text("original", run.original);
  if (counted == Counted::nothing) {
    object.raw("written", "null").raw("repeated", "null");
  } else {
    object.number("written", run.written).number("repeated", run.repeated);
  }
  if (counted == Counted::all) {
    object.number("events", run.events);
  } else {
    object.raw("events", "null");
  }
  return object.number("latest", run.latest.value).boolean("resumable", run.resumable).done();
}

std::string document_of(std::string_view format, const ImportReport& report, const ImportArguments& arguments,
                        Counted counted = Counted::all) {
  std::vector<std::string> runs;
  std::vector<std::string> refused;
  std::vector<std::string> notes;
  for (const TakenRun& run : report.runs) runs.push_back(run_json(run, counted));
  for (const ImportProblem& problem : report.refused) {
    refused.push_back(JsonObject()
                          .text("code", code_text(problem.code))
                          .text("file", problem.file)
                          .text("item", problem.item)
                          .text("reason", problem.reason)
                          .done());
  }
  for (const ImportNote& note : report.notes)
    notes.push_back(JsonObject().text("file", note.file).text("text", note.text).done());
  return JsonObject()
             .text("format", format)
             .boolean("dry_run", arguments.dry_run)
             .raw("runs", json_array(runs))
             .raw("refused", json_array(refused))
             .raw("notes", json_array(notes))
             .done() +
         "\n";
}

std::string text_of(std::string_view format, const ImportReport& report, const ImportArguments& arguments) {
  const char* const taken = arguments.dry_run ? "would import" : "imported";
  std::string text;
  std::uint64_t checkpoints = 0;
  for (const TakenRun& run : report.runs) {
    checkpoints += run.written;
    text += fmt::format("{}: {} {}, {}", printable(run.run), taken, counted(run.written, "checkpoint"),
                        counted(run.events, "event"));
    if (run.repeated > 0) text += fmt::format(", {} already present", run.repeated);
    if (run.original != run.run) text += fmt::format(" (was {})", printable(run.original));
    if (run.resumable) text += fmt::format("; to continue: pawl resume {}", run.run);
    text += '\n';
  }
  for (const ImportProblem& problem : report.refused) {
    text += fmt::format("refused: {}", printable(problem.file));
    if (!problem.item.empty()) text += fmt::format(", {}", printable(problem.item));
    text += fmt::format(": {} ({})\n", printable(problem.reason), code_text(problem.code));
  }
  for (std::size_t i = 0; i < report.notes.size() && i < kNotesShown; ++i) {
    text += fmt::format("note: {}: {}\n", printable(report.notes[i].file), printable(report.notes[i].text));
  }
  if (report.notes.size() > kNotesShown)
    text += fmt::format("note: and {} more; use --json to see all\n", report.notes.size() - kNotesShown);
  return text + fmt::format("{} ({}): {} {} with {}, refused {}\n", printable(arguments.path), format, taken,
                            counted(report.runs.size(), "run"), counted(checkpoints, "checkpoint"),
                            report.refused.size());
}

bool anything_taken(const ImportReport& report) {
  return std::ranges::any_of(report.runs,
                             [](const TakenRun& run) { return run.written + run.repeated + run.events > 0; });
}

Result<void> end_with(const Invocation& invocation, std::string_view format, const ImportReport& report,
                      const ImportArguments& arguments) {
  if (report.runs.empty() && report.refused.empty()) {
    if (invocation.json() || !report.notes.empty())
      invocation.print(invocation.json() ? document_of(format, report, arguments) : text_of(format, report, arguments));
    return fail(
        Error{Code::import_unrecognised, fmt::format("found nothing in the format '{}'", format), arguments.path,
              arguments.from.empty() ? fmt::format("pass the format with --from: {}", fmt::join(format_names(), ", "))
                                     : "remove --from to detect the format",
              0});
  }
  invocation.print(invocation.json() ? document_of(format, report, arguments) : text_of(format, report, arguments));
  if (report.refused.empty()) return {};
  const char* const rest = !anything_taken(report) ? "and nothing was imported"
                           : arguments.dry_run     ? "the rest would be imported"
                                                   : "the rest was imported";
  return fail(Error{Code::import_incomplete,
                    fmt::format("{} of the items to import {} refused, {}", report.refused.size(),
                                report.refused.size() == 1 ? "was" : "were", rest),
                    {},
                    "fix the reasons listed above and import again; nothing is imported twice",
                    0});
}

/// Checks what would be imported before creating a store, so that none is created for nothing.
ImportReport looked_at(const SourceTree& tree, const ImportFormat& format, ImportOptions options) {
  options.mode = ImportMode::dry_run;
  ImportReport report;
  for (const SourceProblem& problem : tree.refused())
    report.refused.push_back({problem.error.code, problem.path, {}, problem.error.message});
  ImportWriter writer(nullptr, options, report);
  format.parse(tree, writer.sink());
  static_cast<void>(writer.finish());  // there is no store that could fail
  return report;
}

bool store_is_missing(const Invocation& invocation) {
  const auto store = invocation.open_store(StoreAccess::read);
  return !store && store.error().code == Code::store_not_found;
}

/// Without a store, a dry run can't find any conflicts.
Result<std::unique_ptr<Store>> open_for_import(const Invocation& invocation, const ImportArguments& arguments) {
  if (!arguments.dry_run) return invocation.open_store(StoreAccess::write);
  auto store = invocation.open_store(StoreAccess::read);
  if (!store && store.error().code == Code::store_not_found) return nullptr;
  return store;
}

Result<void> import_portable(const Invocation& invocation, const ImportArguments& arguments, Source& source) {
  if (!arguments.run_id.empty() || !arguments.workflow.empty()) {
    return fail(Error{Code::usage, "--run-id and --workflow can't be used with an exported run", arguments.path,
                      "remove --run-id and --workflow", 0});
  }
  PAWL_TRY_ASSIGN(const auto file, source.files->open(source.only, OpenMode::read));
  PAWL_TRY_ASSIGN(const ImportedExport arrived,
                  invocation.context().run_export.import_run(
                      invocation.store_uri(), *file, arguments.dry_run ? ExportUse::only_check : ExportUse::import));
  if (invocation.json()) {
    ImportReport report;
    TakenRun taken{.run = arrived.run, .original = arrived.run};
    (arrived.repeated ? taken.repeated : taken.written) = arrived.checkpoints;
    taken.latest = arrived.latest;
    report.runs.push_back(std::move(taken));
    invocation.print(
        document_of(kPortable, report, arguments, arguments.dry_run ? Counted::nothing : Counted::checkpoints));
    return {};
  }
  std::string text =
      fmt::format("imported {} in {}", counted(arrived.checkpoints, "checkpoint"), counted(arrived.files, "file"));
  if (arguments.dry_run)
    text = arrived.repeated ? "already present" : fmt::format("would be imported, {}", counted(arrived.files, "file"));
  else if (arrived.repeated)
    text = fmt::format("imported nothing, {} already present", arrived.checkpoints);
  invocation.print(fmt::format("{}: {}\n", printable(arrived.run), text));
  return {};
}

Result<const ImportFormat*> choose_format(const SourceTree& tree, const ImportArguments& arguments) {
  const ImportFormat* format = arguments.from.empty() ? recognise_import(tree) : find_import_format(arguments.from);
  if (format != nullptr) return format;
  return fail(Error{Code::import_unrecognised, "no known format found", arguments.path,
                    fmt::format("pass the format with --from: {}", fmt::join(format_names(), ", ")), 0});
}

Result<void> import_runs(const Invocation& invocation, const ImportArguments& arguments) {
  PAWL_TRY(invocation.need_checkpoints());
  CliContext& context = invocation.context();
  PAWL_TRY_ASSIGN(Source source, open_source(context, arguments.path));
  SourceLimits limits;
  limits.file_bytes_max = invocation.state_bytes_max();
  PAWL_TRY_ASSIGN(const SourceTree tree, SourceTree::open(*source.files, source.only, limits));
  if (!source.only.empty() &&
      (arguments.from == kPortable || (arguments.from.empty() && is_export(tree.begin_of(source.only, kLookBytes))))) {
    return import_portable(invocation, arguments, source);
  }
  PAWL_TRY_ASSIGN(const ImportFormat* const format, choose_format(tree, arguments));
  ImportOptions options{.format = format->name,
                        .run_id = arguments.run_id,
                        .mode = arguments.dry_run ? ImportMode::dry_run : ImportMode::write};
  options.state_bytes_max = invocation.state_bytes_max();
  std::optional<Workflow> workflow;
  if (!arguments.workflow.empty()) {
    PAWL_TRY_ASSIGN(workflow, load_workflow(context, arguments.workflow));
    options.workflow = &*workflow;
    options.working_dir = [&](const Json& vars) { return working_folder(context.workflows->files, *workflow, vars); };
  }
  if (!arguments.dry_run && store_is_missing(invocation)) {
    if (const ImportReport report = looked_at(tree, *format, options); !anything_taken(report))
      return end_with(invocation, format->name, report, arguments);
  }
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, open_for_import(invocation, arguments));
  ImportReport report;
  for (const SourceProblem& problem : tree.refused())
    report.refused.push_back({problem.error.code, problem.path, {}, problem.error.message});
  ImportWriter writer(store.get(), options, report);
  format->parse(tree, writer.sink());
  const auto finished = writer.finish();
  if (!finished) {
    invocation.print(invocation.json() ? document_of(format->name, report, arguments)
                                       : text_of(format->name, report, arguments));
    return finished;
  }
  return end_with(invocation, format->name, report, arguments);
}

}  // namespace

Command add_import(Options& root) {
  const auto arguments = std::make_shared<ImportArguments>();
  Options& app = root.command("import", "Import runs from other programs or from `pawl export`");
  app.group(kCareGroup);
  app.text("PATH", arguments->path, "File or folder to read").required();
  app.text("--from", arguments->from, "Format (default: detected)").value("WORD").words(format_names());
  app.text("--run-id", arguments->run_id, "Run id; for several runs, a prefix of their ids").value("ID");
  app.text("--workflow", arguments->workflow,
           "Workflow that continues the runs; their completed steps count as its own")
      .value("FILE");
  app.flag("--dry-run", arguments->dry_run, "Show what would be imported; write nothing");
  std::string formats;
  for (const ImportFormat& format : import_formats()) formats += fmt::format("  {:14}{}\n", format.name, format.what);
  app.footer("Formats:\n" + formats +
             "  pawl          file written by `pawl export`\n"
             "\n"
             "Damaged, hostile or unknown items are refused one by one, each with a code and\n"
             "a reason; the rest is imported, with exit status 4. Importing again skips what\n"
             "is already present. Original ids and times are kept in the metadata under\n"
             "`imported`.\n"
             "\n"
             "Examples:\n"
             "  pawl import .jerry --dry-run\n"
             "  pawl import ~/.prodigy/state/repo --workflow build.yaml\n"
             "  pawl import checkpoints.sql --run-id old\n"
             "  pawl import nightly.pawl        run of another store, with its audit chain");
  return {&app, [arguments](const Invocation& invocation) { return import_runs(invocation, *arguments); }};
}

}  // namespace pawl::cli
