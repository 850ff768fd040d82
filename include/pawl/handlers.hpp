// Steps as C++ functions: a handler is called by its name, from workflows (`handler: NAME`) and from resumes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <pawl/error.hpp>
#include <string>
#include <vector>

namespace pawl {

/// One attempt at a step.
struct HandlerCall {
  std::string run = {};
  std::string step = {};             // its path: `pages[17].write`
  std::string idempotency_key = {};  // the same in all attempts
  std::uint32_t attempt = 1;
  std::string input = "null";     // JSON: what `with:` gave
  std::string item = "null";      // JSON: of a map
  std::uint64_t index = 0;        // of the item
  std::string previous = "null";  // JSON: what an unfinished attempt reported
};

struct HandlerResult {
  std::string output = "null";  // JSON
  /// Lines as in $PAWL_RESULT: decisions, confidence, tokens, cost and so on, each a JSON object.
  std::vector<std::string> report = {};
};

/// Called from several threads. An error fails the attempt; it is retried as the step's settings say,
/// except for the errors of bad input (exit status 2) and of safety (4).
using Handler = std::function<Result<HandlerResult>(const HandlerCall& call)>;

/// Only what was registered here can be called: nothing that is read from a store names code. Thread-safe.
class HandlerRegistry {
 public:
  HandlerRegistry();
  HandlerRegistry(const HandlerRegistry&) = delete;
  HandlerRegistry& operator=(const HandlerRegistry&) = delete;
  ~HandlerRegistry();

  /// Replaces one of the same name.
  void add(const std::string& name, Handler handler);
  /// Fails with handler_not_registered, naming those that are.
  [[nodiscard]] Result<Handler> get(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  /// Sorted.
  [[nodiscard]] std::vector<std::string> list() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl
