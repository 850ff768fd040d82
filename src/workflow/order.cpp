#include "workflow/order.hpp"

#include <algorithm>
#include <unordered_map>

#include "text/suggest.hpp"

namespace pawl {
namespace {

constexpr std::size_t kEdgesMax = 1'000'000;
constexpr std::size_t kBits = 64;

class Orderer {
 public:
  Orderer(const std::vector<OrderEntry>& entries, const std::vector<Stage::Type>& stages, const Whereabouts& elsewhere,
          Faults& faults)
      : entries_(entries), stages_(stages), elsewhere_(elsewhere), faults_(faults) {
    order_.after.resize(entries.size());
    order_.needed.resize(entries.size());
    order_.layer.resize(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) index_.emplace(entries[i].id, i);
  }

  Order run() && {
    for (std::size_t i = 0; i < entries_.size(); ++i) add_own(i);
    chain_stages();
    sort();
    return std::move(order_);
  }

 private:
  void add_own(std::size_t i) {
    const OrderEntry& entry = entries_[i];
    if (entry.fixed_after) {
      order_.after[i] = *entry.fixed_after;
    } else if (entry.needs) {
      for (const auto& [id, place] : *entry.needs) add_need(i, id, place);
    } else if (stages_[entry.stage] == Stage::Type::sequential && i > 0 && entries_[i - 1].stage == entry.stage) {
      order_.after[i].push_back(i - 1);
    }
  }

  void add_need(std::size_t i, const std::string& id, Place place) {
    const auto found = index_.find(id);
    if (found == index_.end()) return unknown_need(entries_[i].id, id, place);
    const std::size_t need = found->second;
    if (entries_[need].stage > entries_[i].stage) {
      faults_.add(place, fmt::format("step '{}' needs '{}', which is in a later stage", entries_[i].id, id),
                  "stages run one after another: move one of the steps");
      return;
    }
    auto& needed = order_.needed[i];
    if (std::find(needed.begin(), needed.end(), need) != needed.end()) return;
    needed.push_back(need);
    order_.after[i].push_back(need);
  }

  void unknown_need(const std::string& step, const std::string& id, Place place) {
    if (const std::string where = elsewhere_(id); !where.empty()) {
      faults_.add(place, fmt::format("step '{}' can't need '{}': {}", step, id, where),
                  "'needs' takes ids from the same list of steps");
      return;
    }
    std::vector<std::string> ids;
    for (const OrderEntry& entry : entries_) {
      if (entry.id != step) ids.push_back(entry.id);
    }
    std::string otherwise = ids.empty() ? "it is the only step in this list" : "steps visible here: " + one_of(ids);
    faults_.add(place, fmt::format("step '{}' needs '{}', which does not exist", step, id),
                did_you_mean(id, ids, std::move(otherwise)));
  }

  /// The first steps of a stage wait for the last ones of the previous stage; the others wait for them indirectly.
  void chain_stages() {
    std::vector<std::vector<std::size_t>> members(stages_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) members[entries_[i].stage].push_back(i);
    std::vector<std::size_t> ends;
    std::size_t edges = 0;
    for (const auto& stage : members) {
      std::vector<bool> waited_for(entries_.size());
      for (const std::size_t i : stage) {
        bool inside = false;
        for (const std::size_t before : order_.after[i]) {
          if (entries_[before].stage != entries_[i].stage) continue;
          inside = true;
          waited_for[before] = true;
        }
        if (inside || entries_[i].fixed_after) continue;
        edges += ends.size();
        if (edges > kEdgesMax) {
          faults_.add(entries_[i].place, "too many dependencies between two stages",
                      "put an empty stage with type: barrier between them");
          return;
        }
        for (const std::size_t end : ends) {
          auto& after = order_.after[i];
          if (std::find(order_.needed[i].begin(), order_.needed[i].end(), end) == order_.needed[i].end())
            after.push_back(end);
        }
      }
      if (stage.empty()) continue;
      ends.clear();
      for (const std::size_t i : stage) {
        if (!waited_for[i]) ends.push_back(i);
      }
    }
  }

  void sort() {
    const std::size_t count = entries_.size();
    std::vector<std::vector<std::size_t>> followers(count);
    std::vector<std::size_t> open(count);
    for (std::size_t i = 0; i < count; ++i) {
      open[i] = order_.after[i].size();
      for (const std::size_t before : order_.after[i]) followers[before].push_back(i);
    }
    std::vector<std::size_t> sorted;
    for (std::size_t i = 0; i < count; ++i) {
      if (open[i] == 0) sorted.push_back(i);
    }
    for (std::size_t next = 0; next < sorted.size(); ++next) {
      const std::size_t step = sorted[next];
      for (const std::size_t follower : followers[step]) {
        order_.layer[follower] = std::max(order_.layer[follower], order_.layer[step] + 1);
        if (--open[follower] == 0) sorted.push_back(follower);
      }
    }
    order_.acyclic = sorted.size() == count;
    if (order_.acyclic) {
      order_.precedence = Precedence(order_.after, sorted);
    } else {
      report_cycle(open);
    }
  }

  /// Every step that is still open waits for another open one, so following them backwards leads into a cycle.
  void report_cycle(const std::vector<std::size_t>& open) {
    const auto is_open = [&](std::size_t i) { return open[i] > 0; };
    std::vector<std::size_t> way;
    std::vector<bool> seen(entries_.size());
    std::size_t at = 0;
    while (!is_open(at)) ++at;
    while (!seen[at]) {
      seen[at] = true;
      way.push_back(at);
      const auto& after = order_.after[at];
      at = *std::find_if(after.begin(), after.end(), is_open);
    }
    way.erase(way.begin(), std::find(way.begin(), way.end(), at));
    std::rotate(way.begin(), std::min_element(way.begin(), way.end()), way.end());
    std::string text;
    Place place = entries_[way.front()].place;
    std::string implied;
    for (const std::size_t step : way) {
      text += entries_[step].id + " -> ";
      if (!entries_[step].needs) implied = entries_[step].id;
    }
    for (const std::size_t step : way) {
      const auto& needs = entries_[step].needs;
      if (!needs || needs->empty()) continue;
      place = needs->front().second;
      break;
    }
    faults_.add(place, fmt::format("dependency cycle: {}{}", text, entries_[way.front()].id),
                implied.empty() ? "remove one of these needs"
                                : fmt::format("'{}' has no 'needs' and so waits for the step above it: "
                                              "add 'needs: []' if it should not",
                                              implied));
  }

  const std::vector<OrderEntry>& entries_;
  const std::vector<Stage::Type>& stages_;
  const Whereabouts& elsewhere_;
  Faults& faults_;
  std::unordered_map<std::string, std::size_t> index_;
  Order order_;
};

}  // namespace

Precedence::Precedence(const std::vector<std::vector<std::size_t>>& after, const std::vector<std::size_t>& sorted)
    : before_(after.size(), std::vector<std::uint64_t>((after.size() + kBits - 1) / kBits)) {
  for (const std::size_t step : sorted) {
    for (const std::size_t direct : after[step]) {
      auto& bits = before_[step];
      if ((bits[direct / kBits] >> (direct % kBits) & 1U) != 0) continue;  // already included through another step
      bits[direct / kBits] |= std::uint64_t{1} << (direct % kBits);
      for (std::size_t word = 0; word < bits.size(); ++word) bits[word] |= before_[direct][word];
    }
  }
}

bool Precedence::comes_before(std::size_t first, std::size_t second) const {
  return (before_[second][first / kBits] >> (first % kBits) & 1U) != 0;
}

Order order_steps(const std::vector<OrderEntry>& entries, const std::vector<Stage::Type>& stages,
                  const Whereabouts& elsewhere, Faults& faults) {
  return Orderer(entries, stages, elsewhere, faults).run();
}

}  // namespace pawl
