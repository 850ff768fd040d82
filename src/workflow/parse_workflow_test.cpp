// The result of parsing valid files. workflow_faults_test.cpp tests the errors.
#include "workflow/parse_workflow.hpp"

#include <gtest/gtest.h>

#include "base/hash.hpp"

namespace pawl {
namespace {

constexpr const char* kExample = R"yaml(
name: field-notes
vars: { topic: tides, reviewer: null }          # null: must be given with --var
env: { LANG: C.UTF-8 }
retry: { attempts: 3, backoff: 200ms, max_backoff: 5s, jitter: true }
budget: { usd: 5, tokens: 2000000 }             # reached: pause before the next step, exit 3
checkpoint: { interval: 30s, keep: 20, on_storage_failure: pause }     # or continue
steps:
  - id: gather
    run: ./gather.sh ${vars.topic}
    capture: { as: notes, format: json }        # shorthand: `capture: notes` (text)
    timeout: 2m
  - id: outline
    run: ./outline.sh
    env: { NOTES: "${notes}" }
    capture: { format: json }
    when: vars.topic != ''
  - id: review
    approve: "Publish the outline?"
  - id: improve
    loop: { max: 5, until: steps.score.output.value >= 90 }
    steps:
      - { id: rewrite, run: ./rewrite.sh }
      - { id: score, run: ./score.sh, capture: { format: json } }
  - id: pages
    map: { items: "${steps.outline.output.pages}", parallel: 8, on_item_failure: dlq, max_failures: 10 }
    steps:
      - { id: write, run: "./write.sh ${item.title}" }
    reduce: { run: ./join.sh "$PAWL_ITEMS" }
  - { id: cool-down, sleep: 10m }
  - { id: go, wait_for: { signal: release, timeout: 24h } }
  - { id: publish, workflow: publish.yaml, with: { notes: "${notes}" }, risky: true }
)yaml";

std::string faults_text(const std::vector<WorkflowFault>& faults) {
  std::string text;
  for (const WorkflowFault& fault : faults) text += describe(fault.error) + "\n";
  return text;
}

Workflow parsed(const std::string& text, const std::string& file = "") {
  auto workflow = parse_workflow({text, file});
  EXPECT_TRUE(workflow.has_value()) << faults_text(workflow.error());
  return workflow ? std::move(*workflow) : Workflow{};
}

using Indices = std::vector<std::size_t>;

TEST(ParseWorkflow, TheExampleOfTheLanguageIsValid) {
  const Workflow workflow = parsed(kExample);
  EXPECT_EQ(workflow.name, "field-notes");
  ASSERT_EQ(workflow.vars.size(), 2U);
  EXPECT_EQ(workflow.vars[0].value, "tides");
  EXPECT_TRUE(workflow.vars[1].required);
  EXPECT_EQ(workflow.budget.usd, 5.0);
  EXPECT_EQ(workflow.budget.tokens, 2000000U);
  EXPECT_EQ(workflow.checkpoint.interval, Milliseconds(30'000));
  EXPECT_EQ(workflow.checkpoint.keep, 20U);
  ASSERT_EQ(workflow.steps.size(), 8U);
  const Step& gather = workflow.steps[0];
  EXPECT_EQ(gather.capture.alias, "notes");
  EXPECT_EQ(gather.capture.format, CaptureFormat::json);
  EXPECT_EQ(gather.timeout, Milliseconds(120'000));
  EXPECT_EQ(gather.retry.attempts, 3U);
  const auto& run = std::get<RunCommand>(gather.work);
  ASSERT_EQ(run.command.arguments.size(), 1U);
  EXPECT_EQ(run.command.arguments[0].text(), "vars.topic");
  const auto& loop = std::get<Loop>(workflow.steps[3].work);
  EXPECT_EQ(loop.max, 5U);
  EXPECT_EQ(loop.steps->size(), 2U);
  const auto& map = std::get<Map>(workflow.steps[4].work);
  EXPECT_EQ(map.parallel, 8U);
  EXPECT_EQ(map.on_item_failure, Map::OnItemFailure::dlq);
  EXPECT_EQ(map.max_failures, 10U);
  ASSERT_NE(map.reduce, nullptr);
  EXPECT_EQ(map.reduce->id, "reduce");
  EXPECT_EQ(std::get<Sleep>(workflow.steps[5].work).duration.source(), "10m");
  EXPECT_EQ(std::get<WaitFor>(workflow.steps[6].work).timeout, Milliseconds(86'400'000));
  EXPECT_TRUE(workflow.steps[7].risky);
  EXPECT_EQ(std::get<CallWorkflow>(workflow.steps[7].work).file, "publish.yaml");
}

TEST(ParseWorkflow, WithoutANameTheFileGivesIt) {
  EXPECT_EQ(parsed("steps: [{ run: a }]", "/srv/nightly.build.yaml").name, "nightly.build");
  EXPECT_EQ(parsed("steps: [{ run: a }]").name, "workflow");
}

TEST(ParseWorkflow, TheHashIsThatOfTheText) {
  const std::string text = "steps: [{ run: a }]";
  EXPECT_EQ(parsed(text).hash, "sha256:" + to_hex(sha256(text)));
}

TEST(ParseWorkflow, WithoutNeedsAStepComesAfterTheOneAbove) {
  const Workflow workflow = parsed("steps: [{ id: a, run: x }, { id: b, run: x }, { id: c, run: x }]");
  EXPECT_EQ(workflow.steps[0].after, Indices{});
  EXPECT_EQ(workflow.steps[1].after, Indices{0});
  EXPECT_EQ(workflow.steps[2].after, Indices{1});
  EXPECT_EQ(workflow.steps[2].needed, Indices{});
  EXPECT_EQ(workflow.steps[2].layer, 2U);
}

TEST(ParseWorkflow, NeedsNameTheSiblingsThatAStepWaitsFor) {
  const Workflow workflow = parsed(R"(
steps:
  - { id: a, run: x }
  - { id: b, run: x, needs: [] }
  - { id: c, run: x, needs: [a, b] }
  - { id: d, run: x, needs: a })");
  EXPECT_EQ(workflow.steps[1].after, Indices{});
  EXPECT_EQ(workflow.steps[2].after, (Indices{0, 1}));
  EXPECT_EQ(workflow.steps[2].needed, (Indices{0, 1}));
  EXPECT_EQ(workflow.steps[3].needed, Indices{0});
  EXPECT_EQ(workflow.steps[1].layer, 0U);
  EXPECT_EQ(workflow.steps[2].layer, 1U);
}

TEST(ParseWorkflow, AStepMayNeedOneThatStandsBelowIt) {
  const Workflow workflow = parsed("steps: [{ id: a, run: x, needs: b }, { id: b, run: x, needs: [] }]");
  EXPECT_EQ(workflow.steps[0].after, Indices{1});
  EXPECT_EQ(workflow.steps[0].layer, 1U);
}

TEST(ParseWorkflow, AStepWithoutIdIsNamedAfterItsPlace) {
  const Workflow workflow = parsed("steps: [{ id: a, run: x }, { run: y }]");
  EXPECT_EQ(workflow.steps[1].id, "step-2");
}

TEST(ParseWorkflow, StagesFollowEachOtherInOrderOnly) {
  const Workflow workflow = parsed(R"(
stages:
  - { id: build, steps: [{ id: a, run: x }, { id: b, run: x }] }
  - { id: check, type: parallel, steps: [{ id: c, run: x }, { id: d, run: x }, { id: e, run: x, needs: [c] }] }
  - { name: meet, type: barrier }
  - { id: ship, steps: [{ id: f, run: x }] })");
  ASSERT_EQ(workflow.steps.size(), 7U);
  EXPECT_EQ(workflow.steps[1].after, Indices{0});
  EXPECT_EQ(workflow.steps[2].after, Indices{1});
  EXPECT_EQ(workflow.steps[2].needed, Indices{});
  EXPECT_EQ(workflow.steps[3].after, Indices{1});
  EXPECT_EQ(workflow.steps[4].after, Indices{2});
  EXPECT_EQ(workflow.steps[4].needed, Indices{2});
  EXPECT_EQ(workflow.steps[5].id, "meet");
  EXPECT_TRUE(std::holds_alternative<Nothing>(workflow.steps[5].work));
  EXPECT_EQ(workflow.steps[5].after, (Indices{3, 4}));
  EXPECT_EQ(workflow.steps[6].after, Indices{5});
  EXPECT_EQ(workflow.steps[6].stage, "ship");
  ASSERT_EQ(workflow.stages.size(), 4U);
  EXPECT_EQ(workflow.stages[1].type, Stage::Type::parallel);
}

TEST(ParseWorkflow, AStepMayUseWhatAnEarlierStageMade) {
  const Workflow workflow = parsed(R"(
stages:
  - { id: build, type: parallel, steps: [{ id: a, run: x, capture: made }, { id: b, run: x }] }
  - { id: ship, type: parallel, steps: [{ id: f, run: "echo ${made} ${steps.b.status}" }] })");
  EXPECT_EQ(std::get<RunCommand>(workflow.steps[2].work).command.arguments.size(), 2U);
}

TEST(ParseWorkflow, AnUnknownNameInACommandIsTheShells) {
  const Workflow workflow = parsed("steps: [{ run: 'echo ${HOME} $${vars.x}' }]");
  const auto& run = std::get<RunCommand>(workflow.steps[0].work);
  EXPECT_TRUE(run.command.arguments.empty());
  EXPECT_NE(run.command.script.find("${HOME}"), std::string::npos);
}

TEST(ParseWorkflow, BracesInConditionsAreOptional) {
  const Workflow workflow = parsed(R"(
vars: { a: 1 }
steps:
  - { run: x, when: "${vars.a > 0}" }
  - { run: x, when: "${vars.a} > 0 && ${vars.a} < 9" }
  - { run: x, when: vars.a > 0 }
  - { run: x, when: true })");
  EXPECT_EQ(workflow.steps[0].when->text(), "vars.a > 0");
  EXPECT_EQ(workflow.steps[1].when->references().size(), 2U);
  EXPECT_TRUE(workflow.steps[3].when.has_value());
}

TEST(ParseWorkflow, ScalarsOfVarsAreTypedByTheCoreRules) {
  const Workflow workflow = parsed(R"(
vars: { a: 5, b: "5", c: yes, d: 08, e: 1e3, f: 0x1F, g: -2.5, h: off, i: .inf, j: True, k: ~, l: 1.2.3, m: [1, x] }
steps: [{ run: x }])");
  Json values;
  for (const Variable& variable : workflow.vars) values[variable.name] = variable.value;
  EXPECT_EQ(values, Json::parse(R"({"a":5,"b":"5","c":"yes","d":"08","e":1000.0,"f":31,"g":-2.5,"h":"off","i":".inf",
    "j":true,"k":null,"l":"1.2.3","m":[1,"x"]})"));
}

TEST(ParseWorkflow, RetrySettingsReplaceTheWorkflowsKeyByKey) {
  const Workflow workflow = parsed(R"(
retry: { attempts: 3, backoff: 200ms }
steps: [{ run: x, retry: { attempts: 5, no_retry_codes: [2, 64] } }])");
  EXPECT_EQ(workflow.steps[0].retry.attempts, 5U);
  EXPECT_EQ(workflow.steps[0].retry.backoff, Milliseconds(200));
  EXPECT_EQ(workflow.steps[0].retry.no_retry_codes, (std::vector<int>{2, 64}));
}

TEST(ParseWorkflow, TheWorkflowsShellIsThatOfItsSteps) {
  const Workflow workflow = parsed("{ shell: bash, steps: [{ run: x }, { run: x, shell: sh }] }");
  EXPECT_EQ(std::get<RunCommand>(workflow.steps[0].work).shell, Shell::bash);
  EXPECT_EQ(std::get<RunCommand>(workflow.steps[1].work).shell, Shell::sh);
}

TEST(ParseWorkflow, EveryOtherSettingArrives) {
  const Workflow workflow = parsed(R"(
description: all of it
env_file: [.env, more.env]
secrets: [API_KEY]
working_dir: work
checkpoint: { on_storage_failure: continue, memory_limit: 512MB, folder: refuse }
fail_fast: true
parallel: 4
grace: 3s
timeout: 2h
steps:
  - { id: call, handler: tools.translate, with: { n: 1, to: "${env.LANG}" }, name: Translate }
  - { id: hold, wait_for: release, break: before }
  - id: many
    map: { items_from: items.jsonl, circuit_breaker: { failures: 2, cool_down: 1m, trips: 4 } }
    isolate: worktree
    steps: [{ run: "echo ${item} ${index}" }]
    reduce: { run: "echo ${map.total} ${map.failed}" }
  - id: careful
    run: x
    continue_on_error: true
    total_timeout: 1h
    rescue: true
    on_failure: [{ run: "echo ${steps.careful.error}" }]
    confidence: { below: 0.75, then: [{ approve: "sure: ${steps.careful.output}?" }] }
  - { id: rounds, loop: { max: 3, until: "false", on_max: continue }, steps: [{ run: "echo ${loop.iteration} ${loop.max}" }] }
on_failure: [{ run: "echo ${steps.many.status}" }]
outputs: { answer: "${steps.call.output}" })");
  EXPECT_EQ(workflow.env_files, (std::vector<std::string>{".env", "more.env"}));
  EXPECT_EQ(workflow.secrets, std::vector<std::string>{"API_KEY"});
  EXPECT_EQ(workflow.checkpoint.on_storage_failure, OnStorageFailure::go_on);
  EXPECT_EQ(workflow.checkpoint.memory_limit_bytes, 512'000'000U);
  EXPECT_EQ(workflow.checkpoint.folder, FolderCheck::refuse);
  EXPECT_TRUE(workflow.fail_fast);
  EXPECT_EQ(workflow.parallel, 4U);
  EXPECT_EQ(workflow.grace, Milliseconds(3000));
  EXPECT_EQ(std::get<CallHandler>(workflow.steps[0].work).with.source()["n"], 1);
  EXPECT_EQ(workflow.steps[1].breakpoint, Breakpoint::before);
  EXPECT_EQ(std::get<WaitFor>(workflow.steps[1].work).signal, "release");
  EXPECT_EQ(std::get<Map>(workflow.steps[2].work).circuit_breaker->trips, 4U);
  EXPECT_EQ(workflow.steps[2].isolation, Isolation::worktree);
  EXPECT_TRUE(workflow.steps[3].rescue);
  EXPECT_EQ(workflow.steps[3].confidence->below, 0.75);
  EXPECT_EQ(workflow.steps[3].confidence->then->size(), 1U);
  EXPECT_EQ(std::get<Loop>(workflow.steps[4].work).on_max, Loop::OnMax::go_on);
  ASSERT_EQ(workflow.outputs.size(), 1U);
  EXPECT_EQ(workflow.outputs[0].first, "answer");
}

TEST(ParseWorkflow, ItemsMayBeAListOfTemplates) {
  const Workflow workflow =
      parsed("{ vars: { a: 1 }, steps: [{ map: { items: [\"${vars.a}\", b] }, steps: [{ run: x }] }] }");
  EXPECT_EQ(std::get<Map>(workflow.steps[0].work).items->source(), Json::parse(R"(["${vars.a}", "b"])"));
}

TEST(ParseWorkflow, AnchorsAndMergeKeysAreResolved) {
  const Workflow workflow = parsed(R"(
x-defaults: &defaults { timeout: 1m, retry: &twice { attempts: 2 } }
steps:
  - { <<: *defaults, run: x }
  - { <<: *defaults, run: y, timeout: 5s }
  - { run: z, retry: *twice })");
  EXPECT_EQ(workflow.steps[0].timeout, Milliseconds(60'000));
  EXPECT_EQ(workflow.steps[1].timeout, Milliseconds(5'000));
  EXPECT_EQ(workflow.steps[1].retry.attempts, 2U);
  EXPECT_EQ(workflow.steps[2].retry.attempts, 2U);
}

TEST(ParseWorkflow, AStepsHashFollowsItsMeaningNotItsStyle) {
  const auto hash = [](const std::string& step) { return parsed("steps:\n" + step).steps[0].definition_hash; };
  const std::string plain = hash("  - { id: a, run: x, timeout: 5s }\n");
  EXPECT_EQ(plain, hash("  - timeout: 5s   # soon\n    run: 'x'\n    id: a\n"));
  EXPECT_NE(plain, hash("  - { id: a, run: x, timeout: 6s }\n"));
  EXPECT_NE(hash("  - { id: a, handler: x, with: { n: 5 } }\n"), hash("  - { id: a, handler: x, with: { n: '5' } }\n"));
  EXPECT_EQ(plain.size(), 64U);
}

TEST(ParseWorkflow, PlacesAreThoseOfTheFile) {
  const Workflow workflow = parsed("steps:\n  - run: x\n\n  - id: b\n    run: y\n");
  EXPECT_EQ(workflow.steps[1].place.line, 4U);
  EXPECT_EQ(workflow.steps[1].place.column, 5U);
}

TEST(AddedSteps, StandBehindTheirSiblings) {
  const Workflow workflow =
      parsed("{ retry: { attempts: 4 }, steps: [{ id: a, run: x, capture: got }, { id: b, run: y }] }");
  const auto added = parse_added_steps(
      Json::parse(R"([{"id":"c","run":"echo ${got}"},{"id":"d","run":"z"},{"run":"q","needs":["b"]}])"), workflow,
      workflow.steps, 0);
  ASSERT_TRUE(added.has_value()) << describe(added.error());
  ASSERT_EQ(added->size(), 3U);
  EXPECT_EQ((*added)[0].after, Indices{0});
  EXPECT_EQ((*added)[1].after, Indices{2});
  EXPECT_EQ((*added)[2].needed, Indices{1});
  EXPECT_EQ((*added)[2].id, "step-5");
  EXPECT_EQ((*added)[0].retry.attempts, 4U);
  EXPECT_EQ((*added)[0].layer, 1U);
}

TEST(AddedSteps, AreCheckedLikeTheFile) {
  const Workflow workflow = parsed("{ vars: { a: 1 }, steps: [{ id: a, run: x, capture: got }, { id: b, run: y }] }");
  const auto refused = [&](const char* json) {
    const auto added = parse_added_steps(Json::parse(json), workflow, workflow.steps, 0);
    EXPECT_FALSE(added.has_value()) << json;
    return added ? std::string() : added.error().message;
  };
  EXPECT_EQ(refused(R"([{"id":"a","run":"x"}])"), "duplicate step id 'a', first on line 1");
  EXPECT_EQ(refused(R"([{"id":"c","run":"x","capture":"got"}])"), "duplicate captured name 'got', first on line 1");
  EXPECT_EQ(refused(R"([{"id":"c","run":"echo ${steps.b.output}"}])"),
            "'b' may not be available: step 'b' does not always finish before 'c'");
  EXPECT_EQ(refused(R"([{"id":"c","run":"echo ${vars.b}"}])"), "unknown variable 'b'");
  EXPECT_EQ(refused(R"([])"), "'add_steps' must be a list of steps");
  EXPECT_EQ(refused(R"(["ls"])"), "a step must be a map, not a text");
}

TEST(AddedSteps, SeeWhatTheirScopeSees) {
  const Workflow workflow = parsed(R"(
steps:
  - { id: before, run: x, capture: got }
  - id: pages
    map: { items: [1] }
    steps: [{ id: inner, run: x }])");
  const Steps& inner = *std::get<Map>(workflow.steps[1].work).steps;
  const Json steps = Json::parse(R"([{"id":"more","run":"echo ${item} ${got} ${steps.inner.output}"}])");
  const auto added = parse_added_steps(steps, workflow, inner, 0);
  EXPECT_TRUE(added.has_value()) << describe(added.error());
  EXPECT_FALSE(parse_added_steps(steps, workflow, workflow.steps, 1).has_value());
  // A scope to which steps were added is identified by its first step.
  Steps grown = inner;
  grown.push_back(added->front());
  const Json again = Json::parse(R"([{"id":"again","run":"echo ${item} ${steps.more.output}"}])");
  const auto second = parse_added_steps(again, workflow, grown, 1);
  EXPECT_TRUE(second.has_value()) << describe(second.error());
}

TEST(DrawWorkflow, ShowsOrderKindsAndWhatIsInside) {
  const std::string drawing = draw_workflow(parsed(kExample), 60);
  for (const char* part :
       {"field-notes", "reviewer: must be given", "● gather  run ./gather.sh", "loop at most 5 times", "score",
        "8 at once", "reduce: run ./join.sh", "sleep 10m", "wait for release, at most 1 d", "(risky)"}) {
    EXPECT_NE(drawing.find(part), std::string::npos) << part << "\n" << drawing;
  }
}

TEST(DrawWorkflow, StepsOfOneLayerStandTogether) {
  const std::string drawing = draw_workflow(
      parsed("{ name: n, steps: [{ id: a, run: x }, { id: b, run: x, needs: [] }, { id: c, run: x, needs: [a, b] }] }"),
      80);
  EXPECT_EQ(drawing, "n\n\n┌ a  run x\n└ b  run x\n│\n● c <- a, b  run x\n");
}

TEST(DrawWorkflow, ShowsCommandsAsWritten) {
  const std::string drawing =
      draw_workflow(parsed("{ name: n, vars: { v: 1 }, steps: [{ id: a, run: 'echo \"v${vars.v}-$$\"' }] }"), 80);
  EXPECT_NE(drawing.find("● a  run echo \"v${vars.v}-$$\""), std::string::npos) << drawing;
}

TEST(DrawWorkflow, NoLineIsTooWide) {
  const std::string drawing =
      draw_workflow(parsed("{ name: n, steps: [{ id: a, run: 'echo ääääääääääääääääääääääääää' }] }"), 20);
  EXPECT_EQ(drawing, "n\n\n● a  run echo äääää…\n");
}

}  // namespace
}  // namespace pawl
