// Ways to store states: size and speed of each, and all stages of a large save down to the disk.
#include <fcntl.h>
#include <unistd.h>

#include "base/hash.hpp"
#include "bench/measure.hpp"
#include "bench/pawl_store.hpp"
#include "bench/scenarios.hpp"
#include "bench/states.hpp"
#include "codec/base64.hpp"
#include "codec/json_check.hpp"
#include "codec/packing.hpp"

namespace pawl::bench {
namespace {

constexpr std::string_view kNonce = "012345678901";
constexpr double kMegabyte = 1e6;

const SecretKey& key() {
  static const SecretKey key = SecretKey::of("a key for measuring, no secret. ");
  return key;
}

double median_us(std::size_t rounds, const std::function<void()>& call) {
  std::vector<double> times_us;
  for (std::size_t i = 0; i < rounds; ++i) {
    const Stopwatch one;
    call();
    times_us.push_back(one.us());
  }
  return median(times_us);
}

double mb_per_s(std::size_t bytes, double us) { return static_cast<double>(bytes) / us; }

struct Way {
  const char* name;
  PackRules rules;
};

void measure_ways(Scenario& scenario, const char* size_name, const std::string& state) {
  constexpr Way kWays[] = {{"json", {}},
                           {"msgpack", {StateFormat::msgpack, Compression::none, 0, 3}},
                           {"cbor", {StateFormat::cbor, Compression::none, 0, 3}},
                           {"json+zstd, no dictionary", {StateFormat::json, Compression::zstd, 0, 3, Dictionary::none}},
                           {"json+zstd", {StateFormat::json, Compression::zstd, 0, 3}},
                           {"msgpack+zstd", {StateFormat::msgpack, Compression::zstd, 0, 3}},
                           {"cbor+zstd", {StateFormat::cbor, Compression::zstd, 0, 3}}};
  const std::size_t rounds = state.size() > 1'000'000 ? 3 : 30;
  for (const Way& way : kWays) {
    for (const bool encrypted : {false, true}) {
      Packed packed;
      const double packing_us = median_us(rounds, [&] {
        packed = pack(state, Content::state, way.rules);
        if (encrypted) encrypt(packed, state, key(), kNonce, "place");
      });
      const std::string_view stored = packed.how.empty() ? std::string_view(state) : std::string_view(packed.bytes);
      const double unpacking_us = median_us(rounds, [&] {
        if (must(unpack(packed.how, stored, &key(), "place", 1ULL << 30U)).size() != state.size())
          give_up("another size came back");
      });
      const std::string name = fmt::format("{} {}{}", size_name, way.name, encrypted ? "+aes" : "");
      scenario.figures.push_back(
          {name + ": size", 100.0 * static_cast<double>(stored.size()) / static_cast<double>(state.size()), "%"});
      scenario.figures.push_back({name + ": packing", mb_per_s(state.size(), packing_us), "MB/s"});
      scenario.figures.push_back({name + ": unpacking", mb_per_s(state.size(), unpacking_us), "MB/s"});
    }
  }
}

double write_us(const Folder& folder, const std::string& bytes) {
  const std::string path = (folder / "raw").string();
  const Stopwatch one;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  std::size_t written = 0;
  while (fd >= 0 && written < bytes.size()) {
    const ssize_t got = ::write(fd, bytes.data() + written, bytes.size() - written);
    if (got <= 0) give_up("can't write");
    written += static_cast<std::size_t>(got);
  }
  if (fd < 0 || ::fdatasync(fd) != 0) give_up("can't sync");
  ::close(fd);
  return one.us();
}

/// Measures each stage of a large save alone and the complete save, in turns.
void measure_large(Scenario& scenario, const Settings& settings, const std::vector<std::string>& states) {
  FilesystemOptions options;
  options.packing = {StateFormat::json, Compression::zstd, 0, 3};
  options.new_key = NewStoreKey{key(), {}};
  options.find_key = [](const Uuid&, const StoreKeyInfo&) -> Result<SecretKey> { return key(); };
  PawlStore store(subfolder(settings, "large"), options);
  const Folder raw = subfolder(settings, "raw-large");
  const auto run = store.run("large");
  std::vector<double> slowest_us;
  std::vector<double> save_us;
  std::array<std::vector<double>, 5> stages;
  for (const std::string& state : states) {
    const auto stage = [&](std::size_t i, const std::function<void()>& call) {
      const Stopwatch one;
      call();
      stages[i].push_back(one.us());
    };
    Packed packed;
    stage(0, [&] { must(check_json(state, 1ULL << 30U)); });
    stage(1, [&] { packed = pack(state, Content::state, options.packing); });
    stage(2, [&] { encrypt(packed, state, key(), kNonce, "place"); });
    std::size_t sink = 0;
    stage(3, [&] { sink += sha256("salt", packed.bytes)[0]; });
    stages[4].push_back(write_us(raw, packed.bytes));
    double slowest = 0;
    for (const auto& times : stages) slowest = std::max(slowest, times.back());
    slowest_us.push_back(slowest);
    const Stopwatch whole;
    save(*run, state);
    save_us.push_back(whole.us());
    if (sink == SIZE_MAX) give_up("impossible");
  }
  constexpr const char* kStages[] = {"JSON check", "zstd", "AES-256-GCM", "SHA-256 of the stored bytes",
                                     "write and fdatasync of the stored bytes"};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    scenario.figures.push_back({fmt::format("10 MB, stage alone: {}", kStages[i]),
                                mb_per_s(states.front().size(), median(stages[i])), "MB/s"});
  }
  scenario.figures.push_back({"10 MB, durable save, compressed and encrypted (fdatasync)",
                              mb_per_s(states.front().size(), median(save_us)), "MB/s"});
  scenario.goals.push_back(
      {"10 MB: the save to its slowest stage alone", ratio(slowest_us, save_us), Goal::Sense::at_least, 0.6, ""});
}

}  // namespace

Scenario measure_codecs(const Settings& settings) {
  Scenario scenario{"codecs",
                    "ways of storing a state: size against compact JSON, processor time; a 10 MB save (fdatasync)"};
  Dice dice(11);
  measure_ways(scenario, "2 KB", new_state(dice, 2'000));
  measure_ways(scenario, "100 KB", new_state(dice, 100'000));
  const auto large = static_cast<std::size_t>(10 * kMegabyte);
  measure_ways(scenario, "10 MB", new_state(dice, settings.quick() ? large / 10 : large));
  measure_large(scenario, settings, state_pool(12, settings.quick() ? 2 : 5, large));
  return scenario;
}

}  // namespace pawl::bench
