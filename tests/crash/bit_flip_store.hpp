// A small store that contains every kind of data, its files in memory, and a file system on them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {

constexpr std::string_view kBoot = "boot";
constexpr std::string_view kNextBoot = "next boot";

using Image = std::map<std::string, std::string>;  // path -> bytes

/// The files of a folder in memory. Read-only.
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
  Result<void> remove_folder(std::string_view) override { return refuse(); }
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
    Result<bool> try_lock_shared(std::uint64_t) override { return refuse(); }
    Result<void> unlock(std::uint64_t) override { return refuse(); }
    Result<bool> locked_elsewhere(std::uint64_t) override { return false; }

   private:
    const std::string& bytes_;
  };
  static std::unexpected<Error> refuse() { return fail(Code::permission_denied, "this store is only looked at"); }

  const Image& image_;
};

inline FilesystemOptions flip_options() {
  FilesystemOptions options = small_options();
  options.segment_bytes = 12U << 10;
  options.inline_bytes_max = 300;
  options.differences_max = 4;
  options.catalogue = true;
  return options;
}

/// Gives the same times and numbers, whatever was requested before.
struct Surroundings {
  ManualClock clock;
  SeededRandom random{11};
  [[nodiscard]] Environment environment(std::string_view boot) {
    return {&clock, &random, sim_owner(std::string(boot), 4711)};
  }
};

/// For images, which can't be written.
inline FilesystemOptions read_only_options() {
  FilesystemOptions options = flip_options();
  options.catalogue = false;
  return options;
}

inline std::unique_ptr<FilesystemStore> must_open(FileSystem& files, const Environment& environment,
                                                  const FilesystemOptions& options = flip_options()) {
  auto store = FilesystemStore::open(files, environment, options);
  EXPECT_TRUE(store) << describe(store.error());
  return store ? std::move(*store) : nullptr;
}

inline RunId id_of(std::string_view run) { return *RunId::parse(run); }

inline void must_save(FilesystemStore& store, std::string_view run, SaveRequest request, std::string_view body) {
  request.body = body;
  const auto writer = store.open_run(id_of(run), {});
  ASSERT_TRUE(writer) << describe(writer.error());
  const auto saved = (*writer)->save(request);
  ASSERT_TRUE(saved) << describe(saved.error());
}

/// Saves a run and prunes most of it: some checkpoints are hidden, some removed, some kept in their own files.
inline void save_pruned(FilesystemStore& store) {
  for (int i = 1; i <= 13; ++i) {
    SaveRequest request;
    if (i == 4 || i == 8) request.name = "kept";
    if (i % 3 == 0) request.caller_id = fmt::format("call-{}", i);
    must_save(
        store, "kappa", request,
        fmt::format(R"({{"n":{},"text":"{}"}})", i, std::string(static_cast<std::size_t>(i % 2 == 0 ? 40 : 310), 'k')));
  }
  ASSERT_TRUE(store.settle_all());
  const auto report =
      store.prune(id_of("kappa"), {.keep = 2, .keep_days = {}, .keep_per_stage = {}}, PruneMode::remove);
  ASSERT_TRUE(report) << describe(report.error());
  ASSERT_EQ(report->kept, 4U);
}

/// Saves settled data: several bases, a text with newlines, a blob, events, callers' ids and messages.
inline void save_settled(FilesystemStore& store) {
  SaveRequest plain;
  SaveRequest named = plain;
  named.name = "first";
  named.events = {{"started", R"({"by":"test"})"}, {"noted", "[1,2]"}};
  must_save(store, "alpha", named, R"({"items":[1,2,3],"note":"begun"})");
  must_save(store, "alpha", plain, R"({"items":[1,2,3,4],"note":"begun"})");
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
  must_save(store, "delta", called, "17");
  save_pruned(store);
  ASSERT_TRUE(store.settle_all());
  ASSERT_TRUE(store.post(id_of("alpha"), R"({"approve":"deploy"})"));
  ASSERT_TRUE(store.post(id_of("alpha"), "[1]"));
}

/// Saves records that are in the journal and, unsettled, in the files.
inline void save_published(FilesystemStore& store) {
  SaveRequest request;
  request.events = {{"third", "3"}};
  must_save(store, "alpha", request, "{\n\"second\":\"base\",\"more\":true\n}");
}

/// Saves records that are only in the journal.
inline void save_in_journal(FilesystemStore& store) {
  SaveRequest request;
  request.events = {{"fourth", "4"}};
  must_save(store, "beta", request, "[1,2,3]");
  request.caller_id = "call-3";
  must_save(store, "gamma", request, R"({"new":"run"})");
  ASSERT_TRUE(store.post(id_of("gamma"), "true"));
}

inline void save_last(FilesystemStore& store) {
  SaveRequest request;
  request.events = {{"fifth", "5"}};
  request.caller_id = "call-4";
  must_save(store, "alpha", request, "{\n\"second\":\"base\",\"more\":false\n}");
}

inline Image read_image(const std::string& folder) {
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
  Image image;        // while its writer is alive
  Image before_last;  // the same without the last save
};

inline const Sample& sample() {
  static const std::unique_ptr<Sample> made = [] {
    auto sample = std::make_unique<Sample>();
    const auto files = PosixFileSystem::open(sample->folder.path());
    Surroundings around;
    save_settled(*must_open(**files, around.environment(kBoot)));
    around.clock.advance(1'000'000);
    save_published(*must_open(**files, around.environment(kBoot)));
    around.clock.advance(1'000'000);
    const auto store = must_open(**files, around.environment(kBoot));
    save_in_journal(*store);
    sample->before_last = read_image(sample->folder.path());
    around.clock.advance(1'000'000);
    save_last(*store);
    sample->image = read_image(sample->folder.path());
    return sample;
  }();
  return *made;
}

}  // namespace pawl::testing
