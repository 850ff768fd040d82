#include "importers/formats.hpp"

#include <algorithm>
#include <array>

namespace pawl {
namespace {

constexpr std::array<ImportFormat, 5> kFormats{{
    {"orchestration", "a tree of seq-NNNNN.json files below checkpoints/", looks_like_orchestration,
     parse_orchestration},
    {"jerry", "a .jerry folder with checkpoints/, events/ and audit/", looks_like_jerry, parse_jerry},
    {"phases", "files checkpoint_phaseN_TIME.json", looks_like_phases, parse_phases},
    {"dag", "rows of workflow_checkpoints: an SQL dump or a JSON export", looks_like_dag, parse_dag},
    {"sessions", "sessions/ID/checkpoint.json with history, and older layouts", looks_like_sessions, parse_sessions},
}};

}  // namespace

std::span<const ImportFormat> import_formats() { return kFormats; }

const ImportFormat* find_import_format(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &ImportFormat::name);
  return found == kFormats.end() ? nullptr : &*found;
}

const ImportFormat* recognise_import(const SourceTree& tree) {
  const auto* found =
      std::ranges::find_if(kFormats, [&](const ImportFormat& format) { return format.recognises(tree); });
  return found == kFormats.end() ? nullptr : &*found;
}

}  // namespace pawl
