// Any single flipped bit in any file of a small store is detected and its file is named, or it changes no answer.
//
// The store is created in a real folder. Its files are then read into memory, where each bit is flipped in turn and a
// new handle answers all queries. SQLite's file is flipped on disk, and so are the samples that are saved to.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <thread>

#include "tests/crash/bit_flip_store.hpp"

namespace pawl {
namespace {

using namespace testing;

constexpr std::uint64_t kBytesBehindEnd = 128;    // after the end of a journal segment, in which every bit is flipped
constexpr std::uint64_t kStepBitsFarBehind = 97;  // step between the bits flipped after that

/// The runs, each with the number of its checkpoints plus one.
const std::map<std::string, std::uint64_t> kRuns = {
    {"alpha", 9}, {"beta", 4}, {"delta", 2}, {"gamma", 2}, {"kappa", 14}};

enum class Questions { few, all };

/// The answers to all queries: nothing if a query was not made, an empty string for an error.
using Answers = std::vector<std::optional<std::string>>;

std::string text_of(const CheckpointInfo& info) {
  return fmt::format("{} {} {} {} {} {} {} {}|{}|{}|{}|{} {} {} {} {}\n", info.sequence.value, info.parent.value,
                     info.id.text(), info.created.us, static_cast<int>(info.kind), static_cast<int>(info.status),
                     static_cast<int>(info.reason), info.name, info.caller_id, info.stage, info.step, info.metadata,
                     info.state_bytes, info.stored_bytes, info.whole, info.checksum);
}

/// A damaged run is listed as damaged, with nothing else.
std::string text_of(const RunInfo& run) {
  if (run.status == Status::damaged) return {};
  return fmt::format("{} {} {} {} {} {} {} {} {}|{}|{}\n", run.id.text(), run.uuid.text(), run.created.us,
                     run.updated.us, run.latest.value, static_cast<int>(run.status), static_cast<int>(run.kind),
                     static_cast<int>(run.durability), run.workflow, run.workflow_hash, run.session);
}

std::string text_of(const Restored& restored) { return text_of(restored.info) + restored.state; }
std::string text_of(const Event& event) {
  return fmt::format("{} {} {} {} {}\n", event.number, event.sequence.value, event.created.us, event.type, event.data);
}
std::string text_of(const Message& message) {
  return fmt::format("{} {} {}\n", message.id, message.at.us, message.body);
}

template <class T>
std::string text_of(const std::vector<T>& list) {
  std::string text = "list\n";
  for (const T& one : list) text += text_of(one);
  return text;
}

template <class T>
void put(Answers& answers, const Result<T>& result) {
  answers.emplace_back(result ? text_of(*result) : std::string());
}

Which at_sequence(std::uint64_t sequence) {
  return {.by = Which::By::sequence, .sequence = Sequence{sequence}, .label = {}, .uuid = {}};
}

void ask_run(Store& store, const std::string& run, Answers& answers) {
  const RunId id = id_of(run);
  put(answers, store.restore(id, {}));
  put(answers, store.checkpoints(id, {}, 100));
  put(answers, store.events(id, 0, 100));
  put(answers, store.inbox(id));
}

/// Makes all queries, or those about the last state, list, events and messages of one run: `only`, or the next in turn.
Answers ask(Store& store, const std::string& only, Questions questions, std::uint64_t turn) {
  Answers answers;
  const bool all = questions == Questions::all;
  std::uint64_t index = 0;
  for (const auto& [run, sequences] : kRuns) {
    if (!only.empty() && run != only) continue;
    if (all || !only.empty() || index++ == turn % kRuns.size()) {
      ask_run(store, run, answers);
    } else {
      answers.resize(answers.size() + 4);
    }
    for (std::uint64_t sequence = 1; all && sequence <= sequences; ++sequence)
      put(answers, store.restore(id_of(run), at_sequence(sequence)));
    if (!all) answers.resize(answers.size() + sequences);
  }
  if (all) put(answers, store.runs(100));
  if (!all) answers.emplace_back();
  return answers;
}

struct Outcome {
  bool refused = false;  // the store can't be opened, and the error names store.json
  bool same = false;     // every answer is unchanged
  bool wrong = false;    // an answer differs and is not an error
  bool named = false;    // fsck names the file
  std::string note;      // for messages
};

bool names(const CheckReport& report, const std::string& path) {
  for (const Finding& finding : report.findings) {
    if (finding.file == path) return true;
  }
  return false;
}

/// Returns a list of runs, one per line, without this run.
std::string without_run(std::string list, const std::string& run) {
  const auto begin = list.find("\n" + run + " ");
  if (begin != std::string::npos) list.erase(begin, list.find('\n', begin + 1) - begin);
  return list;
}

/// Returns whether every line of the list is also in the other one: it only lacks runs that are listed as damaged.
bool is_part_of(const std::string& list, const std::string& all) {
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    if (all.find(line + "\n") == std::string::npos) return false;
  }
  return true;
}

class Flipper {
 public:
  Flipper(const Image& image, std::string_view boot) : image_(image), files_(image_), boot_(boot) {
    const auto store = must_open(files_, around_.environment(boot_), read_only_options());
    original_[""] = ask(*store, "", Questions::all, 0);
    for (const auto& [run, sequences] : kRuns) original_[run] = ask(*store, run, Questions::all, 0);
    const auto report = store->check({}, Repair::no);
    EXPECT_TRUE(report && report->findings.empty())
        << (report ? report->findings[0].file + report->findings[0].what : "");
  }

  /// Returns the run whose answers a file can change.
  static std::string run_of(const std::string& path) {
    for (const auto& [run, sequences] : kRuns) {
      if (path.starts_with("runs/" + run + "/")) return run;
    }
    return {};
  }

  Outcome flip(const std::string& path, std::uint64_t bit) {
    char& byte = image_.at(path)[bit / 8];
    const char before = byte;
    byte = static_cast<char>(byte ^ (1 << (bit % 8)));
    // Every state is restored if the bit belongs to a state, and for one bit of each byte otherwise.
    const bool of_state = path.find("/checkpoints/") != std::string::npos || path.find("/blobs/") != std::string::npos;
    const bool closely = of_state || bit % 8 == (bit / 8) % 8;
    const Outcome outcome = look(path, closely ? Questions::all : Questions::few, bit);
    byte = before;
    return outcome;
  }

  [[nodiscard]] const Image& image() const { return image_; }
  [[nodiscard]] const Answers& original(const std::string& only) const { return original_.at(only); }
  /// Also accepts the answers of the store before its last save if fsck names the file.
  void accept(const Flipper& earlier) { earlier_ = &earlier; }

 private:
  Outcome look(const std::string& path, Questions questions, std::uint64_t turn) {
    Outcome outcome;
    auto store = FilesystemStore::open(files_, around_.environment(boot_), read_only_options());
    if (!store) {
      outcome.refused = store.error().where == path;
      outcome.note = describe(store.error());
      return outcome;
    }
    const std::string only = run_of(path);
    const Answers now = ask(**store, only, questions, turn);
    CheckScope scope;
    if (!only.empty()) scope.run = id_of(only);
    const auto report = (*store)->check(scope, Repair::no);
    outcome.named = report && names(*report, path);
    if (!report) outcome.note = describe(report.error());
    if (report) {
      for (const Finding& finding : report->findings)
        outcome.note += fmt::format(" [{}: {}]", finding.file, finding.what);
    }
    judge(now, only, outcome);
    return outcome;
  }

  void judge(const Answers& now, const std::string& only, Outcome& outcome) {
    const Answers& right = original_.at(only);
    outcome.same = true;
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (!now[i] || now[i] == right[i]) continue;
      outcome.same = false;
      if (now[i]->empty()) continue;
      if (outcome.named && earlier_ != nullptr && now[i] == earlier_->original(only)[i]) continue;
      // A list of runs built from files lacks a damaged run; fsck names it.
      if (outcome.named && i + 1 == now.size() && *now[i] == without_run(*right[i], only)) continue;
      // Damage in a journal stops some runs.
      if (outcome.named && i + 1 == now.size() && is_part_of(*now[i], *right[i])) continue;
      outcome.wrong = true;
      outcome.note += fmt::format(" answer {} is\n{}\ninstead of\n{}\n", i, *now[i], *right[i]);
    }
  }

  Surroundings around_;
  Image image_;
  ImageFileSystem files_;
  const std::string boot_;
  std::map<std::string, Answers> original_;
  const Flipper* earlier_ = nullptr;
};

struct Tally {
  std::uint64_t bits = 0;
  std::uint64_t detected = 0;
  std::uint64_t failures = 0;

  void print(const std::string& path) const {
    std::printf("[  FLIPS   ] %s: %llu bits, %llu detected, %llu harmless\n", path.c_str(),
                static_cast<unsigned long long>(bits), static_cast<unsigned long long>(detected),
                static_cast<unsigned long long>(bits - detected));
  }
};

std::uint64_t end_of_batches(const std::string& segment) {
  std::uint64_t header_offset = 0;
  bool other_is_damaged = false;
  const auto header = choose_segment_header(segment, header_offset, other_is_damaged);
  return scan_segment(segment, header->generation).end;
}

/// One bit of each byte, another one for the next byte; all of them with PAWL_FLIPS=all (make deep).
bool is_tried(std::uint64_t bit) {
  static const bool all = std::getenv("PAWL_FLIPS") != nullptr;
  return all || bit % 8 == bit / 8 % 8;
}

/// Returns the bits to flip. For a journal segment: all used ones, some after them, and samples of the rest.
std::vector<std::uint64_t> bits_of(const std::string& path, const std::string& bytes) {
  const bool segment = path.ends_with(".log");
  const std::uint64_t all =
      segment ? std::min<std::uint64_t>(bytes.size(), end_of_batches(bytes) + kBytesBehindEnd) : bytes.size();
  std::vector<std::uint64_t> bits;
  for (std::uint64_t bit = 0; bit < bytes.size() * 8; ++bit) {
    // The unused part of a segment's header is never read, either.
    const bool used =
        bit / 8 < all && (!segment || bit / 8 >= kSegmentHeaderBytes || bit / 8 % 2048 < kSegmentHeaderUsed);
    if ((used && is_tried(bit)) || bit % kStepBitsFarBehind == 0) bits.push_back(bit);
  }
  return bits;
}

/// Flips the bits of one file, with one thread per processor.
class FileFlips {
 public:
  FileFlips(std::string_view boot, const Image* also_right) : boot_(boot), also_right_(also_right) {}

  void run(const std::string& path, const std::vector<std::uint64_t>& bits) {
    Tally tally;
    std::vector<std::thread> threads;
    const std::size_t count = std::max(1U, std::thread::hardware_concurrency());
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        Flipper flipper(sample().image, boot_);
        const std::unique_ptr<Flipper> earlier = also_right_ ? std::make_unique<Flipper>(*also_right_, boot_) : nullptr;
        if (earlier) flipper.accept(*earlier);
        for (std::size_t at = i; at < bits.size(); at += count)
          note(path, bits[at], flipper.flip(path, bits[at]), tally);
      });
    }
    for (std::thread& thread : threads) thread.join();
    tally.print(path);
  }

 private:
  void note(const std::string& path, std::uint64_t bit, const Outcome& outcome, Tally& tally) {
    constexpr std::uint64_t kShownMax = 5;
    const std::lock_guard lock(mutex_);
    const bool detected = outcome.named || outcome.refused;
    ++tally.bits;
    if (detected) ++tally.detected;
    if (!outcome.wrong && (detected || outcome.same)) return;
    if (++tally.failures > kShownMax) return;
    ADD_FAILURE() << path << " byte " << bit / 8 << " bit " << bit % 8 << ": "
                  << (outcome.wrong ? "a wrong answer" : "not named") << outcome.note;
  }

  const std::string boot_;
  const Image* const also_right_;
  std::mutex mutex_;
};

bool is_catalogue(const std::string& path) { return path.starts_with("catalogue."); }

TEST(BitFlip, InAnyFileIsNamedOrChangesNothing) {
  FileFlips flips(kBoot, nullptr);
  for (const auto& [path, bytes] : sample().image) {
    if (!is_catalogue(path)) flips.run(path, bits_of(path, bytes));
  }
}

/// After a reboot, a damaged last batch looks like one that was being written: it is reported, and the answers are
/// those before it.
TEST(BitFlip, InTheLastBatchAfterARebootIsNamedOrChangesNothing) {
  FileFlips flips(kNextBoot, &sample().before_last);
  for (const auto& [path, bytes] : sample().image) {
    if (!path.ends_with(".log")) continue;
    const std::uint64_t before = end_of_batches(sample().before_last.at(path));
    if (end_of_batches(bytes) == before) continue;
    std::vector<std::uint64_t> bits = bits_of(path, bytes);
    std::erase_if(bits, [&](std::uint64_t bit) { return bit / 8 < before; });
    flips.run(path, bits);
  }
}

// ---- The catalogue, on disk -----------------------------------------------------------------------

/// A file whose bits are flipped in place.
class FileOnDisk {
 public:
  FileOnDisk(std::string path, std::string bytes) : path_(std::move(path)), bytes_(std::move(bytes)) {
    std::ofstream(path_, std::ios::binary) << bytes_;
    file_.open(path_, std::ios::binary | std::ios::in | std::ios::out);
  }

  /// SQLite may write to the file if its header says so.
  void flip(std::uint64_t bit) { put(bit / 8, static_cast<char>(bytes_[bit / 8] ^ (1 << (bit % 8)))); }
  void flip_back(std::uint64_t bit) {
    constexpr std::uint64_t kHeaderBytes = 100;
    put(bit / 8, bytes_[bit / 8]);
    if (bit / 8 >= kHeaderBytes) return;
    for (const char* beside : {"-journal", "-wal", "-shm"}) std::remove((path_ + beside).c_str());
    file_.seekp(0);
    file_.write(bytes_.data(), static_cast<std::streamsize>(bytes_.size())).flush();
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void put(std::uint64_t at, char byte) {
    file_.seekp(static_cast<std::streamoff>(at));
    file_.put(byte).flush();
  }
  const std::string path_;
  const std::string bytes_;
  std::fstream file_;
};

Answers ask(const Catalogue& catalogue, Questions questions) {
  Answers answers;
  put(answers, catalogue.newest(100));
  if (questions == Questions::few) return answers;
  const std::pair<std::string_view, std::string_view> calls[] = {
      {"alpha", "call-1"}, {"alpha", "call-2"}, {"beta", "call-2"}, {"delta", "call-2"}, {"gamma", "call-2"}};
  for (const auto& [run, caller] : calls) {
    const auto save = catalogue.find_save(run, caller);
    answers.emplace_back(!save    ? ""
                         : !*save ? "none"
                                  : fmt::format("{} {} {}", (*save)->sequence.value, (*save)->id.text(),
                                                (*save)->checksum + (*save)->fingerprint));
  }
  return answers;
}

/// An unusable catalogue is rebuilt when it is needed, and reported by fsck.
void flip_catalogue(std::size_t from, std::size_t step, std::mutex& mutex, Tally& tally) {
  const TemporaryFolder folder;
  FileOnDisk file(folder.path() + "/catalogue.db", sample().image.at("catalogue.db"));
  const auto files = PosixFileSystem::open(folder.path());
  ManualClock clock;
  const Catalogue catalogue(**files, clock);
  ASSERT_TRUE(*catalogue.usable());
  const Answers right = ask(catalogue, Questions::all);
  for (std::uint64_t bit = from; bit < file.bytes().size() * 8; bit += step) {
    if (!is_tried(bit)) continue;
    file.flip(bit);
    const bool usable = catalogue.usable().value_or(false);
    const bool closely = file.bytes()[bit / 8] != 0 || bit % 8 == (bit / 8) % 8;  // most of the file is empty
    const Answers now = usable ? ask(catalogue, closely ? Questions::all : Questions::few) : Answers();
    file.flip_back(bit);
    const std::lock_guard lock(mutex);
    ++tally.bits;
    if (!usable) ++tally.detected;
    // An error makes whoever asks rebuild the catalogue.
    const bool same = std::ranges::equal(now, std::span(right).first(now.size()),
                                         [](const auto& a, const auto& b) { return a == b || a == std::string(); });
    if (usable && !same && ++tally.failures <= 5) {
      ADD_FAILURE() << "catalogue.db byte " << bit / 8 << " bit " << bit % 8 << " gives another answer";
    }
  }
}

TEST(BitFlip, InTheCatalogueIsFoundOrChangesNothing) {
  Tally tally;
  std::mutex mutex;
  std::vector<std::thread> threads;
  const std::size_t count = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&, i] { flip_catalogue(i, count, mutex, tally); });
  for (std::thread& thread : threads) thread.join();
  tally.print("catalogue.db");
}

// ---- Whole stores on disk, for samples -------------------------------------------------------------

void write_image(const Image& image, const std::string& folder) {
  for (const auto& [path, bytes] : image) {
    const std::filesystem::path to = std::filesystem::path(folder) / path;
    std::filesystem::create_directories(to.parent_path());
    std::ofstream(to, std::ios::binary | std::ios::trunc) << bytes;
  }
}

Image flipped(const std::string& path, std::uint64_t bit) {
  Image image = sample().image;
  char& byte = image.at(path)[bit / 8];
  byte = static_cast<char>(byte ^ (1 << (bit % 8)));
  return image;
}

struct StoreOnDisk {
  /// The files get other inode numbers, so that the store is a copy, unless the marks of the journals are removed.
  explicit StoreOnDisk(const Image& image) {
    write_image(image, folder.path());
    files = std::move(*PosixFileSystem::open(folder.path()));
  }
  [[nodiscard]] Result<std::unique_ptr<FilesystemStore>> open() {
    return FilesystemStore::open(*files, around.environment(kNextBoot), flip_options());
  }
  TemporaryFolder folder;
  Surroundings around;
  std::unique_ptr<PosixFileSystem> files;
};

/// Without the marks of its journals, a store is not recognised as a copy. The catalogue of a copy is always rebuilt.
Image without_marks(Image image) {
  for (auto& [path, bytes] : image) {
    if (path.ends_with("/owner")) bytes.resize(std::min<std::size_t>(bytes.size(), kWatermarkOffset));
  }
  return image;
}

TEST(BitFlip, InTheCatalogueIsNamedAndMended) {
  const std::string path = "catalogue.db";
  const std::uint64_t bits = sample().image.at(path).size() * 8;
  std::uint64_t named = 0;
  for (std::uint64_t bit = 3; bit < bits; bit += bits / 40) {
    StoreOnDisk disk(without_marks(flipped(path, bit)));
    const auto store = disk.open();
    ASSERT_TRUE(store);
    const auto report = (*store)->check({}, Repair::no);
    ASSERT_TRUE(report) << describe(report.error());
    EXPECT_TRUE(names(*report, path)) << "bit " << bit;
    ++named;
    const auto runs = (*store)->runs(100);
    ASSERT_TRUE(runs) << describe(runs.error());
    EXPECT_EQ(runs->size(), kRuns.size()) << "bit " << bit;
  }
  EXPECT_GT(named, 0U);
}

/// A save that reports success is durable, whatever bit was flipped before.
TEST(BitFlip, NeverMakesASaveReportSuccessFalsely) {
  constexpr std::uint64_t kSamplesPerFile = 8;
  std::uint64_t saved_count = 0;
  std::uint64_t refused_count = 0;
  for (const auto& [path, bytes] : sample().image) {
    const std::vector<std::uint64_t> bits = bits_of(path, bytes);
    for (std::size_t i = 0; i < bits.size(); i += bits.size() / kSamplesPerFile + 1) {
      StoreOnDisk disk(flipped(path, bits[i]));
      const auto store = disk.open();
      if (!store) continue;
      for (const std::string_view run : {"alpha", "delta", "omega"}) {
        Result<Saved> saved = fail(Code::run_busy, "not opened");
        if (const auto writer = (*store)->open_run(id_of(run), {}))
          saved = (*writer)->save({.body = R"({"after":"the flip"})"});
        ++(saved ? saved_count : refused_count);
        if (!saved) continue;
        const auto beside = disk.open();
        ASSERT_TRUE(beside);
        const auto restored = (*beside)->restore(id_of(run), at_sequence(saved->sequence.value));
        ASSERT_TRUE(restored) << path << " bit " << bits[i] << " run " << run << ": " << describe(restored.error());
        EXPECT_EQ(restored->state, R"({"after":"the flip"})") << path << " bit " << bits[i];
      }
    }
  }
  std::printf("[  FLIPS   ] %llu saves after a flip succeeded and were there, %llu were refused\n",
              static_cast<unsigned long long>(saved_count), static_cast<unsigned long long>(refused_count));
  EXPECT_GT(saved_count, refused_count);
}

}  // namespace
}  // namespace pawl
