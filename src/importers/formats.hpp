// The formats that can be imported. docs/imports.md says what each of them is.
#pragma once

#include <span>
#include <string_view>

#include "importers/imported.hpp"
#include "importers/source_tree.hpp"

namespace pawl {

struct ImportFormat {
  std::string_view name;
  std::string_view what;  // for people
  /// Whether the tree looks like it. Reads little.
  bool (*recognises)(const SourceTree& tree);
  void (*parse)(const SourceTree& tree, const ImportSink& sink);
};

/// In the order in which they are tried.
[[nodiscard]] std::span<const ImportFormat> import_formats();
/// Null where there is none of this name.
[[nodiscard]] const ImportFormat* find_import_format(std::string_view name);
/// Null where nothing looks familiar.
[[nodiscard]] const ImportFormat* recognise_import(const SourceTree& tree);

// One file each.
[[nodiscard]] bool looks_like_orchestration(const SourceTree& tree);
void parse_orchestration(const SourceTree& tree, const ImportSink& sink);
[[nodiscard]] bool looks_like_jerry(const SourceTree& tree);
void parse_jerry(const SourceTree& tree, const ImportSink& sink);
[[nodiscard]] bool looks_like_phases(const SourceTree& tree);
void parse_phases(const SourceTree& tree, const ImportSink& sink);
[[nodiscard]] bool looks_like_dag(const SourceTree& tree);
void parse_dag(const SourceTree& tree, const ImportSink& sink);
[[nodiscard]] bool looks_like_sessions(const SourceTree& tree);
void parse_sessions(const SourceTree& tree, const ImportSink& sink);

}  // namespace pawl
