// The rows that an SQL dump of PostgreSQL puts into one table: INSERT and COPY statements. Nothing is executed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "importers/imported.hpp"

namespace pawl {

struct SqlRow {
  std::uint64_t line = 0;                                    // where it begins
  std::map<std::string, std::optional<std::string>> values;  // by column, lower case; nothing: NULL
  std::string fault;                                         // why it can't be used; else empty
};

/// Rows of `table` (with or without a schema before it), in their order. `columns`: the table's, for statements that
/// name none. Other statements are skipped. Never fails: what can't be read is a row with a fault.
[[nodiscard]] std::vector<SqlRow> sql_rows(std::string_view dump, std::string_view table,
                                           const std::vector<std::string>& columns);

}  // namespace pawl
