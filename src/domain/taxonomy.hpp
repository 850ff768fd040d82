// Names of error classes that other checkpoint systems use, and the codes that Pawl has for them.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <pawl/error.hpp>
#include <string_view>
#include <vector>

namespace pawl {

struct TaxonomyRow {
  std::string_view name;
  Code code;
};

/// Several names may have the same code.
inline constexpr std::array<TaxonomyRow, 21> kTaxonomy{{
    {"DiskFullError", Code::disk_full},
    {"PermissionDeniedError", Code::permission_denied},
    {"AtomicRenameFailedError", Code::rename_failed},
    {"CheckpointNotFoundError", Code::checkpoint_not_found},
    {"CheckpointCorruptError", Code::checkpoint_corrupt},
    {"ChecksumMismatchError", Code::checksum_mismatch},
    {"NoValidCheckpointError", Code::no_valid_checkpoint},
    {"EventReplayFailedError", Code::event_replay_failed},
    {"StateReconstructionError", Code::state_reconstruction_failed},
    {"UnsupportedVersionError", Code::unsupported_version},
    {"MigrationFailedError", Code::migration_failed},
    {"CheckpointConflictError", Code::parent_conflict},
    {"InvalidStateError", Code::transition_refused},
    {"HandlerNotFoundError", Code::handler_not_registered},
    // Families: the code of the general case.
    {"CheckpointWriteError", Code::write_failed},
    {"CheckpointReadError", Code::read_failed},
    {"CheckpointRecoveryError", Code::no_valid_checkpoint},
    {"CheckpointSchemaError", Code::unsupported_version},
    // Other names for the same errors.
    {"CheckpointStorageError", Code::write_failed},
    {"SchemaMigrationError", Code::migration_failed},
    {"IntegrityError", Code::checksum_mismatch},
}};

/// Ignores case.
[[nodiscard]] constexpr std::optional<Code> code_of_error_name(std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  for (const TaxonomyRow& row : kTaxonomy) {
    if (std::ranges::equal(row.name, name, {}, lower, lower)) return row.code;
  }
  return std::nullopt;
}

/// Empty if other systems have no name for the code.
[[nodiscard]] inline std::vector<std::string_view> error_names(Code code) {
  std::vector<std::string_view> names;
  for (const TaxonomyRow& row : kTaxonomy) {
    if (row.code == code) names.push_back(row.name);
  }
  return names;
}

}  // namespace pawl
