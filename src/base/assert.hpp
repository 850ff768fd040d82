// PAWL_ASSERT stays on in release builds. It is for programmer errors; bad bytes on disk are a
// `checkpoint_corrupt` or `journal_corrupt` error, never an assert.
#pragma once

namespace pawl {
[[noreturn]] void assert_failed(const char* expression, const char* file, int line);
}

#define PAWL_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::pawl::assert_failed(#expression, __FILE__, __LINE__))
