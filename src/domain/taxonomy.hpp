// Names of errors in the programs that Pawl imports from, and Pawl's codes for them.
#pragma once

#include <array>
#include <optional>
#include <pawl/error.hpp>
#include <string_view>

namespace pawl {

struct TaxonomyRow {
  std::string_view name;
  Code code;
};

/// Where several names have one code, the first row gives the code's name.
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
    // Families: the code of the general case
    {"CheckpointWriteError", Code::write_failed},
    {"CheckpointReadError", Code::read_failed},
    {"CheckpointRecoveryError", Code::no_valid_checkpoint},
    {"CheckpointSchemaError", Code::unsupported_version},
    // Other names for the same
    {"CheckpointStorageError", Code::write_failed},
    {"SchemaMigrationError", Code::migration_failed},
    {"IntegrityError", Code::checksum_mismatch},
}};

[[nodiscard]] constexpr std::optional<Code> code_of_taxonomy(std::string_view name) {
  for (const TaxonomyRow& row : kTaxonomy) {
    if (row.name == name) return row.code;
  }
  return std::nullopt;
}

/// Returns an empty text if no such name exists for the code.
[[nodiscard]] constexpr std::string_view taxonomy_name(Code code) {
  for (const TaxonomyRow& row : kTaxonomy) {
    if (row.code == code) return row.name;
  }
  return {};
}

}  // namespace pawl
