#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "text/size_words.hpp"

namespace pawl::cli {
namespace {

constexpr std::int64_t kBackupProgressEveryUs = 200'000;
constexpr std::string_view kClearBackupLine = "\r\x1b[K";
constexpr std::size_t kOmittedShown = 5;

struct BackupArguments {
  std::string file;
  std::string folder;
  bool force = false;
  std::optional<std::uint64_t> bytes_max;
};

/// A line on standard error that is replaced while the work is going on; nothing unless it is a terminal.
class BackupLine {
 public:
  BackupLine(const Invocation& invocation, std::string verb)
      : context_(invocation.context()),
        verb_(std::move(verb)),
        is_shown_(context_.err_is_terminal && !invocation.json()),
        last_us_(context_.clock.monotonic_us()) {}
  BackupLine(const BackupLine&) = delete;
  BackupLine& operator=(const BackupLine&) = delete;
  ~BackupLine() {
    if (written_) write(kClearBackupLine);
  }

  ShowBackupProgress show() {
    if (!is_shown_) return {};
    return [this](const BackupProgress& progress) {
      if (context_.clock.monotonic_us() - last_us_ < kBackupProgressEveryUs) return;
      last_us_ = context_.clock.monotonic_us();
      const std::string runs =
          progress.runs_all == 0 ? std::string() : fmt::format("{} of {} runs, ", progress.runs, progress.runs_all);
      write(fmt::format("{}{}: {}{}", kClearBackupLine, verb_, runs, size_text(progress.bytes)));
      written_ = true;
    };
  }

 private:
  void write(std::string_view text) {
    context_.err.write(text);
    static_cast<void>(context_.err.flush());
  }

  CliContext& context_;
  const std::string verb_;
  const bool is_shown_;
  bool written_ = false;
  std::int64_t last_us_;
};

Result<void> create(const Invocation& invocation, const BackupArguments& arguments) {
  Result<WrittenBackup> result;
  {
    BackupLine line(invocation, "copying");
    result = invocation.context().backups.create(invocation.store_uri(), arguments.file,
                                                 arguments.force ? ExistingBackup::replace : ExistingBackup::refuse,
                                                 line.show());
  }
  PAWL_TRY_ASSIGN(const WrittenBackup written, std::move(result));
  if (invocation.json()) {
    std::vector<std::string> omitted;
    for (const std::string& path : written.omitted) omitted.push_back(compact(Json(path)));
    invocation.print(JsonObject()
                         .text("file", arguments.file)
                         .text("id", written.store.text())
                         .text("at", written.at.text())
                         .number("runs", written.runs)
                         .number("files", written.files)
                         .number("content_bytes", written.content_bytes)
                         .number("bytes", written.bytes)
                         .raw("omitted", json_array(omitted))
                         .done() +
                     "\n");
    return {};
  }
  for (std::size_t i = 0; i < std::min(kOmittedShown, written.omitted.size()); ++i)
    invocation.note(fmt::format("left out {}: not a regular file of a store", printable(written.omitted[i])));
  if (written.omitted.size() > kOmittedShown)
    invocation.note(fmt::format("left out {} more", counted(written.omitted.size() - kOmittedShown, "file")));
  invocation.print(fmt::format("{}: {}, {} (store: {})\n", printable(arguments.file), counted(written.runs, "run"),
                               size_text(written.bytes), size_text(written.content_bytes)));
  return {};
}

Result<void> restore(const Invocation& invocation, const BackupArguments& arguments) {
  Result<RestoredStore> result;
  {
    BackupLine line(invocation, "restoring");
    result = invocation.context().backups.restore(arguments.file, arguments.folder, arguments.bytes_max, line.show());
  }
  PAWL_TRY_ASSIGN(const RestoredStore restored, std::move(result));
  if (invocation.json()) {
    invocation.print(JsonObject()
                         .text("store", arguments.folder)
                         .text("id", restored.store.text())
                         .text("at", restored.at.text())
                         .number("runs", restored.runs)
                         .number("checkpoints", restored.checkpoints)
                         .number("files", restored.files)
                         .number("content_bytes", restored.content_bytes)
                         .number("damaged", restored.damage.size())
                         .done() +
                     "\n");
  } else {
    invocation.print(fmt::format("restored {} with {} to {}; backup of {}\n", counted(restored.runs, "run"),
                                 counted(restored.checkpoints, "checkpoint"), printable(arguments.folder),
                                 invocation.long_time_text(restored.at)));
  }
  if (restored.damage.empty()) return {};
  const Finding& first = restored.damage.front();
  return fail(
      Error{first.code,
            fmt::format("the store is restored, but it was already damaged when the backup was made: {}", first.what),
            first.file, fmt::format("pawl fsck --store {}", arguments.folder), 0});
}

}  // namespace

Command add_backup(Options& root) {
  const auto arguments = std::make_shared<BackupArguments>();
  Options& app = root.command("backup", "Copy the whole store to one file while it is in use, and restore it");
  app.group(kCareGroup);
  Options& created = app.command("create", "Write a backup of the store; writers are not blocked");
  created.when_output_closes(ClosedOutput::ignored);
  created.text("FILE", arguments->file, "File to write, for example store.tar.zst").value("FILE").required();
  created.flag("--force", arguments->force, "Replace FILE if it exists");
  Options& restored = app.command("restore", "Restore a backup to a new folder, after checking it");
  restored.when_output_closes(ClosedOutput::ignored);
  restored.text("FILE", arguments->file, "File that `pawl backup create` wrote").value("FILE").required();
  restored.text("--to", arguments->folder, "Folder for the store; must be missing or empty").value("FOLDER").required();
  restored
      .parsed("--max-size",
              "Maximum size of the restored store, such as 20GB (default: 1000 times FILE, at least 1GiB)",
              [arguments](const std::string& text) {
                arguments->bytes_max = parse_size(text);
                return arguments->bytes_max ? std::string() : fmt::format("not a size: '{}' (for example: 20GB)", text);
              })
      .value("SIZE");
  app.footer(
      "A backup contains every run as it was at the start or later. It is a tar archive\n"
      "compressed with zstd; keys are never part of it.\n"
      "\n"
      "Examples:\n"
      "  pawl backup create pawl-monday.tar.zst\n"
      "  pawl backup restore pawl-monday.tar.zst --to .pawl\n"
      "  tar --zstd -tf pawl-monday.tar.zst      list its files without pawl");
  return {&app, [arguments, &created](const Invocation& invocation) {
            return created.chosen() ? create(invocation, *arguments) : restore(invocation, *arguments);
          }};
}

}  // namespace pawl::cli
