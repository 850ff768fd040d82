#include <algorithm>
#include <cerrno>

#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/hints.hpp"
#include "cli/workflow_session.hpp"
#include "cli/wrap_text.hpp"
#include "ports/machine.hpp"

namespace pawl::cli {
namespace {

constexpr std::size_t kSyncs = 9;
constexpr std::int64_t kSlowSync_us = 20'000;
constexpr std::uint64_t kFreeBytesLow = 1ULL << 30;
constexpr std::uint64_t kFreeBytesNone = 32ULL << 20;  // space for one journal and a little more
constexpr std::uint64_t kFreeFilesLow = 10'000;
constexpr std::size_t kRunsPruned = 100;  // of these, the remaining checkpoints are read
constexpr std::size_t kRunsCounted = 1000;
constexpr std::int64_t kLeftOverAge_s = 3600;
constexpr std::size_t kLeftOverMax = 100;
constexpr std::int64_t kClockSlack_us = 60'000'000;
constexpr std::uint64_t kStoreFileBytesMax = 1ULL << 20;

enum class Verdict : std::uint8_t { fine, warning, broken };

std::string_view verdict_word(Verdict verdict) {
  constexpr std::string_view kWords[] = {"ok", "warning", "broken"};
  return kWords[static_cast<std::size_t>(verdict)];
}

struct HealthFinding {
  std::string check;
  Verdict verdict = Verdict::fine;
  std::string what;
  std::string advice = {};
  Code code = {};  // of the problem, if broken
};

/// One run of all checks, and their results.
class Visit {
 public:
  explicit Visit(const Invocation& invocation)
      : invocation_(invocation), context_(invocation.context()), machine_(*invocation.context().machine) {
    std::string folder = store_config_path(invocation.store_uri());  // empty if the store has no folder
    if (folder.ends_with("/config.yaml")) folder.resize(folder.size() - std::string_view("/config.yaml").size());
    folder_ = folder.empty() ? folder : absolute_path(context_, folder);
  }

  std::vector<HealthFinding> examine() {
    fine("version", "pawl " + context_.version);
    settings();
    store();
    if (!folder_.empty()) {
      disk();
      permissions();
    }
    clock();
    if (store_) {
      locks();
      left_over();
    }
    programs();
    return std::move(findings_);
  }

 private:
  void fine(std::string check, std::string what) {
    findings_.push_back({std::move(check), Verdict::fine, std::move(what)});
  }
  void warn(std::string check, std::string what, std::string advice) {
    findings_.push_back({std::move(check), Verdict::warning, std::move(what), std::move(advice)});
  }
  void broken(std::string check, Code code, std::string what, std::string advice) {
    findings_.push_back({std::move(check), Verdict::broken, std::move(what), std::move(advice), code});
  }
  void broken(std::string check, const Error& error) {
    std::string what = error.message;
    if (!error.where.empty()) what += fmt::format(" ({})", error.where);
    broken(std::move(check), error.code, std::move(what), hint_text(error));
  }

  void settings() {
    const Result<const Config*> config = invocation_.config();
    if (!config) return broken("settings", config.error());
    std::size_t changed = 0;
    for (const ConfigOrigin& origin : (*config)->origins)
      changed += origin.kind == ConfigOrigin::Kind::built_in ? 0 : 1;
    fine("settings", fmt::format("valid; {} of {} differ from the defaults (to list them: pawl config)", changed,
                                 config_keys().size()));
    if (!(*config)->settings.checkpoint.enabled) {
      warn("checkpoints", fmt::format("turned off by {}", (*config)->origin("checkpoint", "enabled")),
           "set checkpoint.enabled to true to be able to resume");
    }
    const RetentionSettings& retention = (*config)->settings.checkpoint.retention;
    fine("retention",
         fmt::format("{} (checkpoint.keep: {})", retention_text(retention), (*config)->origin("checkpoint", "keep")));
    key_file((*config)->settings.encryption.key_file);
    settings_ = (*config)->settings;
  }

  void key_file(const std::string& path) {
    if (path.empty()) return;
    const Result<FileFacts> facts = machine_.file(absolute_path(context_, path));
    if (!facts) return broken("key file", facts.error());
    if (facts->is_folder)
      return broken("key file", Code::input_unreadable, fmt::format("{} is a folder", path), "pass the file itself");
    if ((facts->mode & 077U) != 0)
      return broken("key file", Code::permission_denied,
                    fmt::format("{} can be read by others (mode {:03o})", path, facts->mode),
                    fmt::format("chmod 600 {}", path));
    fine("key file", fmt::format("{}, readable only by you", path));
  }

  void store() {
    // Invalid settings are a separate finding; the store is then examined with the defaults.
    Result<std::unique_ptr<Store>> opened = context_.open_store(invocation_.store_uri(), StoreAccess::read, settings_);
    if (!opened && opened.error().code == Code::store_not_found) {
      const StorePlace place = invocation_.store_place();
      return warn("store", fmt::format("no store at {} ({})", place.uri, store_origin_text(place.origin)),
                  "run: pawl init; the first `pawl run` or `pawl save` also creates one");
    }
    if (!opened) return broken("store", opened.error());
    store_ = std::move(*opened);
    const Result<std::vector<RunInfo>> runs = store_->runs(kRunsCounted);
    if (!runs) return broken("store", runs.error());
    runs_ = *runs;
    key();
    const auto damaged = std::ranges::count(runs_, Status::damaged, &RunInfo::status);
    if (damaged > 0)
      warn("runs", fmt::format("the newest checkpoint of {} of them can't be read", damaged), "run: pawl fsck");
    pruning();
    const StorePlace place = invocation_.store_place();
    const auto erased = static_cast<std::size_t>(std::ranges::count(runs_, Status::erased, &RunInfo::status));
    fine("store",
         fmt::format("{} ({}){}, {}{} run{}{}", place.uri, store_origin_text(place.origin), format_text(), runs_.size(),
                     runs_.size() == kRunsCounted ? " or more" : "", runs_.size() == 1 ? "" : "s",
                     erased == 0 ? std::string() : fmt::format(" ({} erased)", erased)));
  }

  /// Automatic pruning reports no errors: a run that can't be pruned grows.
  void pruning() {
    const RetentionSettings& limits = settings_.checkpoint.retention;
    if (limits.keeps_everything()) return;
    std::size_t looked_at = 0;
    for (const RunInfo& run : runs_) {
      if (run.status == Status::erased || ++looked_at > kRunsPruned) continue;
      const Result<PruneReport> report = store_->prune(run.id, limits, PruneMode::dry_run);
      if (report || category(report.error().code) != Category::integrity) continue;
      warn("pruning",
           fmt::format("run '{}' can't be pruned and grows: {}", run.id.text(), printable(report.error().message)),
           fmt::format("to see what is damaged, run: pawl fsck {}", run.id.text()));
    }
  }

  [[nodiscard]] Json store_record() const {
    if (folder_.empty()) return {};
    const Result<std::string> text = context_.read_regular_file(folder_ + "/store.json", kStoreFileBytesMax);
    return text ? Json::parse(*text, nullptr, false) : Json();
  }

  [[nodiscard]] std::string format_text() const {
    const Json record = store_record();
    if (!record.is_object() || !record.contains("pawl")) return {};
    return ", format " + compact(record["pawl"]);
  }

  /// Checks that encrypted data can be read, so that a lost key is noticed early.
  void key() {
    const Json record = store_record();
    if (!record.is_object()) return;
    const bool encrypted = record.contains("key") && !record["key"].is_null();
    if (!encrypted && settings_.checkpoint.encryption) {
      return warn("encryption", "checkpoint.encryption is set, but this store was created without encryption",
                  "to create an encrypted store: pawl --store OTHER init --encrypt");
    }
    const auto readable = std::ranges::find_if(
        runs_, [](const RunInfo& run) { return run.status != Status::erased && run.status != Status::damaged; });
    if (!encrypted || readable == runs_.end()) return;
    if (const auto newest = store_->restore(readable->id, {}); !newest) return broken("key", newest.error());
    fine("key", "opens this store");
  }

  /// The store's folder, or the nearest existing parent.
  [[nodiscard]] std::string existing_folder() const {
    std::string folder = folder_;
    while (folder.size() > 1 && !context_.workflows->files.is_folder(folder)) {
      const std::size_t slash = folder.find_last_of('/');
      folder = slash == 0 || slash == std::string::npos ? "/" : folder.substr(0, slash);
    }
    return folder;
  }

  void disk() {
    const std::string folder = existing_folder();
    const Result<DiskFacts> facts = machine_.disk(folder);
    if (!facts) return broken("disk", facts.error());
    if (facts->is_network) {
      broken("file system", Code::network_filesystem,
             fmt::format("{} is on a network file system ({})", folder, facts->type),
             "use a local disk; set PAWL_ALLOW_NETWORK_FS=1 only if a single machine uses the store");
    } else if (facts->is_unknown) {
      broken("file system", Code::network_filesystem,
             fmt::format("{} is on a file system that is not known to be local ({})", folder, facts->type),
             "use a local disk; set PAWL_ALLOW_NETWORK_FS=1 only if a single machine uses the store");
    } else if (facts->type == "tmpfs" || facts->type == "ramfs") {
      warn("file system", fmt::format("{} is in memory ({}): nothing survives a restart", folder, facts->type),
           "use a disk");
    } else {
      fine("file system", facts->type);
    }
    if (facts->read_only)
      return broken("free space", Code::permission_denied, "the file system is read-only",
                    "mount it for writing, or pass another --store");
    space(*facts);
    syncs(folder);
  }

  void space(const DiskFacts& facts) {
    const std::string text = fmt::format("{} of {} free", size_text(facts.free_bytes), size_text(facts.total_bytes));
    if (facts.free_bytes < kFreeBytesNone) {
      broken("free space", Code::disk_full, text, "free some space; to see what is large: pawl stats");
    } else if (facts.free_bytes < kFreeBytesLow) {
      warn("free space", text, "free some space soon; to see what is large: pawl stats");
    } else {
      fine("free space", text);
    }
    if (facts.total_files == 0) return;
    const std::string files = fmt::format("{} of {} free", facts.free_files, facts.total_files);
    if (facts.free_files < kFreeFilesLow)
      return warn("inodes", files, "remove files you don't need; each run uses about ten");
    fine("inodes", files);
  }

  void syncs(const std::string& folder) {
    Result<std::vector<std::int64_t>> times = machine_.sync_times_us(folder, kSyncs);
    if (!times) return broken("sync", times.error());
    std::ranges::sort(*times);
    const std::int64_t median_us = times->at(times->size() / 2);
    const std::string text =
        fmt::format("{:.2f} ms (median of {}; slowest {:.2f} ms)", static_cast<double>(median_us) / 1000, times->size(),
                    static_cast<double>(times->back()) / 1000);
    if (median_us > kSlowSync_us)
      return warn(
          "sync", text,
          "every save takes this long; use a faster disk, or performance.async_writes if recent saves may be lost");
    fine("sync", text);
  }

  void clock() {
    const Timestamp now = context_.clock.now();
    const std::string text = now.text();
    if (text < "2024" || text >= "2100")
      return warn("clock", fmt::format("clock shows {}", text), "set the machine's clock");
    if (!runs_.empty() && runs_.front().updated.us > now.us + kClockSlack_us) {
      return warn("clock",
                  fmt::format("clock shows {}, but the last checkpoint is from {}", text, runs_.front().updated.text()),
                  "set the clock; until then all new checkpoints get the time of the last one");
    }
    fine("clock", text);
  }

  void permissions() {
    const Result<FileFacts> facts = machine_.file(folder_);
    if (!facts && facts.error().os_error == ENOENT) return;  // already reported
    if (!facts) return broken("permissions", facts.error());
    if ((facts->mode & 022U) != 0)
      return warn("permissions", fmt::format("others can write to the store folder (mode {:03o})", facts->mode),
                  fmt::format("chmod go-w {}", folder_));
    fine("permissions", fmt::format("mode {:03o}{}", facts->mode, facts->mine ? ", yours" : ", owned by another user"));
  }

  void locks() {
    std::vector<std::string> held;
    for (const RunInfo& run : runs_) {
      const Result<std::optional<std::string>> owner = store_->owner(run.id);
      if (!owner) return broken("locks", owner.error());
      if (*owner) held.push_back(fmt::format("{} by {}", run.id.text(), **owner));
    }
    // The kernel releases a lock when its process dies, so a held lock has a live holder.
    if (held.empty()) return fine("locks", "no run has a writer");
    fine("locks",
         fmt::format("{} being written by {}",
                     held.size() == 1 ? "one run is" : fmt::format("{} runs are", held.size()), fmt::join(held, "; ")));
  }

  void left_over() {
    if (folder_.empty()) return;
    const std::vector<std::string> files = machine_.left_over(folder_, kLeftOverAge_s, kLeftOverMax);
    if (files.empty()) return fine("left-overs", "none of interrupted writes");
    warn("left-overs",
         fmt::format("{}{} of interrupted writes, for example {}", files.size(),
                     files.size() == kLeftOverMax ? " or more" : "", files.front()),
         "to remove them: pawl fsck --repair");
  }

  [[nodiscard]] std::string find_program(std::string_view name) const {
    std::string path = context_.environment("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find(':', begin), path.size());
      const std::string folder = path.substr(begin, end - begin);
      const std::string program = fmt::format("{}/{}", folder, name);
      if (!folder.empty() && context_.workflows->files.is_executable(program)) return program;
      begin = end + 1;
    }
    return {};
  }

  void programs() {
    const std::string sh = find_program("sh");
    const std::string git = find_program("git");
    if (sh.empty()) {
      broken("sh", Code::process_failed, "not in PATH, but steps need it", "install a shell, or fix PATH");
    } else {
      fine("sh", sh);
    }
    if (git.empty())
      return warn("git", "not in PATH: worktrees and working directory checks are unavailable", "install git");
    fine("git", git);
  }

  const Invocation& invocation_;
  CliContext& context_;
  Machine& machine_;
  std::string folder_;  // absolute; empty if the store has no folder
  Settings settings_;
  std::unique_ptr<Store> store_;
  std::vector<RunInfo> runs_;  // the newest runs
  std::vector<HealthFinding> findings_;
};

Colour colour_of(Verdict verdict) {
  return verdict == Verdict::fine ? Colour::green : verdict == Verdict::warning ? Colour::yellow : Colour::red;
}

std::string text_of(const std::vector<HealthFinding>& findings, const Style& style, std::optional<std::size_t> width) {
  constexpr std::size_t kIndent = 9;
  std::string out;
  for (const HealthFinding& finding : findings) {
    const std::string_view verdict = verdict_word(finding.verdict);
    std::string text = fmt::format("{}: {}", finding.check, printable(finding.what));
    if (!finding.advice.empty()) text += "\n" + printable(finding.advice);
    out += style(colour_of(finding.verdict), verdict) + std::string(kIndent - verdict.size(), ' ');
    out += wrap_beside(kIndent, text, width) + "\n";
  }
  return out;
}

Json json_of(const std::vector<HealthFinding>& findings) {
  Json checks = Json::array();
  for (const HealthFinding& finding : findings) {
    Json row = {{"check", finding.check}, {"verdict", verdict_word(finding.verdict)}, {"what", finding.what}};
    if (!finding.advice.empty()) row["advice"] = finding.advice;
    if (finding.verdict == Verdict::broken) row["code"] = code_text(finding.code);
    checks.push_back(std::move(row));
  }
  return {{"checks", checks}};
}

Result<void> doctor(const Invocation& invocation) {
  const std::vector<HealthFinding> findings = Visit(invocation).examine();
  invocation.print(invocation.json() ? compact(json_of(findings)) + "\n"
                                     : text_of(findings, invocation.style(), invocation.table_width()));
  const auto count = [&](Verdict verdict) { return std::ranges::count(findings, verdict, &HealthFinding::verdict); };
  const auto first = std::ranges::find(findings, Verdict::broken, &HealthFinding::verdict);
  if (first != findings.end()) {
    return fail(Error{first->code,
                      fmt::format("{} of {} checks failed; first: {}: {}", count(Verdict::broken), findings.size(),
                                  first->check, first->what),
                      {},
                      first->advice,
                      0});
  }
  if (!invocation.json()) {
    const auto warnings = count(Verdict::warning);
    invocation.print(warnings == 0 ? "no problems found\n"
                                   : fmt::format("no errors; {} warning{}\n", warnings, warnings == 1 ? "" : "s"));
  }
  return {};
}

}  // namespace

Command add_doctor(Options& root) {
  Options& app = root.command("doctor", "Check the machine, the settings and the store");
  app.group(kCareGroup);
  app.footer(
      "Examples:\n"
      "  pawl doctor          without a store it checks where one would be created\n"
      "  pawl doctor --json\n"
      "\n"
      "Writes and removes one small file to measure sync times. Looks for writers of\n"
      "the newest 1,000 runs and walks through all run folders; `pawl fsck` checks\n"
      "their contents. Exit status: 0 no errors; otherwise that of the first error:\n"
      "2 settings, 4 damage or a network file system, 5 disk or permissions.");
  return {&app, [](const Invocation& invocation) { return doctor(invocation); }};
}

}  // namespace pawl::cli
