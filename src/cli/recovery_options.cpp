#include "cli/recovery_options.hpp"

namespace pawl::cli {

Result<Fallback> fallback_of(const Invocation& invocation, Fallback told) {
  if (told == Fallback::allow) return told;
  PAWL_TRY_ASSIGN(const Config* const config, invocation.config());
  return config->settings.recovery.fallback_to_previous ? Fallback::allow : Fallback::refuse;
}

std::string recovery_text(const RecoveryResult& result) {
  return fmt::format("checkpoint {} ({}{}): {} rebuilt, {} events replayed, {:.1f} ms",
                     result.checkpoint.info.sequence.value, to_text(result.mode),
                     result.fell_back ? ", a fallback" : "", result.rebuilt, result.events_replayed,
                     static_cast<double>(result.took_us) / 1000.0);
}

}  // namespace pawl::cli
