#include "domain/erasure.hpp"

namespace pawl {

Error erased_error(std::string_view run, const Erasure& erasure) {
  if (erasure.remains == Remains::tombstone) {
    return Error{Code::run_removed,
                 fmt::format("run '{}' was removed on {} by {}{}{}", run, erasure.at.text(), erasure.by,
                             erasure.reason.empty() ? "" : ": ", erasure.reason),
                 {},
                 {},
                 0,
                 Advice::list_removed,
                 {.run = std::string(run)}};
  }
  return Error{Code::run_erased,
               fmt::format("run '{}' was erased on {} because {}", run, erasure.at.text(), erasure.reason),
               {},
               "only its audit trail is left",
               0,
               Advice::none,
               {.run = std::string(run)}};
}

Error forks_error(const RunId& run, const std::vector<RunId>& forks) {
  std::string names;
  for (const RunId& fork : forks) names += fmt::format("{}{}", names.empty() ? "" : ", ", fork.text());
  return Error{Code::run_has_forks,
               fmt::format("run '{}' can't be erased: {} {} forked from it and needs its data", run.text(), names,
                           forks.size() == 1 ? "is" : "are each"),
               {},
               "erase the forks first, or all of them at once with --cascade",
               0};
}

Error step_running_error(const RunId& run, std::string_view lock_name) {
  if (lock_name.starts_with("step-")) lock_name.remove_prefix(5);
  if (lock_name.ends_with(".lock")) lock_name.remove_suffix(5);
  return Error{Code::run_busy,
               fmt::format("run '{}' is busy: step '{}' is running", run.text(), lock_name),
               {},
               {},
               0,
               Advice::wait_for_run,
               {.run = run.text()}};
}

bool is_gone(Code code) { return code == Code::run_erased || code == Code::run_removed; }

bool is_gone_or_missing(Code code) { return is_gone(code) || code == Code::run_not_found; }

RunInfo erased_info(const RunInfo& run, Timestamp at) {
  return RunInfo{.id = run.id,
                 .uuid = run.uuid,
                 .created = run.created,
                 .updated = at,
                 .latest = run.latest,
                 .status = Status::erased,
                 .kind = Kind::manual,
                 .durability = run.durability,
                 .workflow = {},
                 .workflow_hash = {},
                 .session = {},
                 .fork_of_run = run.fork_of_run,
                 .fork_of_sequence = run.fork_of_sequence};
}

std::string described_user(std::string_view user, std::string_view host) {
  return fmt::format("{}@{}", user.empty() ? "unknown" : user, host.empty() ? "unknown" : host);
}

}  // namespace pawl
