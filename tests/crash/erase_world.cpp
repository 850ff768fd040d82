#include "tests/crash/erase_world.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "domain/erasure.hpp"
#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

constexpr std::string_view kTarget = "target";
constexpr std::size_t kMarkerBytes = 48;
constexpr std::size_t kPieceBytes = 8;
constexpr std::size_t kWindowBytes = 16;

RunId id_of(std::string_view name) { return *RunId::parse(name); }

/// Returns whether the text contains 16 consecutive bytes of the marker. Such a window contains one of the marker's
/// eight-byte pieces completely.
bool has_window(std::string_view text, std::string_view marker) {
  for (std::size_t piece = 0; piece < marker.size(); piece += kPieceBytes) {
    for (std::size_t at = text.find(marker.substr(piece, kPieceBytes)); at != std::string_view::npos;
         at = text.find(marker.substr(piece, kPieceBytes), at + 1)) {
      std::size_t before = 0;
      while (before < piece && before < at && text[at - before - 1] == marker[piece - before - 1]) ++before;
      std::size_t behind = kPieceBytes;
      while (piece + behind < marker.size() && at + behind < text.size() && text[at + behind] == marker[piece + behind])
        ++behind;
      if (before + behind >= kWindowBytes) return true;
    }
  }
  return false;
}

}  // namespace

EraseWorld::EraseWorld(std::uint64_t seed, const Mutation& mutation, Remains remains)
    : random_(seed),
      mutation_(mutation),
      remains_(remains),
      options_(small_options()),
      disk_(std::make_unique<SimDisk>(seed * 31 + 7)) {
  options_.segment_bytes = 8U << 10;
  options_.inline_bytes_max = 1U << 10;
  options_.differences_floor_bytes = 1U << 10;
  options_.differences_max = 1 + random_.below(8);
  options_.sync_all_from_files = random_.coin() ? 4 : 64;
  options_.packing.compression = Compression::none;
  if (seed % 2 == 0) {
    const SecretKey key = make_key(random_);
    options_.new_key = NewStoreKey{key, {}};
    options_.find_key = [key](const Uuid&, const StoreKeyInfo&) -> Result<SecretKey> { return key; };
  }
}

EraseWorld::~EraseWorld() = default;

EraseRequest EraseWorld::because() const {
  return {.reason = "request 17", .by = "tester@sim", .cascade = Cascade::no, .remains = remains_};
}

void EraseWorld::broken(std::string what) {
  if (!violation_) violation_ = std::move(what);
}

EraseWorld::Process EraseWorld::start() {
  Process process;
  process.files = std::make_unique<SimFileSystem>(*disk_);
  if (mutation_.ignored) process.files->ignore_sync(*mutation_.ignored);
  if (mutation_.postponed) process.files->postpone_sync(*mutation_.postponed, mutation_.postponed_ops);
  const Environment environment{&clock_, &random_, sim_owner(disk_->boot_id(), ++pids_)};
  auto store = FilesystemStore::open(*process.files, environment, options_);
  if (store) {
    process.store = std::move(*store);
  } else {
    broken(fmt::format("the store can't be opened: {}", describe(store.error())));
  }
  return process;
}

std::string EraseWorld::marker() {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  std::string text;
  while (text.size() < kMarkerBytes) text += kLetters[random_.below(kLetters.size())];
  return text;
}

void EraseWorld::save(RunWriter& writer, const std::string& run) {
  const bool target = run == kTarget;
  const auto mark = [&]() -> std::string {
    if (!target) return fmt::format("of {}", run);
    markers_.push_back(marker());
    return markers_.back();
  };
  std::string state = fmt::format("{{\"n\":{},\"text\":\"{}\"}}", random_.next(), mark());
  if (random_.below(4) == 0) state = fmt::format("[\"{}\",\"{}\",\"{}\"]", mark(), std::string(1500, 'x'), mark());
  SaveRequest request;
  request.body = state;
  request.duplicates = Duplicates::write;
  request.name = mark();
  request.caller_id = mark();
  request.metadata = fmt::format("{{\"about\":\"{}\"}}", mark());
  if (random_.coin()) request.events.push_back({"note", fmt::format("\"{}\"", mark())});
  if (!target) request.caller_id += std::to_string(random_.next());
  if (const auto saved = writer.save(request); !saved)
    return broken(fmt::format("a save fails: {}", describe(saved.error())));
  saved_[run].push_back(state);
}

/// A process that saves to all runs in turn and then exits or is killed.
void EraseWorld::write_session() {
  Process process = start();
  if (!process.store) return;
  {
    std::map<std::string, std::unique_ptr<RunWriter>> writers;
    for (const std::string run : {"target", "beside", "target-2"}) {
      auto writer = process.store->open_run(id_of(run), {});
      if (!writer) return broken(fmt::format("a run can't be opened: {}", describe(writer.error())));
      writers[run] = std::move(*writer);
    }
    const std::uint64_t saves = 4 + random_.below(18);
    for (std::uint64_t i = 0; i < saves && !violation_; ++i) {
      auto writer = writers.begin();
      std::advance(writer, static_cast<std::ptrdiff_t>(random_.below(writers.size())));
      save(*writer->second, writer->first);
    }
    save(*writers.at(std::string(kTarget)), std::string(kTarget));
    save(*writers.at("beside"), "beside");
    markers_.push_back(marker());
    static_cast<void>(process.store->post(id_of(kTarget), fmt::format("\"{}\"", markers_.back())));
    static_cast<void>(process.store->post(id_of("beside"), "\"kept\""));
    if (random_.coin()) static_cast<void>(process.store->publish_lazily());
    if (random_.below(3) == 0) static_cast<void>(process.store->settle_all());
    if (random_.below(3) == 0)
      static_cast<void>(
          process.store->prune(id_of(kTarget), {.keep = 2, .keep_days = {}, .keep_per_stage = {}}, PruneMode::remove));
    if (random_.below(3) == 0) process.files->kill();
  }
}

/// Creates what crashes leave: a torn batch that was set aside, a line about it, and a temporary file.
void EraseWorld::plant_remains() {
  SimFileSystem files(*disk_);
  static_cast<void>(files.make_folder("recovery"));
  const auto put = [&](const std::string& path, const std::string& text) {
    auto file = files.open(path, OpenMode::create_empty);
    if (!file || !(*file)->write_at(0, text) || !(*file)->sync(SyncPoint::side_file)) broken("a file can't be made");
  };
  for (const std::string path :
       {"recovery/torn-1-0-4096-0.bin", "recovery/failures.jsonl", "runs/target/run.json.tmp"}) {
    markers_.push_back(marker());
    put(path, fmt::format("about 'target': {}\n", markers_.back()));
  }
  for (const std::string_view folder : {"recovery", "runs/target", ""})
    static_cast<void>(files.sync_folder(folder, SyncPoint::side_name));
}

void EraseWorld::fill() {
  const std::uint64_t sessions = 1 + random_.below(3);
  for (std::uint64_t i = 0; i < sessions && !violation_; ++i) write_session();
  if (random_.coin()) plant_remains();
  if (random_.below(3) == 0) disk_->power_loss();
  Process reader = start();
  if (!reader.store) return;
  for (const auto& [run, states] : saved_) pictures_[run] = picture(*reader.store, run);
  if (auto trail = reader.store->audit(id_of(kTarget), 0, SIZE_MAX)) trail_ = std::move(*trail);
}

std::string EraseWorld::picture(Store& store, const std::string& run) {
  const auto listed = store.checkpoints(id_of(run), {}, SIZE_MAX);
  if (!listed) return describe(listed.error());
  std::string text;
  for (const CheckpointInfo& info : *listed) {
    const auto restored =
        store.restore(id_of(run), {.by = Which::By::sequence, .sequence = info.sequence, .label = {}, .uuid = {}});
    text += fmt::format("{} {} {} {}\n", info.sequence.value, info.name, info.caller_id,
                        restored ? restored->state : describe(restored.error()));
  }
  const auto inbox = store.inbox(id_of(run));
  text += fmt::format("{} messages\n", inbox ? inbox->size() : SIZE_MAX);
  return text;
}

std::uint64_t EraseWorld::ops_of_erasure() {
  auto original = disk_->copy();
  std::swap(disk_, original);
  std::uint64_t ops = 0;
  {
    Process process = start();
    if (process.store) static_cast<void>(process.store->erase(id_of(kTarget), because()));
    ops = process.files->ops();
  }
  std::swap(disk_, original);
  return ops;
}

void EraseWorld::erase(Cut cut, std::uint64_t op, Loss loss) {
  {
    Process process = start();
    if (!process.store) return;
    if (cut == Cut::kill) process.files->kill_at(op);
    if (cut == Cut::power) process.files->power_cut_at(op);
    const auto erased = process.store->erase(id_of(kTarget), because());
    if (!erased && !process.files->died()) broken(fmt::format("the run can't be erased: {}", describe(erased.error())));
    if (erased && erased->outcome == Erasure::Outcome::pending)
      broken("the erasure is pending, and nobody holds a journal");
  }
  if (disk_->power_is_off()) disk_->power_loss(loss);
}

bool EraseWorld::erase_with_fault(const Fault& fault) {
  Process process = start();
  if (!process.store) return false;
  process.files->inject(fault);
  static_cast<void>(process.store->erase(id_of(kTarget), because()));
  const bool reached = process.files->faults_fired() > 0;
  process.store.reset();
  return reached;
}

void EraseWorld::finish(FinishBy by) {
  Process process = start();
  if (!process.store) return;
  const auto there = process.store->run(id_of(kTarget));
  const bool begun = !there && is_gone(there.error().code);
  if (by == FinishBy::fsck) {
    const auto report = process.store->check({}, Repair::yes);
    if (!report) broken(fmt::format("the store can't be repaired: {}", describe(report.error())));
  }
  if (by == FinishBy::writer) {
    const auto writer = process.store->open_run(id_of("another"), {});
    if (!writer) broken(fmt::format("a run can't be opened: {}", describe(writer.error())));
  }
  // If the erasure was interrupted before it started, the others had nothing to finish.
  const auto erased = process.store->erase(id_of(kTarget), because());
  if (!erased) return broken(fmt::format("the erasure can't be finished: {}", describe(erased.error())));
  if (erased->outcome == Erasure::Outcome::pending) broken("the erasure is pending, and nobody holds a journal");
  if (begun && by != FinishBy::erase && erased->outcome != Erasure::Outcome::already)
    broken("nobody has finished the erasure");
}

void EraseWorld::verify(std::string_view when) {
  if (violation_) return;
  Process reader = start();
  if (!reader.store) return;
  for (const auto& [run, before] : pictures_) {
    const std::string now = picture(*reader.store, run);
    const auto there = reader.store->run(id_of(run));
    const bool erased = run == kTarget && !there && is_gone(there.error().code);
    if (!erased && now != before)
      return broken(fmt::format("{}: run {} has changed:\n{}--- before\n{}", when, run, now, before));
  }
}

void EraseWorld::check_store(Store& store, std::string_view when) {
  const auto report = store.check({}, Repair::no);
  if (!report) return broken(fmt::format("{}: the check fails: {}", when, describe(report.error())));
  for (const Finding& finding : report->findings) {
    // Crashes may leave repairable findings in other runs and in journals; normal use repairs them.
    const bool of_target = finding.run == kTarget && !finding.file.ends_with(".tmp");
    if (!of_target && finding.severity != Finding::Severity::damage) continue;
    return broken(fmt::format("{}: the check finds: {} in {}", when, finding.what, finding.file));
  }
}

void EraseWorld::check_tombstone(Store& store, std::string_view when) {
  const auto removed = store.removed(SIZE_MAX);
  const auto runs = store.runs(SIZE_MAX);
  if (!removed || !runs) return broken(fmt::format("{}: the runs can't be listed", when));
  if (std::ranges::any_of(*runs, [](const RunInfo& run) { return run.id.text() == kTarget; }))
    return broken(fmt::format("{}: the removed run is listed", when));
  if (removed->size() != 1 || removed->front().run.text() != kTarget)
    return broken(fmt::format("{}: the tombstone is missing", when));
  const Erasure& stone = removed->front();
  if (stone.entries != trail_.size() || stone.head != trail_.back().hash || stone.reason != "request 17")
    broken(fmt::format("{}: the tombstone says something else", when));
}

void EraseWorld::verify_finished(std::string_view when) {
  verify(when);
  if (violation_) return;
  Process reader = start();
  if (!reader.store) return;
  const auto again = reader.store->run(id_of(kTarget));
  const Code expected = remains_ == Remains::trail ? Code::run_erased : Code::run_removed;
  if (again || again.error().code != expected) return broken(fmt::format("{}: the run is not erased", when));
  if (remains_ == Remains::tombstone) check_tombstone(*reader.store, when);
  check_store(*reader.store, when);
  if (const std::string found = find_remains(); !found.empty()) broken(fmt::format("{}: {}", when, found));
}

void EraseWorld::find_below(SimFileSystem& files, const std::string& folder, std::string& found) {
  const auto entries = files.list(folder);
  if (!entries) return;
  for (const FolderEntry& entry : *entries) {
    const std::string path = join_path(folder, entry.name);
    if (entry.is_folder) {
      find_below(files, path, found);
      continue;
    }
    const auto text = files.read_file(path);
    const bool holds =
        text && std::ranges::any_of(markers_, [&](const std::string& one) { return has_window(*text, one); });
    if (holds) found += fmt::format("{} holds something of the run; ", path);
  }
}

std::string EraseWorld::find_remains() {
  SimFileSystem files(*disk_);
  std::string found;
  find_below(files, "", found);
  return found;
}

std::optional<std::string> EraseWorld::run() {
  fill();
  if (violation_) return violation_;
  const std::uint64_t ops = ops_of_erasure();
  for (int turn = 0; turn < 2 && !violation_; ++turn) {
    // Names and marks change during the first and the last ops.
    const std::uint64_t near = 1 + random_.below(14);
    const std::uint64_t dice = random_.below(4);
    const std::uint64_t op = dice == 0 ? near : dice == 1 ? ops - std::min(ops - 1, near) : 1 + random_.below(ops);
    const Cut cut = random_.below(3) == 0 ? Cut::kill : Cut::power;
    erase(cut, op, random_.below(4) == 0 ? Loss::drop_all : Loss::random);
    if (random_.below(4) == 0) disk_->power_loss();
    verify("after a cut");
  }
  finish(static_cast<FinishBy>(random_.below(3)));
  if (!violation_) verify_finished("after it was finished");
  disk_->power_loss(random_.coin() ? Loss::drop_all : Loss::random);
  if (!violation_) verify_finished("after it was finished, and power loss");
  return violation_;
}

}  // namespace pawl::testing
