#include "domain/audited_events.hpp"

#include <algorithm>
#include <array>

namespace pawl {
namespace {

constexpr std::array<std::string_view, 18> kAudited = {
    // Decisions of people and agents.
    "approved", "rejected", "decision", "cancel_requested", "run_cancelled", "cancelling", "dlq_retried", "dlq_dropped",
    // What was refused.
    "message_refused", "steps_refused", "fork_refused",
    // What somebody accepted, or a recovery had to do.
    "workflow_changed", "folder_changed", "run_resumed", "recovery_fallback", "bad_events_skipped",
    // Changes of a run's history.
    "rolled_back", "checkpoint_read"};

}  // namespace

bool is_audited_type(std::string_view type) { return std::ranges::find(kAudited, type) != kAudited.end(); }

}  // namespace pawl
