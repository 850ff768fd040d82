#include "domain/audited_events.hpp"

#include <algorithm>
#include <array>

#include "domain/event_types.hpp"

namespace pawl {
namespace {

constexpr std::array<std::string_view, 18> kAudited = {
    // Decisions of people and agents.
    event_type::kApproved, event_type::kRejected, event_type::kDecision, event_type::kCancelRequested,
    event_type::kRunCancelled, event_type::kCancelling, event_type::kDlqRetried, event_type::kDlqDropped,
    // Refusals.
    event_type::kMessageRefused, event_type::kStepsRefused, event_type::kForkRefused,
    // What somebody accepted, or a recovery had to do.
    event_type::kWorkflowChanged, event_type::kFolderChanged, event_type::kWorkingDirMoved, event_type::kRunResumed,
    event_type::kRecoveryFallback,
    // Changes of a run's history.
    event_type::kRolledBack, event_type::kCheckpointRead};

}  // namespace

bool is_audited_type(std::string_view type) { return std::ranges::find(kAudited, type) != kAudited.end(); }

}  // namespace pawl
