// Runs the saves of an execution one at a time, on a thread of its own while steps run: they continue during a save,
// and changes made meanwhile share the next one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.hpp"
#include "engine/state_text.hpp"
#include "ports/store.hpp"

namespace pawl {

/// A SaveRequest that owns its state.
struct SaveDraft {
  std::string state;                // the whole state, or
  std::vector<TextChange> changes;  // what changed in the last one,
  bool is_change = false;           // if this is set
  SaveRequest request;              // `body` is set by the saver
};

class Saver {
 public:
  /// Calls `done` on the saver's thread, once for each begin.
  using Done = std::function<void(Result<Saved> result)>;
  Saver(RunWriter& writer, std::uint64_t state_bytes_max, Done done);
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;
  /// Finishes the save in progress.
  ~Saver();

  /// Must be called only after `done` of the previous save. Starts the thread if there is none yet.
  void begin(SaveDraft draft);
  /// The same on the thread of the caller, who gets the result instead of `done`.
  [[nodiscard]] Result<Saved> save(const SaveDraft& draft);

 private:
  void run();

  RunWriter& writer_;
  const std::uint64_t state_bytes_max_;
  const Done done_;
  Mutex mutex_;
  Condition wake_;
  std::optional<SaveDraft> next_ PAWL_GUARDED_BY(mutex_);
  bool stopping_ PAWL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace pawl
