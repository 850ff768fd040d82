// Saving with everything checked that comes from outside. Pure except for the writer it is given.
#pragma once

#include "ports/store.hpp"

namespace pawl {

inline constexpr std::size_t kLabelBytesMax = 256;
inline constexpr std::uint64_t kMetadataBytesMax = 1ULL << 20;
inline constexpr std::uint64_t kEventBytesMax = 8ULL << 20;    // of one event's data
inline constexpr std::uint64_t kEventsBytesMax = 32ULL << 20;  // of those of one save
inline constexpr std::uint64_t kMessageBytesMax = 1ULL << 20;

/// A name, stage, step, session, caller's id or event type: at most kLabelBytesMax bytes of valid UTF-8
/// without control characters; empty is fine. Else invalid_label, naming `what`.
[[nodiscard]] Result<void> check_label(std::string_view what, std::string_view label);

/// The labels of the options. `workflow` may be a path, so it may be longer (4096 bytes).
[[nodiscard]] Result<void> check_run_options(const RunOptions& options);

/// Everything that can be known to be wrong without a store: the body and the events' data must be JSON
/// (codec/json_check), metadata a JSON object, labels as above. Touches nothing.
[[nodiscard]] Result<void> check_request(const SaveRequest& request, std::uint64_t state_bytes_max);

/// check_request, then the save. A failed check writes nothing and leaves the writer usable.
[[nodiscard]] Result<Saved> checked_save(RunWriter& writer, const SaveRequest& request, std::uint64_t state_bytes_max);

/// Posts a message whose body is JSON (codec/json_check) of at most kMessageBytesMax bytes; line breaks
/// between its tokens become spaces. Gives the message's id. A failed check writes nothing.
[[nodiscard]] Result<std::string> checked_post(Store& store, const RunId& run, std::string_view body);

}  // namespace pawl
