#include "cli/command.hpp"
#include "engine/compare.hpp"
#include "service/audited_read.hpp"

namespace pawl::cli {
namespace {

struct DiffArguments {
  std::string before;
  std::string after;
};

Colour colour_of(std::string_view line) {
  if (line.starts_with('+')) return Colour::green;
  if (line.starts_with('-')) return Colour::red;
  return line.starts_with('~') ? Colour::yellow : Colour::none;
}

std::string coloured(std::string_view text, const Style& style) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    out += style(colour_of(line), line) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Result<void> diff(const Invocation& invocation, const DiffArguments& arguments) {
  PAWL_TRY_ASSIGN(const Address before, Address::parse(arguments.before));
  PAWL_TRY_ASSIGN(const Address after, Address::parse(arguments.after));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  const DiffStyle style = invocation.json() ? DiffStyle::json_patch : DiffStyle::readable;
  PAWL_TRY_ASSIGN(const Comparison comparison, compare(*store, before, after, style));
  PAWL_TRY(note_read(*store, invocation.settings(), invocation.context().clock, before.run, comparison.before.sequence,
                     "diff"));
  PAWL_TRY(note_read(*store, invocation.settings(), invocation.context().clock, after.run, comparison.after.sequence,
                     "diff"));
  invocation.print(coloured(comparison.text, invocation.style()));
  if (comparison.same_bytes) {
    invocation.note(fmt::format("{} and {} have the same state", arguments.before, arguments.after));
  } else if (comparison.same_values) {
    invocation.note(fmt::format("{} and {} have the same values; only white space, key order or number format differ",
                                arguments.before, arguments.after));
  }
  return {};
}

}  // namespace

Command add_diff(Options& root) {
  const auto arguments = std::make_shared<DiffArguments>();
  Options& app = root.command("diff", "Show the difference between the states of two checkpoints");
  app.group(kLookGroup);
  app.text("BEFORE", arguments->before, "First checkpoint: RUN@SEQ").required();
  app.text("AFTER", arguments->after, "Second checkpoint, of the same run or another").required();
  app.footer(
      "Examples:\n"
      "  pawl diff nightly@3 nightly@7\n"
      "  pawl diff nightly@3 nightly --json   as JSON Patch (RFC 6902)");
  return {&app, [arguments](const Invocation& invocation) { return diff(invocation, *arguments); }};
}

}  // namespace pawl::cli
