// The formats that can be imported. docs/imports.md describes each of them.
#pragma once

#include <span>
#include <string_view>

#include "importers/imported.hpp"
#include "importers/source_tree.hpp"

namespace pawl {

struct ImportFormat {
  std::string_view name;
  std::string_view what;  // for people
  /// Returns whether the tree looks like this format. Reads only a little of it.
  bool (*recognises)(const SourceTree& tree);
  void (*parse)(const SourceTree& tree, const ImportSink& sink);
};

/// Returns all formats, in the order in which detection tries them.
[[nodiscard]] std::span<const ImportFormat> import_formats();
/// Returns null if there is no format of this name.
[[nodiscard]] const ImportFormat* find_import_format(std::string_view name);
/// Returns null if no format matches.
[[nodiscard]] const ImportFormat* recognise_import(const SourceTree& tree);

// Each format has a source file of its own.
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
