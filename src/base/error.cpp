#include <fmt/format.h>
#include <pawl/error.hpp>

namespace pawl {

std::string code_text(Code code) { return fmt::format("PAWL-{:04}", static_cast<unsigned>(code)); }

const char* code_title(Code code) {
  switch (code) {
#define PAWL_CODE(number, name, exit_status, title) \
  case Code::name: return title;
#include <pawl/error_codes.def>
#undef PAWL_CODE
  }
  return "Unknown code";
}

int exit_status(Code code) {
  switch (code) {
#define PAWL_CODE(number, name, exit_status, title) \
  case Code::name: return exit_status;
#include <pawl/error_codes.def>
#undef PAWL_CODE
  }
  return 5;
}

std::string describe(const Error& error) {
  std::string text = fmt::format("{}: {}", code_text(error.code), error.message);
  if (!error.where.empty()) text += fmt::format(" ({})", error.where);
  if (!error.hint.empty()) text += "\n" + error.hint;
  return text;
}

}  // namespace pawl
