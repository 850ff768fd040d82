#pragma once

#include <pthread.h>

namespace pawl {

/// Names the calling thread for debuggers and profilers. Names have at most 15 characters.
inline void name_this_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

}  // namespace pawl
