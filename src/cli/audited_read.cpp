#include "cli/audited_read.hpp"

#include "domain/event_types.hpp"
#include "engine/audit_entries.hpp"

namespace pawl::cli {

bool reads_are_noted(const Invocation& invocation) {
  const Result<const Config*> config = invocation.config();
  return config &&
         (*config)->settings.audit.reads;  // settings that can't be read are the business of whoever needs them
}

Result<void> note_read(const Invocation& invocation, Store& store, const RunId& run, Sequence sequence,
                       std::string_view command) {
  if (!reads_are_noted(invocation)) return {};
  PAWL_TRY_ASSIGN(const Config* const config, invocation.config());
  NewAuditEntry entry{event_type::kCheckpointRead, {}, {{"checkpoint", sequence.value}, {"command", command}}};
  auto added = add_audit_entry(store, run, std::move(entry), config->settings, invocation.context().clock);
  if (added) return {};
  Error error = added.error();
  error.message =
      fmt::format("the reading can't be recorded in the audit trail, so nothing is shown: {}", error.message);
  return fail(with_hint(std::move(error), "audit.reads is set: `pawl config audit` shows where"));
}

}  // namespace pawl::cli
