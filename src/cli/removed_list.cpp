#include "cli/removed_list.hpp"

#include "cli/json_out.hpp"
#include "cli/table.hpp"
#include "text/json_text.hpp"

namespace pawl::cli {

Result<void> list_removed(const Invocation& invocation, Store& store, std::size_t limit) {
  PAWL_TRY_ASSIGN(const std::vector<Erasure> removed, store.removed(limit));
  if (invocation.json()) {
    std::vector<std::string> rows;
    for (const Erasure& one : removed) {
      rows.push_back(JsonObject()
                         .text("run", one.run.text())
                         .text("uuid", one.uuid.text())
                         .number("latest", one.latest.value)
                         .raw("checkpoints", one.checkpoints ? std::to_string(*one.checkpoints) : "null")
                         .number("audit_entries", one.entries)
                         .text("audit_head", one.head)
                         .text("removed_at", one.at.text())
                         .text("by", one.by)
                         .text("reason", one.reason)
                         .boolean("pending", one.outcome == Erasure::Outcome::pending)
                         .raw("erased_at", one.erased_at ? escape_json(one.erased_at->text()) : "null")
                         .text("erased_by", one.erased_by)
                         .text("erased_reason", one.erased_reason)
                         .done());
    }
    invocation.print(json_array(rows) + "\n");
    return {};
  }
  if (removed.empty()) {
    invocation.note("no run was removed from this store");
    return {};
  }
  Table table({{.name = "RUN", .cut = Cut::middle, .least = 12},
               {.name = "SEQ", .rank = 2},
               {.name = "REMOVED"},
               {.name = "BY", .rank = 1},
               {.name = "REASON", .cut = Cut::end, .rank = 3, .least = 10}});
  for (const Erasure& one : removed) {
    table.add({printable(one.run.text()), std::to_string(one.latest.value), invocation.time_text(one.at),
               printable(one.by), printable(one.reason)});
  }
  invocation.print(table.text(invocation.style(), invocation.table_width()));
  return {};
}

}  // namespace pawl::cli
