// The exit status of every error code is part of the command line's interface.
#include "cli/exit_status.hpp"

#include <gtest/gtest.h>

#include <map>

namespace pawl::cli {
namespace {

// Recorded before the statuses were derived from categories. A new code gets a new line; existing lines never change.
const std::map<Code, int> kStatuses = {
    {Code::usage, 2},
    {Code::invalid_run_id, 2},
    {Code::invalid_address, 2},
    {Code::invalid_json, 2},
    {Code::json_too_deep, 2},
    {Code::invalid_utf8, 2},
    {Code::duplicate_key, 2},
    {Code::number_out_of_range, 2},
    {Code::state_too_large, 2},
    {Code::invalid_patch, 2},
    {Code::input_unreadable, 2},
    {Code::invalid_label, 2},
    {Code::invalid_workflow, 2},
    {Code::invalid_expression, 2},
    {Code::unknown_name, 2},
    {Code::invalid_command, 2},
    {Code::invalid_variable, 2},
    {Code::value_too_large, 2},
    {Code::key_missing, 2},
    {Code::invalid_key, 2},
    {Code::invalid_config, 2},
    {Code::invalid_change, 2},
    {Code::import_unrecognised, 2},
    {Code::import_invalid, 2},
    {Code::import_link, 2},
    {Code::import_duplicate, 2},
    {Code::run_not_found, 2},
    {Code::checkpoint_not_found, 2},
    {Code::store_not_found, 2},
    {Code::step_not_found, 2},
    {Code::nothing_to_resume, 2},
    {Code::not_a_workflow_run, 2},
    {Code::not_a_steps_run, 2},
    {Code::checkpoint_pruned, 2},
    {Code::run_erased, 2},
    {Code::run_removed, 2},
    {Code::run_referenced, 4},
    {Code::run_unfinished, 4},
    {Code::run_busy, 4},
    {Code::parent_conflict, 4},
    {Code::caller_id_reused, 4},
    {Code::transition_refused, 4},
    {Code::network_filesystem, 4},
    {Code::durability_fixed, 4},
    {Code::run_exists, 4},
    {Code::workflow_changed, 4},
    {Code::items_changed, 4},
    {Code::folder_changed, 4},
    {Code::gate_in_the_way, 4},
    {Code::approval_refused, 4},
    {Code::not_waiting, 4},
    {Code::processes_left, 4},
    {Code::key_wrong, 4},
    {Code::not_encrypted, 4},
    {Code::store_exists, 4},
    {Code::step_busy, 4},
    {Code::step_changed, 4},
    {Code::checkpoints_off, 4},
    {Code::steps_would_rerun, 4},
    {Code::record_protected, 4},
    {Code::import_incomplete, 4},
    {Code::not_portable, 4},
    {Code::run_diverged, 4},
    {Code::export_damaged, 4},
    {Code::workflow_mismatch, 4},
    {Code::run_has_forks, 4},
    {Code::erasure_pending, 3},
    {Code::backup_damaged, 4},
    {Code::backup_too_large, 4},
    {Code::backup_exists, 4},
    {Code::folder_not_empty, 4},
    {Code::records_lost, 4},
    {Code::journal_of_other_store, 4},
    {Code::checkpoint_corrupt, 4},
    {Code::checksum_mismatch, 4},
    {Code::journal_corrupt, 4},
    {Code::chain_broken, 4},
    {Code::no_valid_checkpoint, 4},
    {Code::event_replay_failed, 4},
    {Code::state_reconstruction_failed, 4},
    {Code::store_damaged, 4},
    {Code::findings, 4},
    {Code::decryption_failed, 4},
    {Code::decoding_failed, 4},
    {Code::output_lost, 4},
    {Code::audit_damaged, 4},
    {Code::anchor_mismatch, 4},
    {Code::signature_wrong, 4},
    {Code::unsupported_version, 4},
    {Code::migration_failed, 4},
    {Code::disk_full, 5},
    {Code::permission_denied, 5},
    {Code::rename_failed, 5},
    {Code::write_failed, 5},
    {Code::read_failed, 5},
    {Code::outcome_unknown, 5},
    {Code::handle_failed, 5},
    {Code::store_busy, 5},
    {Code::used_after_fork, 5},
    {Code::recover_completed, 4},
    {Code::recovery_in_progress, 4},
    {Code::retries_exhausted, 4},
    {Code::handler_not_registered, 4},
    {Code::run_failed, 1},
    {Code::run_waiting, 3},
    {Code::run_interrupted, 130},
    {Code::run_cancelled, 1},
    {Code::budget_reached, 3},
    {Code::run_ended, 4},
    {Code::fallback_reruns, 4},
    {Code::checkpoint_set_aside, 4},
    {Code::step_failed, 1},
    {Code::process_failed, 5},
};

constexpr Code kAllCodes[] = {
#define PAWL_CODE(number, name, category, title) Code::name,
#include <pawl/error_codes.def>
#undef PAWL_CODE
};

TEST(ExitStatus, OfEveryCodeIsWhatItAlwaysWas) {
  for (const Code code : kAllCodes) {
    const auto recorded = kStatuses.find(code);
    ASSERT_NE(recorded, kStatuses.end()) << code_text(code) << " has no line in this test";
    EXPECT_EQ(exit_status(code), recorded->second) << code_text(code);
  }
  EXPECT_EQ(kStatuses.size(), std::size(kAllCodes));
}

TEST(ExitStatus, FollowsFromTheCategoryAlone) {
  std::map<Category, int> statuses;
  for (const Code code : kAllCodes) {
    const auto [place, fresh] = statuses.emplace(category(code), exit_status(code));
    EXPECT_EQ(place->second, exit_status(code)) << code_text(code);
  }
}

TEST(ExitStatus, RefusalsAreTheCodesWithStatusFour) {
  for (const Code code : kAllCodes) EXPECT_EQ(is_refusal(code), exit_status(code) == 4) << code_text(code);
}

TEST(ExitStatus, EveryCategoryHasAWord) {
  for (const Code code : kAllCodes) EXPECT_FALSE(to_text(category(code)).empty()) << code_text(code);
}

}  // namespace
}  // namespace pawl::cli
