// Which kinds of steps honour a key. A key without effect is an error.
#pragma once

#include <string>
#include <string_view>

#include "workflow/reader.hpp"

namespace pawl {

/// Runs that were begun before may have keys that were ignored then. For them it is a remark.
enum class Unhonoured : std::uint8_t { refuse, remark };

/// Checks the keys of a step of this kind.
void check_honoured(const Fields& fields, std::string_view kind, const View& view, Unhonoured how, Faults& faults);

}  // namespace pawl
