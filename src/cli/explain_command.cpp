#include <algorithm>
#include <cctype>
#include <charconv>

#include "cli/command.hpp"
#include "cli/error_pages.hpp"
#include "cli/json_out.hpp"

namespace pawl::cli {
namespace {

constexpr Code kCodes[] = {
#define PAWL_CODE(number, name, exit_status, title) Code::name,
#include <pawl/error_codes.def>
#undef PAWL_CODE
};

struct ExplainArguments {
  std::string code;
};

/// `PAWL-0301`, `pawl-301`, `0301` or `301`.
std::optional<Code> parse_code(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
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
  JsonObject object;
  object.text("code", code_text(code))
      .text("title", code_title(code))
      .number("exit_status", static_cast<std::uint64_t>(exit_status(code)));
  return object;
}

void list_codes(const Invocation& invocation) {
  std::vector<std::string> rows;
  Table table({"CODE", "EXIT", "MEANING"});
  for (const Code code : kCodes) {
    rows.push_back(code_object(code).done());
    table.add({code_text(code), std::to_string(exit_status(code)), code_title(code)});
  }
  invocation.print(invocation.json() ? json_array(rows) + "\n" : table.text(invocation.style()));
}

Result<void> explain(const Invocation& invocation, const ExplainArguments& arguments) {
  if (arguments.code.empty()) {
    list_codes(invocation);
    return {};
  }
  const std::optional<Code> code = parse_code(arguments.code);
  if (!code) {
    return fail(Error{Code::usage,
                      fmt::format("there is no error code '{}'", arguments.code),
                      {},
                      "`pawl explain` lists all codes",
                      0});
  }
  std::string page = page_of(*code);
  if (!page.ends_with('\n')) page += "\n";
  invocation.print(invocation.json() ? code_object(*code).text("text", page).done() + "\n" : page);
  return {};
}

}  // namespace

Command add_explain(Options& root) {
  const auto arguments = std::make_shared<ExplainArguments>();
  Options& app = root.command("explain", "Explain an error code: what happened, why, what to do");
  app.group(kCareGroup);
  std::vector<std::string> codes;
  for (const Code code : kCodes) codes.push_back(code_text(code));
  app.text("CODE", arguments->code, "PAWL-0301, 0301 or 301; all codes without it").suggests(codes);
  app.footer(
      "Examples:\n"
      "  pawl explain PAWL-0201\n"
      "  pawl explain 201");
  return {&app, [arguments](const Invocation& invocation) { return explain(invocation, *arguments); }};
}

}  // namespace pawl::cli
