#include "cli/recovery.hpp"

#include "cli/workflow_session.hpp"
#include "service/recovery.hpp"
#include "text/duration.hpp"

namespace pawl::cli {
namespace {

Result<CrashedRuns> find_crashed(const Invocation& invocation, const RecoverySettings& settings) {
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  return crashed_runs(*store, settings, invocation.context().clock.now());
}

std::string text_of(const RecoveryNews& news, const RecoverySettings& settings) {
  const std::string run = news.run.text();
  switch (news.what) {
    case RecoveryNews::What::resuming: return fmt::format("resuming {}, which crashed", run);
    case RecoveryNews::What::timed_out:
      return fmt::format(
          "run {}: not completed within {} (recovery.recovery_timeout_seconds); to continue: pawl resume {}", run,
          duration_text(settings.timeout), run);
    case RecoveryNews::What::failed: break;
  }
  return fmt::format("run {}: {}", run, news.error.message);
}

}  // namespace

Result<void> recover_crashed_runs(const Invocation& invocation) {
  PAWL_TRY_ASSIGN(const Config* const config, invocation.config());
  const RecoverySettings& settings = config->settings.recovery;
  if (!settings.automatic || !config->settings.checkpoint.enabled) return {};
  const Result<CrashedRuns> crashed = find_crashed(invocation, settings);
  if (!crashed) return {};  // there is no store yet, or the run itself will report the error
  for (const GivenUpRun& run : crashed->given_up)
    invocation.note(
        fmt::format("run {0} crashed {1} times in a row; to try again: pawl resume {0}", run.run.text(), run.crashes));
  return resume_crashed(
      crashed->to_resume, settings,
      [&](const ResumeRequest& request, const std::function<void()>& on_timeout) {
        return resume_workflow(invocation, request, {.timeout = settings.timeout, .on_timeout = on_timeout});
      },
      [&](const RecoveryNews& news) { invocation.note(text_of(news, settings)); });
}

}  // namespace pawl::cli
