// The public library: checked input, then the port.
#include <pawl/pawl.hpp>

#include "app/compose.hpp"
#include "app/settings.hpp"
#include "engine/erase.hpp"
#include "engine/save.hpp"

namespace pawl {

Run::Run(std::unique_ptr<RunWriter> writer, std::uint64_t state_bytes_max)
    : writer_(std::move(writer)), state_bytes_max_(state_bytes_max) {}
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;
Run::~Run() = default;

Result<Saved> Run::save(const SaveRequest& request) { return checked_save(*writer_, request, state_bytes_max_); }
Result<void> Run::flush() { return writer_->flush(); }
RunInfo Run::info() const { return writer_->info(); }

struct Pawl::Parts {
  std::unique_ptr<Store> store;
  OpenOptions options;
  std::string uri;
  Config config;
};

Pawl::Pawl(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Pawl::Pawl(Pawl&&) noexcept = default;
Pawl& Pawl::operator=(Pawl&&) noexcept = default;
Pawl::~Pawl() = default;

Result<Pawl> Pawl::open(std::string_view folder, const OpenOptions& options) {
  PAWL_TRY_ASSIGN(Config config, load_settings(folder));
  if (options.state_bytes_max) config.settings.checkpoint.size_max_bytes = *options.state_bytes_max;
  PAWL_TRY_ASSIGN(std::unique_ptr<Store> store, open_store(folder, options, StoreUse::service, config.settings));
  return Pawl(std::make_unique<Parts>(Parts{std::move(store), options, std::string(folder), std::move(config)}));
}

Result<Run> Pawl::run(std::string_view id, const RunOptions& options) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(id));
  PAWL_TRY(check_run_options(options));
  PAWL_TRY(need_checkpoints());
  PAWL_TRY_ASSIGN(std::unique_ptr<RunWriter> writer, store().open_run(run, options));
  return Run(std::move(writer), settings().checkpoint.size_max_bytes);
}

Result<void> Pawl::need_checkpoints() const {
  if (settings().checkpoint.enabled || parts_->uri == "memory:") return {};
  return fail(Error{Code::checkpoints_off, "checkpoints are off (checkpoint.enabled: false), so nothing can be saved",
                    parts_->config.origin("checkpoint", "enabled"), "set it to true there, or open the store 'memory:'",
                    0});
}

Result<Restored> Pawl::restore(std::string_view address) {
  PAWL_TRY_ASSIGN(const Address parsed, Address::parse(address));
  return store().restore(parsed.run, parsed.which);
}

Result<RunInfo> Pawl::info(std::string_view run) {
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(run));
  return store().run(id);
}

Result<std::vector<RunInfo>> Pawl::runs(std::size_t limit) { return store().runs(limit); }

Result<CheckpointInfo> Pawl::checkpoint(std::string_view address) {
  PAWL_TRY_ASSIGN(const Address parsed, Address::parse(address));
  return store().checkpoint(parsed.run, parsed.which);
}

Result<std::vector<CheckpointInfo>> Pawl::checkpoints(std::string_view run, Sequence after, std::size_t limit) {
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(run));
  return store().checkpoints(id, after, limit);
}

Result<std::vector<Event>> Pawl::events(std::string_view run, std::uint64_t after_number, std::size_t limit) {
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(run));
  return store().events(id, after_number, limit);
}

Result<std::vector<AuditEntry>> Pawl::audit(std::string_view run, std::uint64_t after, std::size_t limit) {
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(run));
  return store().audit(id, after, limit);
}

Result<CheckReport> Pawl::check(const CheckScope& scope, Repair repair) { return store().check(scope, repair); }

Result<Erasure> Pawl::erase(std::string_view run, const EraseRequest& request) {
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(run));
  return checked_erase(store(), id, request);
}

Store& Pawl::store() { return *parts_->store; }
const Settings& Pawl::settings() const { return parts_->config.settings; }
const std::string& Pawl::uri() const { return parts_->uri; }

}  // namespace pawl
