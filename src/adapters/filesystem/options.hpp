// The place, sizes and bounds of the filesystem store. The defaults are what docs/formats say; tests shrink them.
#pragma once

#include <cstdint>
#include <string>

namespace pawl {

enum class Background : std::uint8_t {
  none,    // publishing happens when the store is closed, or when the journal is full
  thread,  // a thread publishes, another one collects the saves of many threads into batches
};

struct FilesystemOptions {
  std::string root = {};  // absolute path of the store's folder; empty: it is on no disk that others can see
  Background background = Background::none;
  std::uint64_t segment_bytes = 4ULL << 20;
  std::uint64_t segments_max = 4;              // so a journal has at most 16 MB
  std::uint64_t inline_bytes_max = 1ULL << 20;  // a larger payload becomes a file of its own
  std::uint64_t batch_bytes_max = 2ULL << 20;   // saves are collected up to this size
  std::uint64_t differences_floor_bytes = 256ULL << 10;  // differences may grow to this before a whole one comes
  std::uint64_t differences_max = 1000;                  // or to this number
  std::uint64_t sync_all_from_files = 32;                // from so many files on, one syncfs replaces their syncs
  std::int64_t async_window_us = 100'000;
  std::int64_t backlog_wait_us = 30'000'000;  // a save waits this long for the publisher before it fails
};

}  // namespace pawl
