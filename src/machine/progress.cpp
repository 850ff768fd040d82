#include "machine/progress.hpp"

#include <algorithm>

#include "machine/snapshot.hpp"

namespace pawl::machine {

Json progress_of(const State& s) {
  Json out = {{"status", to_text(s.status)},
              {"usage", s.usage.document()},
              {"completed_steps", s.completed_steps},
              {"resumes", s.resumes},
              {"rollbacks", s.rollbacks},
              {"cancelled", s.cancel_requested},
              {"outputs", s.outputs},
              {"budget", s.budget},
              {"finally", s.finally_number},
              {"worked", s.worked_since_finally},
              {"phases", s.phases},
              {"driven_us", s.driven_us},
              {"added", s.added.size()}};
  out["confidence"] = s.confidence ? Json(*s.confidence) : Json();
  for (const EarlySignal& signal : s.signals) out["signals"].push_back({signal.name, signal.payload, signal.sent.us});
  for (const std::string& id : s.taken) out["taken"].push_back(id);
  std::vector<const Node*> nodes;
  for (const auto& [id, node] : s.nodes) {
    if (node.record.status != StepStatus::pending || node.record.attempts > 0) nodes.push_back(&node);
  }
  std::ranges::sort(nodes, {}, &Node::path);
  for (const Node* node : nodes) {
    Json record = record_of(s, *node, [](std::uint64_t) { return std::uint64_t{1}; }).to_json();
    record.erase("starts");
    if (record.contains("output_event")) record["output_event"] = "elsewhere";
    if (record.contains("previous")) {
      for (auto& [id, entry] : record["previous"].items()) {
        if (entry.contains("output_event")) entry["output_event"] = "elsewhere";
      }
    }
    out["steps"][node->path] = std::move(record);
  }
  return out;
}

}  // namespace pawl::machine
