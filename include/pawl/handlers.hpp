// Handlers are C++ functions that implement steps. Workflows call them by name (`handler: NAME`).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <pawl/error.hpp>
#include <string>
#include <vector>

namespace pawl {

/// The arguments of one attempt at a step.
struct HandlerCall {
  std::string run = {};              // ID of the run
  std::string step = {};             // path of the step, for example `pages[17].write`
  std::string idempotency_key = {};  // unique to this step of this run, and the same in all attempts
  std::uint32_t attempt = 1;         // number of this attempt, starting at 1
  std::string input = "null";        // JSON: the value of `with:`
  std::string item = "null";         // JSON: the item, if the step is inside a map
  std::uint64_t index = 0;           // index of the item, starting at 0
  std::string previous = "null";     // JSON: the last progress that an unfinished attempt reported
};

struct HandlerResult {
  std::string output = "null";  // JSON, at most 8 MiB
  /// Reports as in $PAWL_RESULT, each a JSON object on one line: decisions, confidence, tokens, cost and so on
  /// (docs/workflow.md).
  std::vector<std::string> report = {};
};

/// The engine may call a handler from several threads at the same time. If it returns an error or throws, the attempt
/// fails. A failed attempt is retried according to the `retry:` of the step. Errors of the categories usage, not_found,
/// refused, conflict, busy, integrity and version are never retried.
using Handler = std::function<Result<HandlerResult>(const HandlerCall& call)>;

/// The handlers that workflows may call. Data read from a store can only select a handler that is registered here.
/// Thread-safe.
class HandlerRegistry {
 public:
  HandlerRegistry();
  HandlerRegistry(const HandlerRegistry&) = delete;
  HandlerRegistry& operator=(const HandlerRegistry&) = delete;
  ~HandlerRegistry();

  /// Registers a handler. Replaces an existing handler with the same name.
  void add(const std::string& name, Handler handler);
  /// Returns a copy of the handler. Fails with handler_not_registered; the hint lists the registered names.
  [[nodiscard]] Result<Handler> get(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  /// Returns the registered names, sorted.
  [[nodiscard]] std::vector<std::string> list() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl
