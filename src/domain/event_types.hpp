// The types of events and of entries in the audit trail. They are stored: a name that was released never changes.
//
// Every other file uses these constants, which tools/tidy.py checks. They are `const char*` because events, audit
// entries and JSON values are made from them without a cast; compare them with a std::string or std::string_view.
#pragma once

namespace pawl::event_type {

// The run as a whole.
inline constexpr const char* kRunCreated = "run_created";
inline constexpr const char* kRunStarted = "run_started";
inline constexpr const char* kRunResumed = "run_resumed";
inline constexpr const char* kRunCompleted = "run_completed";
inline constexpr const char* kRunFailed = "run_failed";
inline constexpr const char* kRunWaiting = "run_waiting";
inline constexpr const char* kRunInterrupted = "run_interrupted";
inline constexpr const char* kRunCancelled = "run_cancelled";
inline constexpr const char* kCancelRequested = "cancel_requested";
inline constexpr const char* kCancelling = "cancelling";
inline constexpr const char* kInterrupting = "interrupting";
inline constexpr const char* kRolledBack = "rolled_back";
inline constexpr const char* kForked = "forked";
inline constexpr const char* kForkRefused = "fork_refused";
inline constexpr const char* kWorkflowChanged = "workflow_changed";
inline constexpr const char* kFolderChanged = "folder_changed";
inline constexpr const char* kWorkingDirMoved = "working_dir_moved";
inline constexpr const char* kNotifyFailed = "notify_failed";

// Checkpoints and their storage.
inline constexpr const char* kCheckpointSaved = "checkpoint_saved";
inline constexpr const char* kCheckpointRead = "checkpoint_read";
inline constexpr const char* kCheckpointsSetAside = "checkpoints_set_aside";
inline constexpr const char* kRecoveryFallback = "recovery_fallback";
inline constexpr const char* kLargeCheckpoint = "large_checkpoint";
inline constexpr const char* kMemoryPressure = "memory_pressure";
inline constexpr const char* kStorageTrouble = "storage_trouble";
inline constexpr const char* kStorageDegraded = "storage_degraded";
inline constexpr const char* kStorageRecovered = "storage_recovered";
inline constexpr const char* kInboxTrouble = "inbox_trouble";
inline constexpr const char* kLimitsReset = "limits_reset";
inline constexpr const char* kErased = "erased";
inline constexpr const char* kRemoved = "removed";

// Steps and their attempts.
inline constexpr const char* kStepStarted = "step_started";
inline constexpr const char* kStepCompleted = "step_completed";
inline constexpr const char* kStepFailed = "step_failed";
inline constexpr const char* kStepSkipped = "step_skipped";
inline constexpr const char* kAttemptStarted = "attempt_started";
inline constexpr const char* kAttemptFailed = "attempt_failed";
inline constexpr const char* kAttemptInterrupted = "attempt_interrupted";
inline constexpr const char* kRescued = "rescued";
inline constexpr const char* kBudgetReached = "budget_reached";
inline constexpr const char* kBreakpoint = "breakpoint";
inline constexpr const char* kStageCompleted = "stage_completed";
inline constexpr const char* kLayerCompleted = "layer_completed";
inline constexpr const char* kIterationStarted = "iteration_started";
inline constexpr const char* kIterationCompleted = "iteration_completed";
inline constexpr const char* kChildStarted = "child_started";
inline constexpr const char* kBranchesKept = "branches_kept";
inline constexpr const char* kStepsAdded = "steps_added";
inline constexpr const char* kStepsRefused = "steps_refused";
inline constexpr const char* kStepsRunAgain = "steps_run_again";

// Maps.
inline constexpr const char* kMapStarted = "map_started";
inline constexpr const char* kMapProgress = "map_progress";
inline constexpr const char* kMapCompleted = "map_completed";
inline constexpr const char* kItemStarted = "item_started";
inline constexpr const char* kItemCompleted = "item_completed";
inline constexpr const char* kItemFailed = "item_failed";
inline constexpr const char* kCircuitOpened = "circuit_opened";
inline constexpr const char* kDlqRetried = "dlq_retried";
inline constexpr const char* kDlqDropped = "dlq_dropped";

// Waiting, and the messages that end it.
inline constexpr const char* kApprovalRequested = "approval_requested";
inline constexpr const char* kApproved = "approved";
inline constexpr const char* kRejected = "rejected";
inline constexpr const char* kApprovalTimedOut = "approval_timed_out";
inline constexpr const char* kTimerSet = "timer_set";
inline constexpr const char* kWaitingForSignal = "waiting_for_signal";
inline constexpr const char* kSignalReceived = "signal_received";
inline constexpr const char* kSignalConsumed = "signal_consumed";
inline constexpr const char* kMessageRefused = "message_refused";

// What a step or a person reports.
inline constexpr const char* kDecision = "decision";
inline constexpr const char* kBlocker = "blocker";
inline constexpr const char* kNote = "note";
inline constexpr const char* kMessage = "message";
inline constexpr const char* kReportFault = "report_fault";
inline constexpr const char* kContextUsage = "context_usage";
inline constexpr const char* kEvaluation = "evaluation";
inline constexpr const char* kConfidence = "confidence";
inline constexpr const char* kConfidenceAdjusted = "confidence_adjusted";
inline constexpr const char* kLowConfidence = "low_confidence";

// What an import takes over besides checkpoints.
inline constexpr const char* kImportedAudit = "imported_audit";
inline constexpr const char* kImportedError = "imported_error";
inline constexpr const char* kImportedMerkleRoots = "imported_merkle_roots";
inline constexpr const char* kImportedMetadata = "imported_metadata";

}  // namespace pawl::event_type
