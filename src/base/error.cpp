#include <fmt/format.h>
#include <pawl/error.hpp>

namespace pawl {

std::string code_text(Code code) { return fmt::format("PAWL-{:04}", static_cast<unsigned>(code)); }

const char* code_title(Code code) {
  switch (code) {
#define PAWL_CODE(number, name, category, title) \
  case Code::name: return title;
#include <pawl/error_codes.def>
#undef PAWL_CODE
  }
  return "Unknown code";
}

Category category(Code code) {
  switch (code) {
#define PAWL_CODE(number, name, category, title) \
  case Code::name: return Category::category;
#include <pawl/error_codes.def>
#undef PAWL_CODE
  }
  return Category::system;
}

std::string_view to_text(Category category) {
  switch (category) {
    case Category::usage: return "usage";
    case Category::not_found: return "not_found";
    case Category::refused: return "refused";
    case Category::conflict: return "conflict";
    case Category::busy: return "busy";
    case Category::integrity: return "integrity";
    case Category::version: return "version";
    case Category::storage: return "storage";
    case Category::system: return "system";
    case Category::waiting: return "waiting";
    case Category::failed: return "failed";
    case Category::interrupted: return "interrupted";
  }
  return "";
}

bool is_refusal(Code code) {
  switch (category(code)) {
    case Category::refused:
    case Category::conflict:
    case Category::busy:
    case Category::integrity:
    case Category::version: return true;
    default: return false;
  }
}

bool is_machine_failure(Code code) {
  const Category kind = category(code);
  return kind == Category::storage || kind == Category::system;
}

std::string describe(const Error& error) {
  std::string text = fmt::format("{}: {}", code_text(error.code), error.message);
  if (!error.where.empty()) text += fmt::format(" ({})", error.where);
  if (!error.hint.empty()) text += "\n" + error.hint;
  return text;
}

}  // namespace pawl
