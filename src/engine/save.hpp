// Saves after checking all input. Pure, apart from the writer.
#pragma once

#include "ports/store.hpp"

namespace pawl {

inline constexpr std::size_t kLabelBytesMax = 256;
inline constexpr std::uint64_t kMetadataBytesMax = 1ULL << 20;
inline constexpr std::uint64_t kEventBytesMax = 8ULL << 20;    // of one event's data
inline constexpr std::uint64_t kEventsBytesMax = 32ULL << 20;  // of the events of one save
inline constexpr std::uint64_t kMessageBytesMax = 1ULL << 20;

/// Checks a name, stage, step, session, caller's id or event type: at most kLabelBytesMax bytes of valid UTF-8 without
/// control characters, or empty. Fails with invalid_label, which names `what`.
[[nodiscard]] Result<void> check_label(std::string_view what, std::string_view label);

/// Checks the labels of the options. `workflow` may be a path, so its limit is 4096 bytes.
[[nodiscard]] Result<void> check_run_options(const RunOptions& options);

/// Checks everything that needs no store: the body and the data of events must be JSON (codec/json_check), metadata a
/// JSON object, labels as above. Writes nothing.
[[nodiscard]] Result<void> check_request(const SaveRequest& request, std::uint64_t state_bytes_max);

/// Calls check_request, then saves. A failed check writes nothing, and the writer stays usable.
[[nodiscard]] Result<Saved> checked_save(RunWriter& writer, const SaveRequest& request, std::uint64_t state_bytes_max);

/// Checks everything but the state, then calls RunWriter::save_change. For callers inside the project, which know that
/// the changed state is valid JSON.
[[nodiscard]] Result<Saved> checked_change(RunWriter& writer, const SaveRequest& request,
                                           std::span<const Splice> change);

/// Posts a message with a JSON body of at most kMessageBytesMax bytes, and returns its id. Line breaks between tokens
/// become spaces. A failed check writes nothing.
[[nodiscard]] Result<std::string> checked_post(Store& store, const RunId& run, std::string_view body);

}  // namespace pawl
