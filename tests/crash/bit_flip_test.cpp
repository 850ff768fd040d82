// Any single flipped bit in any file of a small store is detected and named, or changes no answer.
//
// The store is made on a real folder. Its files are then read into memory, where one bit after the other is
// flipped and a new handle is asked everything that can be asked. SQLite's file is flipped on disk.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>

#include "testing/filesystem_under_test.hpp"

namespace pawl {
namespace {

using testing::ManualClock;
using testing::SeededRandom;
using testing::TemporaryFolder;

constexpr std::string_view kBoot = "boot";
constexpr std::string_view kNextBoot = "next boot";
constexpr std::uint64_t kBytesBehindEnd = 128;   // of a journal segment: every bit
constexpr std::uint64_t kStepBitsFarBehind = 97;  // and every so many further on

using Image = std::map<std::string, std::string>;  // path -> bytes

/// A folder's files in memory. Nothing can be written.
class ImageFileSystem final : public FileSystem {
 public:
  explicit ImageFileSystem(const Image& image) : image_(image) {}

  Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) override {
    if (mode != OpenMode::read) return refuse();
    const auto found = image_.find(std::string(path));
    if (found == image_.end()) return fail(Code::input_unreadable, "there is no {}", path);
    return std::make_unique<ImageFile>(found->second);
  }
  Result<bool> exists(std::string_view path) override { return image_.contains(std::string(path)); }
  Result<std::vector<FolderEntry>> list(std::string_view folder) override {
    const std::string prefix = std::string(folder) + "/";
    std::vector<FolderEntry> entries;
    for (auto found = image_.lower_bound(prefix); found != image_.end() && found->first.starts_with(prefix); ++found) {
      const std::string_view rest = std::string_view(found->first).substr(prefix.size());
      const auto slash = rest.find('/');
      const std::string name(rest.substr(0, slash));
      if (entries.empty() || entries.back().name != name) entries.push_back({name, slash != std::string_view::npos});
    }
    return entries;
  }
  Result<bool> make_folder(std::string_view) override { return refuse(); }
  Result<void> rename(std::string_view, std::string_view) override { return refuse(); }
  Result<void> remove(std::string_view) override { return refuse(); }
  Result<void> sync_folder(std::string_view, SyncPoint) override { return refuse(); }
  Result<void> sync_all(SyncPoint) override { return refuse(); }

 private:
  class ImageFile final : public File {
   public:
    explicit ImageFile(const std::string& bytes) : bytes_(bytes) {}
    Result<std::string> read_at(std::uint64_t offset, std::uint64_t size) override {
      return offset > bytes_.size() ? std::string() : bytes_.substr(offset, size);
    }
    Result<std::uint64_t> size() override { return bytes_.size(); }
    Result<void> write_at(std::uint64_t, std::string_view) override { return refuse(); }
    Result<void> sync(SyncPoint) override { return refuse(); }
    Result<void> resize(std::uint64_t) override { return refuse(); }
    Result<bool> try_lock(std::uint64_t) override { return refuse(); }
    Result<void> unlock(std::uint64_t) override { return refuse(); }
    Result<bool> locked_elsewhere(std::uint64_t) override { return false; }

   private:
    const std::string& bytes_;
  };
  static std::unexpected<Error> refuse() { return fail(Code::permission_denied, "this store is only looked at"); }

  const Image& image_;
};

FilesystemOptions flip_options() {
  FilesystemOptions options = testing::small_options();
  options.inline_bytes_max = 300;
  options.differences_max = 4;
  return options;
}

/// Gives the same moments and numbers whatever else was asked before.
struct Surroundings {
  ManualClock clock;
  SeededRandom random{11};
  [[nodiscard]] Environment environment(std::string_view boot) {
    return {&clock, &random, testing::sim_owner(std::string(boot), 4711)};
  }
};

std::unique_ptr<FilesystemStore> must_open(FileSystem& files, const Environment& environment, const std::string& catalogue) {
  auto store = FilesystemStore::open(files, environment, flip_options(), catalogue);
  EXPECT_TRUE(store) << describe(store.error());
  return store ? std::move(*store) : nullptr;
}

RunId id_of(std::string_view run) { return *RunId::parse(run); }

void must_save(FilesystemStore& store, std::string_view run, SaveRequest request, std::string_view body) {
  request.body = body;
  const auto writer = store.open_run(id_of(run), {});
  ASSERT_TRUE(writer) << describe(writer.error());
  const auto saved = (*writer)->save(request);
  ASSERT_TRUE(saved) << describe(saved.error());
}

/// Two runs: settled ones with several bases, a text with line breaks, a blob, events and callers' ids.
void save_settled(FilesystemStore& store) {
  SaveRequest plain;
  SaveRequest named = plain;
  named.name = "first";
  named.events = {{"started", R"({"by":"test"})"}, {"noted", "[1,2]"}};
  must_save(store, "alpha", named, R"({"items":[1,2,3],"note":"what was begun"})");
  must_save(store, "alpha", plain, R"({"items":[1,2,3,4],"note":"what was begun"})");
  must_save(store, "alpha", plain, "{\n \"lines\": 2\n}\n");
  SaveRequest called = plain;
  called.caller_id = "call-1";
  called.metadata = R"({"cost":0.5})";
  must_save(store, "alpha", called, R"({"large":")" + std::string(320, 'x') + "\"}");
  must_save(store, "alpha", plain, R"({"large":")" + std::string(319, 'x') + "y\"}");
  called.caller_id = "call-2";
  called.events = {{"half", "2"}};
  must_save(store, "alpha", called, "{\n\"second\":\"base\"\n}");
  must_save(store, "beta", named, "[1]");
  must_save(store, "beta", called, "[1,2]");
  ASSERT_TRUE(store.settle_all());
}

/// Then some that are in the journal and, unsettled, in the files.
void save_published(FilesystemStore& store) {
  SaveRequest request;
  request.events = {{"third", "3"}};
  must_save(store, "alpha", request, "{\n\"second\":\"base\",\"more\":true\n}");
}

/// And some that are in the journal alone.
void save_in_journal(FilesystemStore& store) {
  SaveRequest request;
  request.events = {{"fourth", "4"}};
  must_save(store, "beta", request, "[1,2,3]");
  request.caller_id = "call-3";
  must_save(store, "gamma", request, R"({"new":"run"})");
}

void save_last(FilesystemStore& store) {
  SaveRequest request;
  request.events = {{"fifth", "5"}};
  request.caller_id = "call-4";
  must_save(store, "alpha", request, "{\n\"second\":\"base\",\"more\":false\n}");
}

Image read_image(const std::string& folder) {
  Image image;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    image[std::filesystem::relative(entry.path(), folder).string()] = bytes.str();
  }
  return image;
}

struct Sample {
  TemporaryFolder folder;
  Image image;         // while its writer is still there
  Image before_last;   // the same without the last save
  std::string catalogue;
};

const Sample& sample() {
  static const std::unique_ptr<Sample> made = [] {
    auto sample = std::make_unique<Sample>();
    sample->catalogue = sample->folder.path() + "/catalogue.db";
    const auto files = PosixFileSystem::open(sample->folder.path());
    Surroundings around;
    save_settled(*must_open(**files, around.environment(kBoot), sample->catalogue));
    around.clock.advance(1'000'000);
    save_published(*must_open(**files, around.environment(kBoot), sample->catalogue));
    around.clock.advance(1'000'000);
    const auto store = must_open(**files, around.environment(kBoot), sample->catalogue);
    save_in_journal(*store);
    sample->before_last = read_image(sample->folder.path());
    around.clock.advance(1'000'000);
    save_last(*store);
    sample->image = read_image(sample->folder.path());
    return sample;
  }();
  return *made;
}

const std::vector<std::string> kRuns = {"alpha", "beta", "gamma"};
constexpr std::uint64_t kSequencesMax = 9;

/// Everything that can be asked of a store, and the answers. Empty: an error.
struct Answers {
  std::vector<std::string> texts;
  std::size_t errors = 0;

  void add(std::string text) { texts.push_back(std::move(text)); }
  void add_error() {
    ++errors;
    texts.emplace_back();
  }
};

std::string text_of(const CheckpointInfo& info) {
  return fmt::format("{} {} {} {} {} {} {} {}|{}|{}|{}|{} {} {} {} {}\n", info.sequence.value, info.parent.value, info.id.text(),
                     info.created.us, static_cast<int>(info.kind), static_cast<int>(info.status), static_cast<int>(info.reason),
                     info.name, info.caller_id, info.stage, info.step, info.metadata, info.state_bytes, info.stored_bytes,
                     info.whole, info.checksum);
}

std::string text_of(const RunInfo& run) {
  return fmt::format("{} {} {} {} {} {} {} {} {}|{}|{}\n", run.id.text(), run.uuid.text(), run.created.us, run.updated.us,
                     run.latest.value, static_cast<int>(run.status), static_cast<int>(run.kind), static_cast<int>(run.durability),
                     run.workflow, run.workflow_hash, run.session);
}

std::string text_of(const Restored& restored) { return text_of(restored.info) + restored.state; }
std::string text_of(const Event& event) {
  return fmt::format("{} {} {} {} {}\n", event.number, event.sequence.value, event.created.us, event.type, event.data);
}

template <class T>
std::string text_of(const std::vector<T>& list) {
  std::string text = "list\n";
  for (const T& one : list) text += text_of(one);
  return text;
}

template <class T>
void put(Answers& answers, const Result<T>& result) {
  if (result) {
    answers.add(text_of(*result));
  } else {
    answers.add_error();
  }
}

Which at_sequence(std::uint64_t sequence) {
  return {.by = Which::By::sequence, .sequence = Sequence{sequence}, .label = {}, .uuid = {}};
}

void ask_run(Store& store, const std::string& run, Answers& answers) {
  const RunId id = id_of(run);
  for (std::uint64_t sequence = 1; sequence <= kSequencesMax; ++sequence) put(answers, store.restore(id, at_sequence(sequence)));
  put(answers, store.restore(id, {}));
  put(answers, store.run(id));
  put(answers, store.checkpoints(id, {}, 100));
  put(answers, store.events(id, 0, 100));
}

/// `only`: this run and the list of runs; empty: all of them.
Answers ask(Store& store, const std::string& only) {
  Answers answers;
  for (const std::string& run : kRuns) {
    if (only.empty() || run == only) ask_run(store, run, answers);
  }
  put(answers, store.runs(100));
  return answers;
}

struct Outcome {
  bool refused = false;    // the store can't be opened: an error that names store.json
  bool same = false;       // every answer is what it was
  bool wrong = false;      // an answer differs, and is no error
  bool named = false;      // fsck names the file
  std::string note;        // for messages
};

bool names(const CheckReport& report, const std::string& path) {
  for (const Finding& finding : report.findings) {
    if (finding.file == path) return true;
  }
  return false;
}

class Flipper {
 public:
  Flipper(const Image& image, std::string_view boot) : image_(image), files_(image_), boot_(boot) {
    const auto store = must_open(files_, around_.environment(boot_), "");
    for (const std::string& only : {std::string(), kRuns[0], kRuns[1], kRuns[2]}) original_[only] = ask(*store, only);
    const auto report = store->check({}, Repair::no);
    EXPECT_TRUE(report && report->findings.empty()) << (report ? report->findings[0].file + report->findings[0].what : "");
  }

  /// Which run's answers a file can change.
  static std::string run_of(const std::string& path) {
    for (const std::string& run : kRuns) {
      if (path.starts_with("runs/" + run + "/")) return run;
    }
    return {};
  }

  Outcome flip(const std::string& path, std::uint64_t bit) {
    char& byte = image_.at(path)[bit / 8];
    const char before = byte;
    byte = static_cast<char>(byte ^ (1 << (bit % 8)));
    const Outcome outcome = look(path);
    byte = before;
    return outcome;
  }

  [[nodiscard]] const Image& image() const { return image_; }
  [[nodiscard]] const Answers& original(const std::string& only) const { return original_.at(only); }
  /// Answers that are right as well where fsck names the file: those of the store before its last save.
  void accept(const Flipper& earlier) { earlier_ = &earlier; }

 private:
  Outcome look(const std::string& path) {
    Outcome outcome;
    auto store = FilesystemStore::open(files_, around_.environment(boot_), flip_options(), "");
    if (!store) {
      outcome.refused = store.error().where == path;
      outcome.note = describe(store.error());
      return outcome;
    }
    const std::string only = run_of(path);
    const Answers now = ask(**store, only);
    const auto report = (*store)->check({}, Repair::no);
    outcome.named = report && names(*report, path);
    if (!report) outcome.note = describe(report.error());
    if (report) {
      for (const Finding& finding : report->findings) outcome.note += fmt::format(" [{}: {}]", finding.file, finding.what);
    }
    judge(now, only, outcome);
    return outcome;
  }

  void judge(const Answers& now, const std::string& only, Outcome& outcome) {
    const Answers& right = original_.at(only);
    outcome.same = now.texts == right.texts;
    for (std::size_t i = 0; i < now.texts.size(); ++i) {
      if (now.texts[i].empty() || now.texts[i] == right.texts[i]) continue;
      if (outcome.named && earlier_ != nullptr && now.texts[i] == earlier_->original(only).texts[i]) continue;
      outcome.wrong = true;
      outcome.note += fmt::format(" answer {} is\n{}\ninstead of\n{}\n", i, now.texts[i], right.texts[i]);
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
  std::uint64_t harmless = 0;
};

/// The bits of a file: of a journal segment all that are used and some behind, and samples of the rest.
std::vector<std::uint64_t> bits_of(const std::string& path, const std::string& bytes) {
  std::uint64_t all = bytes.size();
  if (path.ends_with(".log")) {
    const auto header = decode_segment_header(bytes);
    all = std::min<std::uint64_t>(all, scan_segment(bytes, header->generation).end + kBytesBehindEnd);
  }
  std::vector<std::uint64_t> bits;
  for (std::uint64_t bit = 0; bit < all * 8; ++bit) {
    // Between a segment's header and its first batch nothing is looked at.
    const bool unused = path.ends_with(".log") && bit / 8 >= kSegmentHeaderUsed && bit / 8 < kSegmentHeaderBytes;
    if (!unused || bit % kStepBitsFarBehind == 0) bits.push_back(bit);
  }
  for (std::uint64_t bit = all * 8; bit < bytes.size() * 8; bit += kStepBitsFarBehind) bits.push_back(bit);
  return bits;
}

void flip_all(Flipper& flipper, const std::function<bool(const std::string&)>& wanted) {
  int failures = 0;
  for (const auto& [path, bytes] : sample().image) {
    if (!wanted(path)) continue;
    Tally tally;
    for (const std::uint64_t bit : bits_of(path, bytes)) {
      const Outcome outcome = flipper.flip(path, bit);
      ++tally.bits;
      const bool detected = outcome.named || outcome.refused;
      ++(detected ? tally.detected : tally.harmless);
      const bool fine = !outcome.wrong && (detected || outcome.same);
      EXPECT_TRUE(fine) << path << " byte " << bit / 8 << " bit " << bit % 8 << ": " << (outcome.wrong ? "wrong answer" : "not named")
                        << outcome.note;
      if (!fine && ++failures > 20) FAIL() << "and so on";
    }
    std::printf("[  FLIPS   ] %s: %llu bits, %llu detected, %llu harmless\n", path.c_str(),
                static_cast<unsigned long long>(tally.bits), static_cast<unsigned long long>(tally.detected),
                static_cast<unsigned long long>(tally.harmless));
  }
}

bool is_catalogue(const std::string& path) { return path.starts_with("catalogue."); }

TEST(BitFlip, InAnyFileIsNamedOrChangesNothing) {
  Flipper flipper(sample().image, kBoot);
  flip_all(flipper, [](const std::string& path) { return !is_catalogue(path); });
}

/// After a reboot a damaged last batch looks like one that was being written: it is named, and the answers are
/// those before it.
TEST(BitFlip, InTheJournalAfterARebootIsNamedOrChangesNothing) {
  Flipper flipper(sample().image, kNextBoot);
  const Flipper earlier(sample().before_last, kNextBoot);
  flipper.accept(earlier);
  flip_all(flipper, [](const std::string& path) { return path.starts_with("journal/"); });
}

}  // namespace
}  // namespace pawl
