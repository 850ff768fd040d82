// Symbols of the program take precedence over those of libc, also for the shared libraries that it uses.
#include "bench/thread_count.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

namespace pawl::bench {
namespace {

std::atomic<std::uint64_t> threads{0};  // a global, because the functions of libc have no parameter for it

}  // namespace

std::uint64_t thread_count() { return threads.load(std::memory_order_relaxed); }

}  // namespace pawl::bench

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  pawl::bench::threads.fetch_add(1, std::memory_order_relaxed);
  return create(thread, attributes, body, argument);
}
