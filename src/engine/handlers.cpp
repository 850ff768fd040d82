#include <pawl/handlers.hpp>

#include "base/mutex.hpp"
#include "base/result.hpp"

namespace pawl {

struct HandlerRegistry::Parts {
  Mutex mutex;
  std::map<std::string, Handler> handlers PAWL_GUARDED_BY(mutex);
};

HandlerRegistry::HandlerRegistry() : parts_(std::make_unique<Parts>()) {}
HandlerRegistry::~HandlerRegistry() = default;

void HandlerRegistry::add(const std::string& name, Handler handler) {
  const Lock lock(parts_->mutex);
  parts_->handlers[name] = std::move(handler);
}

Result<Handler> HandlerRegistry::get(const std::string& name) const {
  const Lock lock(parts_->mutex);
  const auto found = parts_->handlers.find(name);
  if (found != parts_->handlers.end()) return found->second;
  std::string names;
  for (const auto& [known, handler] : parts_->handlers) names += (names.empty() ? "" : ", ") + known;
  return fail(Error{Code::handler_not_registered,
                    fmt::format("handler '{}' is not registered in this program", name),
                    {},
                    names.empty() ? std::string("register it before starting or resuming the run")
                                  : fmt::format("registered handlers: {}", names),
                    0});
}

bool HandlerRegistry::has(const std::string& name) const {
  const Lock lock(parts_->mutex);
  return parts_->handlers.contains(name);
}

std::vector<std::string> HandlerRegistry::list() const {
  const Lock lock(parts_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, handler] : parts_->handlers) names.push_back(name);
  return names;
}

}  // namespace pawl
