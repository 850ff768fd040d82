#include "service/audited_read.hpp"

#include "domain/event_types.hpp"
#include "engine/audit_entries.hpp"

namespace pawl {

Result<void> note_read(Store& store, const Settings& settings, Clock& clock, const RunId& run, Sequence sequence,
                       std::string_view reader) {
  if (!settings.audit.reads) return {};
  NewAuditEntry entry{event_type::kCheckpointRead, {}, {{"checkpoint", sequence.value}, {"command", reader}}};
  auto added = add_audit_entry(store, run, std::move(entry), settings, clock);
  if (added) return {};
  Error error = added.error();
  error.message = fmt::format("cannot record this read in the audit trail, so nothing is shown: {}", error.message);
  error = with_other_advice(std::move(error), Advice::show_settings, {.value = "audit"});
  error.hint = "the setting audit.reads is on";
  return fail(std::move(error));
}

}  // namespace pawl
