// Keys whose values are never saved, through a real execution.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "adapters/memory/memory_store.hpp"
#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_local_files.hpp"
#include "adapters/posix/posix_process_runner.hpp"
#include "app/compose.hpp"
#include "engine/open_run.hpp"
#include "engine/run_session.hpp"
#include "workflow/parse_workflow.hpp"

namespace pawl {
namespace {

class SecretsTest : public ::testing::Test {
 protected:
  SecretsTest() {
    std::string path = (std::filesystem::temp_directory_path() / "pawl_secrets_XXXXXX").string();
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    root_ = path;
    auto opened = open_store(root_ + "/store", {}, StoreUse::service);
    EXPECT_TRUE(opened) << describe(opened.error());
    store_ = std::move(*opened);
  }
  ~SecretsTest() override {
    store_.reset();
    std::filesystem::remove_all(root_);
  }

  ExecutionServices services() {
    ExecutionServices made{
        .store = *store_, .clock = clock_, .random = random_, .files = files_, .handlers = handlers_};
    made.environment = {"PATH=/usr/bin:/bin", "ROOT=" + root_};
    made.load_workflow = [this](const std::string&) -> Result<Workflow> { return parse_or_fail({text_, ""}); };
    made.settings.secrets = settings_;
    return made;
  }
  Result<void> execute(ExecutionServices& with, OpenedRun opened) {
    SessionHooks hooks;
    hooks.start_processes = [](const std::string& lock) -> Result<std::unique_ptr<ProcessRunner>> {
      PAWL_TRY_ASSIGN(std::unique_ptr<PosixProcessRunner> started, PosixProcessRunner::start_reaper(lock));
      return started;
    };
    return execute_run(with, std::move(opened), hooks, how_it_ended);
  }
  Result<void> run(const Json& vars) {
    ExecutionServices with = services();
    PAWL_TRY_ASSIGN(Workflow workflow, parse_or_fail({text_, ""}));
    PAWL_TRY_ASSIGN(
        OpenedRun opened,
        open_new(with, {.id = id_, .workflow = std::make_shared<const Workflow>(std::move(workflow)), .vars = vars}));
    return execute(with, std::move(opened));
  }
  Result<void> resume(const Json& given) {
    ExecutionServices with = services();
    with.given = given;
    PAWL_TRY_ASSIGN(Resumption resumption, open_resume(with, {.id = id_}));
    return execute(with, std::move(resumption.run));
  }
  /// Returns whether a file of the store contains it.
  [[nodiscard]] bool is_in_store(const std::string& text) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_ + "/store")) {
      if (!entry.is_regular_file()) continue;
      const Result<std::string> content = files_.read(entry.path().string(), 1U << 30);
      if (content && content->find(text) != std::string::npos) return true;
    }
    return false;
  }
  [[nodiscard]] std::string saved() { return store_->restore(id_, {})->state; }

  std::string root_;
  SystemClock clock_;
  SystemRandom random_;
  PosixLocalFiles files_;
  HandlerRegistry handlers_;
  std::unique_ptr<Store> store_;
  const RunId id_ = *RunId::parse("r");
  SecretSettings settings_;
  std::string text_;
};

TEST_F(SecretsTest, ValuesOfConfiguredKeysAreNeverSavedAndAreAskedForAgain) {
  settings_.state_keys = {"token"};
  text_ = R"yaml(
vars: {token: null, other: 1}
steps:
- id: a
  run: 'printf "{\"token\": \"%s\", \"n\": 1}" "$T"'
  env: {T: '${vars.token}'}
  capture: {format: json}
- id: b
  run: 'test "$A" = "$(cat "$ROOT/expected")" && test "$V" = "$A"'
  env: {A: '${steps.a.output.token}', V: '${vars.token}'}
)yaml";
  const Result<void> first = run({{"token", "plain-value-1"}});
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Code::run_failed) << describe(first.error());
  EXPECT_NE(saved().find(R"("token":"[masked:token]")"), std::string::npos);
  EXPECT_NE(saved().find(R"("n":1)"), std::string::npos);
  EXPECT_FALSE(is_in_store("plain-value-1"));

  const Result<void> refused = resume(Json::object());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_variable);
  EXPECT_NE(refused.error().message.find("'token'"), std::string::npos);

  ASSERT_TRUE(files_.write(root_ + "/expected", "plain-value-1"));
  const Result<void> second = resume({{"token", "plain-value-1"}});
  EXPECT_TRUE(second) << describe(second.error());
  EXPECT_NE(saved().find(R"("token":"[masked:token]")"), std::string::npos);
}

TEST_F(SecretsTest, OutputsThatStandInEventsAreMaskedAndComeBack) {
  settings_.state_keys = {"token"};
  text_ = R"yaml(
steps:
- id: a
  run: 'printf "{\"token\": \"plain-%s\", \"x\": \"%05000d\"}" value-2 0'
  capture: {format: json}
- id: b
  run: 'test "$A" = "$(cat "$ROOT/expected")"'
  env: {A: '${steps.a.output.token}'}
)yaml";
  ASSERT_FALSE(run(Json::object()));
  const Result<std::vector<Event>> events = store_->events(id_, 0, 1000);
  ASSERT_TRUE(events);
  for (const Event& event : *events) EXPECT_EQ(event.data.find("plain-value-2"), std::string::npos) << event.type;
  ASSERT_TRUE(files_.write(root_ + "/expected", "plain-value-2"));
  EXPECT_FALSE(resume(Json::object()));
  const Result<void> second = resume({{"token", "plain-value-2"}});
  EXPECT_TRUE(second) << describe(second.error());
}

TEST_F(SecretsTest, PatternsCanBeTurnedOff) {
  settings_.mask_patterns = false;
  const std::string token = "ghp_" + std::string(36, 'a');
  text_ = "steps:\n- {id: a, run: 'echo " + token + "'}\n";
  ASSERT_TRUE(run(Json::object()));
  const auto log = files_.read(*store_->local_folder(id_) + "/a.1.log", 1000);
  ASSERT_TRUE(log) << describe(log.error());
  EXPECT_EQ(*log, token + "\n");
}

TEST_F(SecretsTest, PatternsOfTheUserAreMasked) {
  settings_.patterns = {"CUST-[0-9]+"};
  text_ = "steps:\n- {id: a, run: 'echo for CUST-123'}\n";
  ASSERT_TRUE(run(Json::object()));
  EXPECT_EQ(*files_.read(*store_->local_folder(id_) + "/a.1.log", 1000), "for [masked:pattern]\n");
  EXPECT_NE(saved().find(R"("masked":{"pattern":)"), std::string::npos);
}

TEST_F(SecretsTest, AWrongPatternIsRefused) {
  settings_.patterns = {"("};
  text_ = "steps:\n- {id: a, run: 'true'}\n";
  const Result<void> refused = run(Json::object());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("invalid regular expression"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace pawl
