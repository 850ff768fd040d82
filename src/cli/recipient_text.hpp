// Which process acts on a message to a run.
#pragma once

#include "cli/json_out.hpp"
#include "engine/control.hpp"

namespace pawl::cli {

[[nodiscard]] inline std::string recipient_text(const Recipient& to) {
  if (to.owner) return fmt::format("the run continues: {} is executing it", *to.owner);
  return fmt::format("to continue: pawl resume {}", to.resume);
}

inline JsonObject& add_recipient(JsonObject& document, const Recipient& to) {
  if (to.owner) return document.text("owner", *to.owner).raw("resume", "");
  return document.raw("owner", "").text("resume", to.resume);
}

}  // namespace pawl::cli
