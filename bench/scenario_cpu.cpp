// The processor time of a save: each part alone, without a disk.
#include <functional>

#include "base/hash.hpp"
#include "bench/measure.hpp"
#include "bench/scenarios.hpp"
#include "bench/states.hpp"
#include "codec/json_check.hpp"
#include "codec/record_text.hpp"
#include "text/text_diff.hpp"

namespace pawl::bench {
namespace {

/// Returns the median of many timings of a few hundred calls each.
double each_us(const std::function<void(std::size_t)>& call, std::size_t calls) {
  std::vector<double> times_us;
  for (int round = 0; round < 15; ++round) {
    const Stopwatch whole;
    for (std::size_t i = 0; i < calls; ++i) call(i);
    times_us.push_back(whole.us() / static_cast<double>(calls));
  }
  return median(times_us);
}

void measure_parts(Scenario& scenario, const std::string& what, const std::vector<std::string>& states) {
  const std::size_t calls = states.front().size() > 50'000 ? 60 : 600;
  const auto state = [&](std::size_t i) -> const std::string& { return states[i % states.size()]; };
  std::size_t sink = 0;
  const auto put = [&](const char* part, const std::function<void(std::size_t)>& call) {
    scenario.figures.push_back({fmt::format("{}: {}", what, part), each_us(call, calls), "us"});
  };
  put("check_json", [&](std::size_t i) { sink += check_json(state(i), 1ULL << 30).has_value() ? 1U : 0U; });
  put("diff_text and encode_splices",
      [&](std::size_t i) { sink += encode_splices(diff_text(state(i), state(i + 1))).size(); });
  put("copy of the state", [&](std::size_t i) { sink += std::string(state(i)).size(); });
  put("sha256 of the state", [&](std::size_t i) { sink += sha256(state(i), {}, {})[0]; });
  put("crc32c of the state", [&](std::size_t i) { sink += crc32c(state(i), 0); });
  CheckpointInfo info;
  info.sequence = Sequence{2};
  const std::string payload = encode_splices(diff_text(states[0], states[1]));
  const std::string_view smaller = payload.size() < states[1].size() ? payload : std::string_view(states[1]);
  put("encode_checkpoint (sha256, seal)", [&](std::size_t) {
    std::string sum;
    sink += encode_checkpoint({&info, "", Payload::state, smaller}, Shape::line, {"salt", 1}, sum).size();
  });
  put("encode_audit (sha256)", [&](std::size_t) {
    AuditEntry entry{
        7, info.created, "checkpoint_saved", info.sequence, std::string(71, 'a'), std::string(first_previous_hash()),
        {}};
    sink += encode_audit(entry).size();
  });
  if (sink == 0) give_up("nothing was measured");
}

}  // namespace

Scenario measure_cpu(const Settings&) {
  Scenario scenario{"cpu", "processor time of a save's parts, without a disk"};
  measure_parts(scenario, "2 KiB", state_pool(9, 256, 2048));
  PartedState parted(10, 100, 1000);
  std::vector<std::string> states;
  for (int i = 0; i < 30; ++i) {
    parted.change();
    states.push_back(parted.text());
  }
  measure_parts(scenario, "100 KB, 1 KB new", states);
  Conversation talk(11);
  for (int i = 0; i < 1000; ++i) talk.grow(500);
  states.clear();
  for (int i = 0; i < 10; ++i) {
    talk.grow(500);
    states.push_back(talk.text());
  }
  measure_parts(scenario, "500 KB, 500 B new", states);
  return scenario;
}

}  // namespace pawl::bench
