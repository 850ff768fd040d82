#include "cli/audited_read.hpp"

#include "engine/audit_entries.hpp"

namespace pawl::cli {

Result<void> note_read(const Invocation& invocation, Store& store, const RunId& run, Sequence sequence, std::string_view command) {
  const Result<const Config*> config = invocation.config();
  if (!config) return {};  // settings that can't be read are the business of whoever needs them
  if (!(*config)->settings.audit.reads) return {};
  NewAuditEntry entry{"checkpoint_read", {}, {{"checkpoint", sequence.value}, {"command", command}}};
  auto added = add_audit_entry(store, run, std::move(entry), (*config)->settings, invocation.context().clock);
  if (added) return {};
  Error error = added.error();
  error.message = fmt::format("the reading can't be recorded in the audit trail, so nothing is shown: {}", error.message);
  return fail(with_hint(std::move(error), "audit.reads is set: `pawl config audit` shows where"));
}

}  // namespace pawl::cli
