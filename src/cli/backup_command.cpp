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

std::string json_of_notes(const std::vector<BackupNote>& notes) {
  std::vector<std::string> rows;
  for (const BackupNote& note : notes)
    rows.push_back(JsonObject().text("file", note.path).text("why", note.why).done());
  return json_array(rows);
}

void show_notes(const Invocation& invocation, std::string_view verb, const std::vector<BackupNote>& notes) {
  for (std::size_t i = 0; i < std::min(kOmittedShown, notes.size()); ++i)
    invocation.note(fmt::format("{} {}: {}", verb, notes[i].path, notes[i].why));
  if (notes.size() > kOmittedShown)
    invocation.note(fmt::format("{} {} more", verb, counted(notes.size() - kOmittedShown, "file")));
}

std::string erased_text(std::uint64_t count) { return count == 0 ? std::string() : fmt::format(" ({} erased)", count); }

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
    for (const BackupNote& note : written.omitted) omitted.push_back(compact(Json(note.path)));
    invocation.print(JsonObject()
                         .text("file", arguments.file)
                         .text("id", written.store.text())
                         .text("at", written.at.text())
                         .number("runs", written.runs + written.erased)
                         .number("erased", written.erased)
                         .number("files", written.files)
                         .number("content_bytes", written.content_bytes)
                         .number("bytes", written.bytes)
                         .raw("omitted", json_array(omitted))
                         .raw("damage", json_of_notes(written.damage))
                         .done() +
                     "\n");
  } else {
    show_notes(invocation, "left out", written.omitted);
    show_notes(invocation, "damaged:", written.damage);
    for (const std::string& run : written.unpruned)
      invocation.note(
          fmt::format("run '{}' is open and its key is missing, so the backup contains data of removed "
                      "checkpoints of it",
                      run));
    invocation.print(fmt::format("{}: {}{}, {} (store: {})\n", printable(arguments.file),
                                 counted(written.runs + written.erased, "run"), erased_text(written.erased),
                                 size_text(written.bytes), size_text(written.content_bytes)));
  }
  if (written.damage.empty()) return {};
  const BackupNote& first = written.damage.front();
  return fail(Error{Code::store_damaged,
                    fmt::format("the backup is written, but the store is damaged: {}", first.why),
                    first.path,
                    {},
                    0,
                    Advice::check_store});
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
                         .number("runs", restored.runs + restored.erased)
                         .number("erased", restored.erased)
                         .number("checkpoints", restored.checkpoints)
                         .number("files", restored.files)
                         .number("content_bytes", restored.content_bytes)
                         .number("damaged", restored.damage.size())
                         .done() +
                     "\n");
  } else {
    invocation.print(fmt::format("restored {}{} with {} to {}; backup of {}\n",
                                 counted(restored.runs + restored.erased, "run"), erased_text(restored.erased),
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

Result<void> verify(const Invocation& invocation, const BackupArguments& arguments) {
  Result<CheckedBackup> result;
  {
    BackupLine line(invocation, "checking");
    result = invocation.context().backups.verify(arguments.file, line.show());
  }
  PAWL_TRY_ASSIGN(const CheckedBackup checked, std::move(result));
  if (invocation.json()) {
    invocation.print(JsonObject()
                         .text("file", arguments.file)
                         .text("id", checked.store.text())
                         .text("at", checked.at.text())
                         .number("runs", checked.runs + checked.erased)
                         .number("erased", checked.erased)
                         .number("files", checked.files)
                         .number("content_bytes", checked.content_bytes)
                         .done() +
                     "\n");
    return {};
  }
  invocation.print(fmt::format("{}: ok, {}{}, {} ({}); backup of {}\n", printable(arguments.file),
                               counted(checked.runs + checked.erased, "run"), erased_text(checked.erased),
                               counted(checked.files, "file"), size_text(checked.content_bytes),
                               invocation.long_time_text(checked.at)));
  return {};
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
  Options& verified = app.command("verify", "Compare every file in a backup with its checksum; write nothing");
  verified.text("FILE", arguments->file, "File that `pawl backup create` wrote").value("FILE").required();
  app.footer(
      "A backup contains every run as it was at the start or later. It is a tar archive\n"
      "compressed with zstd; keys are never part of it. If something in the store is\n"
      "damaged, the rest is copied, the damage is named, and the exit status is 4.\n"
      "\n"
      "Examples:\n"
      "  pawl backup create pawl-monday.tar.zst\n"
      "  pawl backup verify pawl-monday.tar.zst\n"
      "  pawl backup restore pawl-monday.tar.zst --to .pawl\n"
      "  tar --zstd -tf pawl-monday.tar.zst      list its files without pawl");
  return {&app, [arguments, &created, &verified](const Invocation& invocation) {
            if (created.chosen()) return create(invocation, *arguments);
            return verified.chosen() ? verify(invocation, *arguments) : restore(invocation, *arguments);
          }};
}

}  // namespace pawl::cli
