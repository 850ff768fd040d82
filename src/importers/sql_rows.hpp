// Reads the rows of one table from an SQL dump of PostgreSQL: INSERT and COPY statements. Nothing is executed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "importers/imported.hpp"

namespace pawl {

struct SqlRow {
  std::uint64_t line = 0;                                    // where it starts
  std::map<std::string, std::optional<std::string>> values;  // by column, in lower case; nothing means NULL
  std::string fault;                                         // why it can't be used; empty if it can
};

/// Returns the rows of `table` (with or without a schema), in order. `columns` are used for statements that name none.
/// Skips other statements. Never fails: a row that can't be read has a fault.
[[nodiscard]] std::vector<SqlRow> sql_rows(std::string_view dump, std::string_view table,
                                           const std::vector<std::string>& columns);

}  // namespace pawl
