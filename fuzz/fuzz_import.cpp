// Files of other programs: whatever they contain, an importer must terminate, return runs whose states are JSON, and
// write nothing.
//
// The first byte selects the format. Files follow, each after a line with its name, until a line with a NUL.
#include <cstdint>
#include <map>
#include <string>

#include "base/assert.hpp"
#include "codec/export_text.hpp"
#include "codec/json_check.hpp"
#include "importers/adopt.hpp"
#include "importers/formats.hpp"
#include "importers/write_import.hpp"
#include "testing/text_files.hpp"

namespace {

using namespace pawl;

std::map<std::string, std::string> files_of(std::string_view bytes) {
  std::map<std::string, std::string> files;
  while (!bytes.empty() && files.size() < 16) {
    const std::size_t line = std::min(bytes.find('\n'), bytes.size());
    std::string name(bytes.substr(0, line));
    bytes.remove_prefix(std::min(line + 1, bytes.size()));
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    for (char& c : name) {
      if (c == '\0') c = '_';
    }
    if (!name.empty() && name.front() != '/' && name.back() != '/') files[name] = std::string(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return files;
}

void check_lines(std::string_view text) {
  if (const auto header = decode_export_header(text)) PAWL_ASSERT(RunId::parse(header->run).has_value());
  if (const auto entry = decode_export_entry(text))
    PAWL_ASSERT(!fmt::format("/{}/", entry->file).contains("/../") && entry->file.front() != '/');
  static_cast<void>(decode_export_end(text));
}

void check_runs(const ImportFormat& format, const SourceTree& tree) {
  Workflow workflow;
  workflow.name = "w";
  for (const char* id : {"a", "b", "c"}) {
    workflow.steps.emplace_back();
    workflow.steps.back().id = id;
    workflow.steps.back().definition_hash = std::string(64, 'a');
  }
  ImportReport report;
  ImportOptions options{.format = format.name, .mode = ImportMode::dry_run, .workflow = &workflow};
  options.working_dir = [](const Json&) -> Result<std::string> { return std::string("/"); };
  ImportWriter writer(nullptr, options, report);
  const ImportSink sink = writer.sink();
  format.parse(tree, {.run =
                          [&](ImportedRun run) {
                            PAWL_ASSERT(!run.checkpoints.empty());
                            for (const ImportedCheckpoint& checkpoint : run.checkpoints)
                              PAWL_ASSERT(check_json(checkpoint.state, 1U << 30U).has_value());
                            sink.run(std::move(run));
                          },
                      .problem =
                          [&](ImportProblem problem) {
                            PAWL_ASSERT(!problem.reason.empty());
                            sink.problem(std::move(problem));
                          },
                      .note = sink.note});
  PAWL_ASSERT(writer.finish().has_value());
  for (const TakenRun& run : report.runs) PAWL_ASSERT(RunId::parse(run.run).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(bytes + 1), size - 1);
  const auto formats = import_formats();
  const std::size_t chosen = bytes[0] % (formats.size() + 1);
  if (chosen == formats.size()) {
    check_lines(rest);
    return 0;
  }
  pawl::testing::TextFiles files(files_of(rest));
  const auto tree = SourceTree::open(files, {}, {.file_bytes_max = 1U << 20U});
  if (!tree) return 0;
  static_cast<void>(recognise_import(*tree));
  check_runs(formats[chosen], *tree);
  PAWL_ASSERT(!files.written());
  return 0;
}
