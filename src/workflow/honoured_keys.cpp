#include "workflow/honoured_keys.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "text/suggest.hpp"

namespace pawl {
namespace {

constexpr auto kKinds =
    std::to_array<std::string_view>({"run", "handler", "approve", "sleep", "wait_for", "loop", "map", "workflow"});

constexpr unsigned bit(std::string_view kind) {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i] == kind) return 1U << i;
  }
  return 0;
}

constexpr unsigned kRun = bit("run");
constexpr unsigned kAttempts = kRun | bit("handler");
constexpr unsigned kContainers = bit("loop") | bit("map");

struct Rule {
  std::string_view key;
  unsigned kinds;
  bool always_refused = false;  // it was an error before keys without effect were
};

/// Keys that are not listed work with every kind.
constexpr auto kRules = std::to_array<Rule>({
    {"with", bit("handler") | bit("workflow"), true},
    {"steps", kContainers, true},
    {"reduce", bit("map"), true},
    {"shell", kRun, true},
    {"env", kRun},
    {"env_file", kRun},
    {"working_dir", kRun},
    {"isolate", kRun | bit("map")},
    {"merge", kRun | bit("map"), true},
    {"retry", kAttempts | bit("approve")},
    {"timeout", kAttempts | bit("approve") | kContainers | bit("workflow")},
    {"on_timeout", bit("approve") | kContainers | bit("workflow"), true},
    {"total_timeout", kAttempts},
    {"confidence", kAttempts},
    {"cache", kAttempts, true},
    {"uses", kAttempts | kContainers, true},
});

std::string kinds_text(unsigned kinds) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if ((kinds & (1U << i)) != 0) words.emplace_back(kKinds[i]);
  }
  return one_of(words);
}

std::string hint_for(const Rule& rule, std::string_view kind) {
  if (rule.key == "timeout" && kind == "wait_for") return "write wait_for: { signal: NAME, timeout: 1h }";
  if (rule.key == "timeout" && kind == "sleep") return "remove it, or use wait_for: { signal: NAME, timeout: 1h }";
  if (rule.key == "retry" && kind == "workflow") return "write it into the child's file";
  if (rule.always_refused) return "use it with " + kinds_text(rule.kinds);
  if (kind == "loop" || kind == "map") return fmt::format("write it on the steps inside the {}", kind);
  if (kind == "workflow") return "write it into the child's file";
  return fmt::format("remove it; it works with {}", kinds_text(rule.kinds));
}

class Check {
 public:
  Check(const Fields& fields, std::string_view kind, Unhonoured how, Faults& faults)
      : fields_(fields), kind_(kind), how_(how), faults_(faults) {}

  void run(const View& view) {
    for (const Rule& rule : kRules) {
      if (fields_.find(rule.key) == nullptr || (rule.kinds & bit(kind_)) != 0) continue;
      const std::string hint = hint_for(rule, kind_);
      if (rule.always_refused) {
        refuse(rule.key, fmt::format("'{}' can't be used with '{}'", rule.key, kind_), hint);
      } else {
        without_effect(rule.key, fmt::format("'{}' has no effect on '{}'", rule.key, kind_), hint);
      }
    }
    if (fields_.find("rescue") != nullptr && fields_.find("on_failure") == nullptr)
      refuse("rescue", "'rescue' requires 'on_failure'", "add 'on_failure' with the steps that rescue it");
    const bool isolates = kind_ == "run" || kind_ == "map";
    if (isolates && fields_.find("merge") != nullptr && fields_.find("isolate") == nullptr)
      refuse("merge", "'merge' requires 'isolate'", "add isolate: worktree, or remove 'merge'");
    if (fields_.find("on_timeout") != nullptr && fields_.find("timeout") == nullptr)
      refuse("on_timeout", "'on_timeout' requires 'timeout'", "add the time to wait, for example timeout: 24h");
    const YamlNode* on_timeout = fields_.find("on_timeout");
    if (kind_ == "approve" && fields_.find("retry") != nullptr && (on_timeout == nullptr || on_timeout->text != "fail"))
      without_effect("retry", "'retry' has no effect on 'approve' without 'on_timeout: fail'",
                     "only a gate that fails by its timeout is tried again");
    if (view.map_frame && fields_.find("break") != nullptr)
      without_effect("break", "'break' has no effect on the steps of a map", "write it on the map, or remove it");
    if (const YamlNode* loop = fields_.find("loop"); loop != nullptr && loop->is_map()) look_at_loop(*loop);
  }

 private:
  void look_at_loop(const YamlNode& loop) {
    if (loop.find("on_max") == nullptr || loop.find("until") != nullptr) return;
    const auto key = std::ranges::find(loop.members, std::string_view("on_max"), &YamlMember::key);
    without_effect(key->key_place, "'on_max' has no effect without 'until'", "add the condition that ends the loop");
  }

  void refuse(std::string_view key, std::string message, std::string hint) {
    faults_.add(fields_.place_of(key), std::move(message), std::move(hint));
  }
  void without_effect(std::string_view key, std::string message, std::string hint) {
    without_effect(fields_.place_of(key), std::move(message), std::move(hint));
  }
  void without_effect(Place place, std::string message, std::string hint) {
    if (how_ == Unhonoured::refuse) return faults_.add(place, std::move(message), std::move(hint));
    faults_.remark(place, fmt::format("{} ({})", message, hint), Remark::About::ignored_key);
  }

  const Fields& fields_;
  std::string_view kind_;
  Unhonoured how_;
  Faults& faults_;
};

}  // namespace

void check_honoured(const Fields& fields, std::string_view kind, const View& view, Unhonoured how, Faults& faults) {
  Check(fields, kind, how, faults).run(view);
}

}  // namespace pawl
