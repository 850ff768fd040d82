#include "adapters/filesystem/migrations.hpp"

#include "codec/record_text.hpp"

namespace pawl {
namespace {

/// Format 2 adds `v`, `enc` and keys to records. Records of format 1 stay as they are, so only the number in store.json
/// changes. It keeps older programs from opening a store that they can't read.
Result<std::string> from_1_to_2(std::string_view text) {
  PAWL_TRY_ASSIGN(StoreRecord store, decode_store(text));
  store.format = 2;
  return change_store(text, store);
}

struct Migration {
  std::uint32_t from;
  Result<std::string> (*run)(std::string_view text);
};
constexpr Migration kMigrations[] = {{1, from_1_to_2}};

}  // namespace

Result<std::string> migrate_store(std::string_view text) {
  std::string migrated(text);
  PAWL_TRY_ASSIGN(StoreRecord store, decode_store(migrated));
  for (const Migration& migration : kMigrations) {
    if (store.format != migration.from) continue;
    PAWL_TRY_ASSIGN(migrated, migration.run(migrated));
    PAWL_TRY_ASSIGN(store, decode_store(migrated));
  }
  if (store.format == kFormat) return migrated;
  return fail(Code::migration_failed, "can't migrate the store from format {} to format {}", store.format, kFormat);
}

}  // namespace pawl
