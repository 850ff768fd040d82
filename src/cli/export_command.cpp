#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/workflow_session.hpp"
#include "service/audited_read.hpp"

namespace pawl::cli {
namespace {

constexpr std::size_t kCheckpointsPage = 1000;

struct ExportArguments {
  std::string run;
  std::string output;
  std::string folder;
  bool logs = false;
};

void report(const Invocation& invocation, const ExportArguments& arguments, const ExportedRun& exported) {
  if (invocation.json()) {
    invocation.print(JsonObject()
                         .text("run", arguments.run)
                         .text("uuid", exported.uuid.text())
                         .text("file", arguments.output)
                         .number("files", exported.files)
                         .number("bytes", exported.bytes)
                         .text("sha256", exported.sha256)
                         .boolean("encrypted", exported.encrypted)
                         .done() +
                     "\n");
  } else {
    invocation.print(fmt::format("{}: {}, {} in {}\n", printable(arguments.run), counted(exported.files, "file"),
                                 size_text(exported.bytes), printable(arguments.output)));
  }
}

Result<void> export_portable(const Invocation& invocation, const ExportArguments& arguments, const RunId& run) {
  CliContext& context = invocation.context();
  const ExportLogs logs = arguments.logs ? ExportLogs::yes : ExportLogs::no;
  if (arguments.output.empty() || arguments.output == "-") {
    if (invocation.json()) return fail(Error{Code::usage, "--json requires -o FILE", {}, "pass -o FILE", 0});
    if (context.out_is_terminal)
      return fail(Error{Code::usage, "not writing binary data to a terminal", {}, "pass -o FILE", 0});
    const auto sent = context.run_export.export_run(invocation.store_uri(), run, logs, [&](std::string_view bytes) {
      context.out.write(bytes);
      return context.out.flush();
    });
    if (!sent) return std::unexpected(sent.error());
    return {};
  }
  PAWL_TRY_ASSIGN(const auto output, context.create_file(arguments.output));
  const auto sent = context.run_export.export_run(invocation.store_uri(), run, logs,
                                                  [&](std::string_view bytes) { return output->write(bytes); });
  if (!sent) return std::unexpected(sent.error());
  PAWL_TRY(output->finish());
  report(invocation, arguments, *sent);
  return {};
}

/// `{"run":..., "sequence":..., ..., "state": ...}`, with the state as saved.
std::string checkpoint_file(const RunId& run, const Restored& restored) {
  std::string text = checkpoint_object(run.text(), restored.info).done();
  text.pop_back();
  return text + ",\"state\":\n" + restored.state + "\n}\n";
}

Result<void> export_files(const Invocation& invocation, const ExportArguments& arguments, const RunId& run) {
  CliContext& context = invocation.context();
  LocalFiles& local = context.workflows->files;
  const std::string folder = absolute_path(context, arguments.folder);
  if (local.is_folder(folder) && !local.list(folder).empty()) {
    return fail(Error{Code::usage, "the folder is not empty", arguments.folder, "pass another folder", 0});
  }
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY(store->run(run));
  PAWL_TRY(local.make_folder(folder));
  std::uint64_t written = 0;
  for (Sequence after{};;) {
    PAWL_TRY_ASSIGN(const auto page, store->checkpoints(run, after, kCheckpointsPage));
    if (page.empty()) break;
    for (const CheckpointInfo& info : page) {
      PAWL_TRY_ASSIGN(const Restored restored,
                      store->restore(run, {.by = Which::By::sequence, .sequence = info.sequence}));
      PAWL_TRY(context.write_file(fmt::format("{}/checkpoint_{:05}.json", folder, info.sequence.value),
                                  checkpoint_file(run, restored)));
      ++written;
    }
    after = page.back().sequence;
  }
  if (invocation.json()) {
    invocation.print(
        JsonObject().text("run", arguments.run).text("folder", arguments.folder).number("files", written).done() +
        "\n");
  } else {
    invocation.print(fmt::format("{}: {} in {}\n", printable(arguments.run), counted(written, "checkpoint"),
                                 printable(arguments.folder)));
  }
  return {};
}

Result<void> export_run(const Invocation& invocation, const ExportArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  if (invocation.settings().audit.reads) {
    PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
    PAWL_TRY_ASSIGN(const CheckpointInfo newest, store->checkpoint(run, {}));
    PAWL_TRY(note_read(*store, invocation.settings(), invocation.context().clock, run, newest.sequence, "export"));
  }
  if (arguments.folder.empty()) return export_portable(invocation, arguments, run);
  if (!arguments.output.empty() || arguments.logs) {
    return fail(
        Error{Code::usage, "--files can't be used with -o or --logs", {}, "remove -o and --logs, or --files", 0});
  }
  return export_files(invocation, arguments, run);
}

}  // namespace

Command add_export(Options& root) {
  const auto arguments = std::make_shared<ExportArguments>();
  Options& app = root.command("export", "Write a run to one portable file for `pawl import`");
  app.group(kCareGroup);
  app.text("RUN", arguments->run, "Run id; no process may be writing to the run").required();
  app.text("-o,--output", arguments->output, "Output file; - is standard output (default: standard output)")
      .value("FILE");
  app.flag("--logs", arguments->logs, "Include the logs of its steps");
  app.text("--files", arguments->folder, "Write the state of each checkpoint as a JSON file to this new folder instead")
      .value("FOLDER");
  app.footer(
      "The file contains everything: checkpoints, events, audit trail, blobs and\n"
      "messages. Exporting the same run twice gives the same bytes. An encrypted run\n"
      "stays encrypted: its key is wrapped with the key in the file that\n"
      "PAWL_EXPORT_KEY_FILE names, and the import requires that file. --files writes\n"
      "states unencrypted.\n"
      "\n"
      "Examples:\n"
      "  pawl export nightly -o nightly.pawl\n"
      "  pawl export nightly | ssh other 'cat > n.pawl && pawl import n.pawl'\n"
      "  pawl export nightly --files states/");
  return {&app, [arguments](const Invocation& invocation) { return export_run(invocation, *arguments); }};
}

}  // namespace pawl::cli
