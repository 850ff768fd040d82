#include "engine/compare.hpp"

#include "codec/json_diff.hpp"

namespace pawl {

Result<Comparison> compare(Store& store, const Address& before, const Address& after, DiffStyle style) {
  PAWL_TRY_ASSIGN(const Restored first, store.restore(before.run, before.which));
  PAWL_TRY_ASSIGN(const Restored second, store.restore(after.run, after.which));
  Comparison comparison{.before = first.info,
                        .after = second.info,
                        .same_bytes = first.state == second.state,
                        .same_values = false,
                        .text = {}};
  if (style == DiffStyle::json_patch) {
    PAWL_TRY_ASSIGN(comparison.text, json_patch(first.state, second.state));
    comparison.same_values = comparison.text == "[]";
  } else {
    PAWL_TRY_ASSIGN(comparison.text, readable_diff(first.state, second.state));
    comparison.same_values = comparison.text.empty();
  }
  return comparison;
}

}  // namespace pawl
