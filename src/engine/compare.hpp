// Comparing the states of two checkpoints.
#pragma once

#include "ports/store.hpp"

namespace pawl {

enum class DiffStyle : std::uint8_t {
  readable,    // lines for people
  json_patch,  // RFC 6902, one array
};

struct Comparison {
  CheckpointInfo before;
  CheckpointInfo after;
  bool same_bytes = false;   // the states are equal byte for byte
  bool same_values = false;  // equal JSON values, apart from white space and the order of keys
  std::string text;          // in the requested style; empty in the readable style if the values are equal
};

/// Restores both states and compares them. The two may belong to different runs.
[[nodiscard]] Result<Comparison> compare(Store& store, const Address& before, const Address& after, DiffStyle style);

}  // namespace pawl
