#include <algorithm>
#include <cctype>
#include <charconv>

#include "cli/command.hpp"
#include "cli/error_pages.hpp"
#include "cli/exit_status.hpp"
#include "cli/json_out.hpp"
#include "cli/wrap_text.hpp"
#include "domain/taxonomy.hpp"
#include "text/suggest.hpp"

namespace pawl::cli {
namespace {

constexpr Code kCodes[] = {
#define PAWL_CODE(number, name, category, title) Code::name,
#include <pawl/error_codes.def>
#undef PAWL_CODE
};

struct ExplainArguments {
  std::string code;
};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

/// `PAWL-0301`, `pawl-301`, `0301`, `301` or a name such as `DiskFullError`.
std::optional<Code> parse_code(std::string_view text) {
  if (const std::optional<Code> named = code_of_error_name(text)) return named;
  const std::string lower = lower_case(text);
  std::string_view digits = lower;
  if (digits.starts_with("pawl-")) digits.remove_prefix(5);
  unsigned number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  for (const Code code : kCodes) {
    if (static_cast<unsigned>(code) == number) return code;
  }
  return std::nullopt;
}

std::string page_of(Code code) {
  for (const ErrorPage& page : kErrorPages) {
    if (page.number == static_cast<unsigned>(code)) return std::string(page.text);
  }
  return fmt::format("# {}: {}\n", code_text(code), code_title(code));
}

JsonObject code_object(Code code) {
  Json names = Json::array();
  for (const std::string_view name : error_names(code)) names.push_back(name);
  JsonObject object;
  object.text("code", code_text(code))
      .text("title", code_title(code))
      .text("category", to_text(category(code)))
      .number("exit_status", static_cast<std::uint64_t>(exit_status(code)))
      .raw("names", compact(names));
  return object;
}

/// Ignores case, like the names themselves.
std::string suggested_name(const std::string& typed) {
  std::vector<std::string> known;
  for (const TaxonomyRow& row : kTaxonomy) known.push_back(lower_case(row.name));
  const std::string likely = suggest(lower_case(typed), known);
  if (likely.empty()) return "to list all codes, run: pawl explain";
  return fmt::format("did you mean '{}'?",
                     kTaxonomy[static_cast<std::size_t>(std::ranges::find(known, likely) - known.begin())].name);
}

void list_codes(const Invocation& invocation) {
  std::vector<std::string> rows;
  Table table({{.name = "CODE"}, {.name = "EXIT"}, {.name = "MEANING", .cut = Cut::end}});
  for (const Code code : kCodes) {
    rows.push_back(code_object(code).done());
    table.add({code_text(code), std::to_string(exit_status(code)), std::string(code_title(code))});
  }
  if (invocation.json()) return invocation.print(json_array(rows) + "\n");
  Table names({{.name = "NAME"}, {.name = "CODE"}});
  for (const TaxonomyRow& row : kTaxonomy) names.add({std::string(row.name), code_text(row.code)});
  invocation.print(table.text(invocation.style(), invocation.table_width()) +
                   "\nNames that other programs use. `pawl explain NAME` accepts them, too.\n\n" +
                   names.text(invocation.style(), invocation.table_width()));
}

Result<void> explain(const Invocation& invocation, const ExplainArguments& arguments) {
  if (arguments.code.empty()) {
    list_codes(invocation);
    return {};
  }
  const std::optional<Code> code = parse_code(arguments.code);
  if (!code) {
    return fail(Error{
        Code::usage, fmt::format("unknown error code '{}'", arguments.code), {}, suggested_name(arguments.code), 0});
  }
  std::string page = without_links(page_of(*code));
  if (!page.ends_with('\n')) page += "\n";
  invocation.print(invocation.json() ? code_object(*code).text("text", page).done() + "\n"
                                     : wrap_page(page, invocation.table_width()));
  return {};
}

}  // namespace

Command add_explain(Options& root) {
  const auto arguments = std::make_shared<ExplainArguments>();
  Options& app = root.command("explain", "Explain an error code: what happened, why, and what to do");
  app.group(kCareGroup);
  std::vector<std::string> codes;
  for (const Code code : kCodes) codes.push_back(code_text(code));
  for (const TaxonomyRow& row : kTaxonomy) codes.emplace_back(row.name);
  app.text("CODE", arguments->code, "PAWL-0301, 301 or a name such as DiskFullError (default: list all codes)")
      .suggests(codes);
  app.footer(
      "Examples:\n"
      "  pawl explain PAWL-0201\n"
      "  pawl explain 201\n"
      "  pawl explain DiskFullError");
  return {&app, [arguments](const Invocation& invocation) { return explain(invocation, *arguments); }};
}

}  // namespace pawl::cli
