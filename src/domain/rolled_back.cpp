#include "domain/rolled_back.hpp"

#include <algorithm>

namespace pawl {

RunState rolled_back(const RunState& to, const RunState& newest) {
  RunState out = to;
  std::erase_if(out.steps, [](const auto& entry) {
    return !entry.second.binding.empty() && entry.second.status == StepStatus::waiting;
  });
  out.status = RunStatus::interrupted;
  out.error.clear();
  out.outputs = Json();
  out.cancelled.reset();
  out.usage = newest.usage;
  out.inherited = newest.inherited;
  out.resumes = newest.resumes;
  out.automatic_resumes = newest.automatic_resumes;
  out.rollbacks = newest.rollbacks + 1;
  out.consumed = newest.consumed;
  out.masked = newest.masked;
  out.masked_keys.insert(newest.masked_keys.begin(), newest.masked_keys.end());
  out.budget = newest.budget;
  out.limits = newest.limits;
  out.last_at = newest.last_at;
  out.records = newest.records;
  out.events = newest.events;
  if (newest.events > to.events) out.lost.add(to.events + 1, newest.events);
  // The next `finally` has a number, and therefore an idempotency key, of its own.
  out.finally_number = newest.finally_number;
  out.worked_since_finally = out.worked_since_finally || newest.finally_number > 0;
  out.starts = newest.starts;
  for (const auto& [path, record] : newest.steps) {
    if (record.starts == 0) continue;
    std::uint32_t& used = out.starts[path];
    used = std::max(used, record.starts);
  }
  for (const auto& [path, used] : to.starts) out.starts[path] = std::max(out.starts[path], used);
  return out;
}

}  // namespace pawl
