// Valid values of: deadlines, retry conditions, limits, finally, matrix, cache, notify, expressions as settings,
// loop.previous. mistakes_test.cpp tests the errors.
#include <gtest/gtest.h>

#include "workflow/parse_workflow.hpp"

namespace pawl {
namespace {

Workflow read_keys(const std::string& text, bool begun = false) {
  auto parsed = parse_workflow({.text = text, .file = "", .begun = begun});
  std::string told;
  if (!parsed) {
    for (const WorkflowFault& fault : parsed.error()) told += describe(fault.error) + "\n";
  }
  EXPECT_TRUE(parsed) << told << text;
  return parsed ? *parsed : Workflow{};
}

Step first(const std::string& step, const std::string& top = "") {
  Workflow workflow = read_keys(top + "vars: { n: 3, t: 5m, s: go, l: [1] }\nsteps:\n  - " + step + "\n");
  return workflow.steps.empty() ? Step{} : workflow.steps[0];
}

/// Returns the settings that are computed, as "KEY=TEXT".
std::string computed_in(const Step& step) {
  std::string all;
  for (const auto* list : {&step.computed, &step.retry.computed}) {
    for (const ComputedSetting& one : *list)
      all += fmt::format("{}{}={}", all.empty() ? "" : " ", rule_of(one.setting).key, one.value.source());
  }
  return all;
}

TEST(Deadlines, OfAGate) {
  const auto gate = [](const std::string& keys) {
    return std::get<Approve>(first("{ approve: sure" + keys + " }").work);
  };
  EXPECT_FALSE(gate("").timeout);
  EXPECT_EQ(gate(", timeout: 24h").timeout, Milliseconds(86'400'000));
  EXPECT_EQ(gate(", timeout: 24h").on_timeout, OnTimeout::reject);
  EXPECT_EQ(gate(", timeout: 24h, on_timeout: reject").on_timeout, OnTimeout::reject);
  EXPECT_EQ(gate(", timeout: 1ms, on_timeout: fail, retry: { attempts: 2 }").on_timeout, OnTimeout::fail);
  EXPECT_EQ(gate(", timeout: 36500d, on_timeout: continue").on_timeout, OnTimeout::go_on);
  EXPECT_FALSE(first("{ approve: sure, timeout: 24h }").timeout) << "not the timeout of an attempt";
}

TEST(Deadlines, OfLoopsMapsAndChildren) {
  for (const char* kind :
       {"loop: { max: 2 }, steps: [{ run: x }]", "map: { items: [1] }, steps: [{ run: x }]", "workflow: child.yaml"}) {
    const Step fails = first(fmt::format("{{ {}, timeout: 1h }}", kind));
    EXPECT_EQ(fails.deadline, Milliseconds(3'600'000)) << kind;
    EXPECT_EQ(fails.on_deadline, OnTimeout::fail) << kind;
    EXPECT_FALSE(fails.timeout) << kind;
    EXPECT_EQ(first(fmt::format("{{ {}, timeout: 1h, on_timeout: fail }}", kind)).on_deadline, OnTimeout::fail);
    EXPECT_EQ(first(fmt::format("{{ {}, timeout: 1h, on_timeout: continue }}", kind)).on_deadline, OnTimeout::go_on);
  }
}

TEST(RetryConditions, AreCodesAndAnExpression) {
  const Step step = first(
      "{ run: x, retry: { attempts: 3, on_codes: [75, 111], when: \"contains(error, 'timed out') || exit_code == 75 && "
      "attempt < vars.n\" } }");
  EXPECT_EQ(step.retry.on_codes, (std::vector{75, 111}));
  ASSERT_TRUE(step.retry.when);
  const Workflow all = read_keys("retry: { attempts: 2, on_codes: [75], when: exit_code != 3 }\nsteps: [{ run: x }]");
  EXPECT_EQ(all.steps[0].retry.on_codes, std::vector{75});
  EXPECT_EQ(all.steps[0].retry.when->text(), "exit_code != 3");
  EXPECT_EQ(first("{ run: x, retry: { attempts: 2, on_codes: [] } }").retry.on_codes, std::vector<int>{});
}

TEST(Limits, ApplyToTheStepsInside) {
  const Workflow workflow = read_keys(R"(
limits: { openai: { per_minute: 60, parallel: 8 }, disk: { parallel: 1 }, all: { per_minute: 1000000 } }
uses: all
steps:
  - { id: a, run: x, uses: [openai, all] }
  - id: m
    map: { items: [1] }
    uses: disk
    steps: [{ run: y, uses: openai }, { id: inner, loop: { max: 2 }, uses: [openai], steps: [{ run: z }] }]
    reduce: { run: r }
    on_failure: [{ run: f }]
  - { id: g, approve: sure }
on_failure: [{ run: o }]
finally: [{ run: p }]
)");
  ASSERT_EQ(workflow.limits.size(), 3U);
  EXPECT_EQ(workflow.limits[0].name, "openai");
  EXPECT_EQ(workflow.limits[0].per_minute, 60U);
  EXPECT_EQ(workflow.limits[0].parallel, 8U);
  EXPECT_FALSE(workflow.limits[1].per_minute);
  using Names = std::vector<std::string>;
  EXPECT_EQ(workflow.uses, Names{"all"});
  EXPECT_EQ(workflow.steps[0].uses, (Names{"all", "openai"}));
  const Step& m = workflow.steps[1];
  const auto& map = std::get<Map>(m.work);
  EXPECT_EQ(m.uses, Names{}) << "only attempts take a share";
  EXPECT_EQ((*map.steps)[0].uses, (Names{"all", "disk", "openai"}));
  EXPECT_EQ(std::get<Loop>((*map.steps)[1].work).steps->front().uses, (Names{"all", "disk", "openai"}));
  EXPECT_EQ(map.reduce->uses, Names{"all"});
  EXPECT_EQ(m.on_failure->front().uses, Names{"all"});
  EXPECT_EQ(workflow.steps[2].uses, Names{});
  EXPECT_EQ(workflow.on_failure->front().uses, Names{"all"});
  EXPECT_EQ(workflow.finally->front().uses, Names{"all"});
  const auto added = parse_added_steps(Json::parse(R"([{"run": "x", "uses": "disk"}])"), workflow, workflow.steps, 0);
  ASSERT_TRUE(added);
  EXPECT_EQ(added->front().uses, (Names{"all", "disk"}));
}

TEST(Finally, SeesAllStepsLikeOnFailure) {
  const Workflow workflow = read_keys(R"(steps: [{ id: a, run: x, capture: notes }]
finally:
  - { id: tell, run: "echo ${notes} ${steps.a.status}" }
  - { id: clean, run: "rm ${steps.tell.status}", needs: [tell] }
notify: ./tell.sh ${run.id}
)");
  ASSERT_TRUE(workflow.finally);
  ASSERT_EQ(workflow.finally->size(), 2U);
  EXPECT_EQ((*workflow.finally)[1].needed, std::vector<std::size_t>{0});
  ASSERT_TRUE(workflow.notify);
  EXPECT_EQ(workflow.notify->arguments.size(), 1U);
}

TEST(MatrixKey, IsInPlaceOfItems) {
  const auto map = std::get<Map>(
      first("{ map: { matrix: { model: [a, b], case: \"${range(vars.n)}\" } }, steps: [{ run: \"x ${item.model} "
            "${item.case}\" }] }")
          .work);
  ASSERT_TRUE(map.items);
  EXPECT_EQ(map.items->form(), ValueTemplate::Form::product);
  EXPECT_EQ(map.items->references().size(), 1U);
  EXPECT_FALSE(map.items_from);
}

TEST(CacheKey, HasAKeyAndAnAge) {
  const Step step = first("{ run: x, cache: { key: \"fetch ${vars.s}\", ttl: 1d } }");
  ASSERT_TRUE(step.cache);
  EXPECT_EQ(step.cache->key.source(), "fetch ${vars.s}");
  EXPECT_EQ(step.cache->ttl, Milliseconds(86'400'000));
  EXPECT_FALSE(first("{ handler: h, cache: { key: x } }").cache->ttl);
}

TEST(MaxFailures, IsACountOrAPercentage) {
  const auto map = [](const std::string& value) {
    return std::get<Map>(first("{ map: { items: [1], max_failures: " + value + " }, steps: [{ run: x }] }").work);
  };
  EXPECT_EQ(map("10").max_failures, 10U);
  EXPECT_FALSE(map("10").max_failures_percent);
  EXPECT_EQ(map("10%").max_failures_percent, 10);
  EXPECT_FALSE(map("10%").max_failures);
  EXPECT_EQ(map("'0.5%'").max_failures_percent, 0.5);
  EXPECT_EQ(map("0").max_failures, 0U);
  EXPECT_EQ(map("100%").max_failures_percent, 100);
}

TEST(ComputedSettings, StandWhereverANumberADurationOrASignalStands) {
  EXPECT_EQ(computed_in(first("{ run: x, timeout: \"${vars.t}\", total_timeout: \"${vars.n}h\" }")),
            "timeout=${vars.t} total_timeout=${vars.n}h");
  EXPECT_EQ(computed_in(first("{ run: x, retry: { attempts: \"${vars.n}\", backoff: \"${vars.n}s\", max_backoff: "
                              "\"${vars.t}\", factor: \"${vars.n}\" } }")),
            "attempts=${vars.n} backoff=${vars.n}s max_backoff=${vars.t} factor=${vars.n}");
  EXPECT_EQ(computed_in(first("{ loop: { max: \"${vars.n}\" }, timeout: \"${vars.t}\", steps: [{ run: x }] }")),
            "max=${vars.n} timeout=${vars.t}");
  EXPECT_EQ(computed_in(first("{ map: { items: [1], parallel: \"${vars.n}\", max_failures: \"${vars.n}%\", "
                              "circuit_breaker: { failures: \"${vars.n}\", trips: \"${vars.n + 1}\", cool_down: "
                              "\"${vars.t}\" } }, steps: [{ run: x }] }")),
            "parallel=${vars.n} max_failures=${vars.n}% failures=${vars.n} trips=${vars.n + 1} cool_down=${vars.t}");
  EXPECT_EQ(computed_in(first("{ wait_for: { signal: \"${vars.s}-${vars.n}\", timeout: \"${vars.t}\" } }")),
            "timeout=${vars.t} signal=${vars.s}-${vars.n}");
  EXPECT_EQ(computed_in(first("{ wait_for: \"${vars.s}\" }")), "signal=${vars.s}");
  EXPECT_EQ(computed_in(first("{ approve: sure, timeout: \"${vars.t}\" }")), "timeout=${vars.t}");
  EXPECT_EQ(
      computed_in(first("{ run: x, cache: { key: k, ttl: \"${vars.t}\" }, confidence: { below: \"${vars.n / 10}\", "
                        "then: [{ run: y }] } }")),
      "ttl=${vars.t} below=${vars.n / 10}");
  EXPECT_EQ(computed_in(first("{ run: x, retry: { attempts: 4 } }",
                              "retry: { attempts: \"${vars.n}\", backoff: "
                              "\"${vars.t}\" }\n")),
            "backoff=${vars.t}")
      << "the step's own value replaces the workflow's expression";
}

TEST(ComputedSettings, AConstantExpressionIsAConstant) {
  EXPECT_EQ(first("{ run: x, timeout: \"${2 * 30}s\" }").timeout, Milliseconds(60'000));
  EXPECT_EQ(computed_in(first("{ run: x, timeout: \"${2 * 30}s\" }")), "");
}

TEST(LoopPrevious, KnowsTheStepsOfTheLoop) {
  read_keys(R"(steps:
  - id: improve
    loop: { max: 5, until: "steps.score.output >= 90 || loop.previous.score.output == steps.score.output" }
    steps:
      - { id: rewrite, run: "./rewrite.sh ${loop.previous.score.output}", when: loop.previous == null || loop.previous.score.status == 'completed' }
      - { id: score, run: ./score.sh, capture: { format: json } }
      - id: each
        map: { items: [1, 2] }
        steps: [{ id: inner, run: "x ${loop.previous.score.output.value} ${item}" }]
)");
}

TEST(KeysWithoutEffect, AreRemarksForARunThatWasBegunBefore) {
  const Workflow old = read_keys(R"(steps:
  - { id: a, loop: { max: 2, on_max: continue }, env: { A: b }, retry: { attempts: 2 }, steps: [{ run: x }] }
  - { id: b, sleep: 1s, timeout: 3s, working_dir: x }
)",
                                 true);
  std::string told;
  for (const Remark& remark : old.remarks) {
    EXPECT_EQ(remark.about, Remark::About::ignored_key);
    told += fmt::format("{}:{} {}\n", remark.place.line, remark.place.column, remark.message);
  }
  EXPECT_EQ(told,
            "2:50 'env' has no effect on 'loop' (write it on the steps inside the loop)\n"
            "2:65 'retry' has no effect on 'loop' (write it on the steps inside the loop)\n"
            "2:30 'on_max' has no effect without 'until' (add the condition that ends the loop)\n"
            "3:38 'working_dir' has no effect on 'sleep' (remove it; it works with run)\n"
            "3:25 'timeout' has no effect on 'sleep' (remove it, or use wait_for: { signal: NAME, timeout: 1h })\n");
  EXPECT_FALSE(parse_workflow(
      {.text = "steps: [{ loop: { max: 1 }, shell: sh, steps: [{ run: x }] }]", .file = "", .begun = true}))
      << "an error before";
}

TEST(Drawing, ShowsTheNewKeys) {
  const Workflow workflow = read_keys(R"(name: n
vars: { k: 3 }
limits: { openai: { per_minute: 60, parallel: 8 } }
steps:
  - { id: ask, approve: "Sure?", timeout: 24h, on_timeout: continue }
  - id: cases
    map: { matrix: { model: [a, b], case: "${range(500)}" }, parallel: "${vars.k}" }
    timeout: 1h
    steps: [{ id: call, run: ./call.sh, uses: [openai], cache: { key: k } }]
  - { id: l, loop: { max: "${vars.k}" }, steps: [{ id: s, run: x }] }
  - { id: w, wait_for: "go-${vars.k}" }
finally: [{ id: clean, run: rm x }]
notify: ./tell.sh
)");
  EXPECT_EQ(draw_workflow(workflow, 100), R"(n
  k: 3
  limit openai: 60 per minute, 8 at once

● ask  approve "Sure?", at most 1 d, then continue
│
● cases  map over model (2) x case (${range(500)}), ${vars.k} at once, at most 1 h
    ● call  run ./call.sh  uses openai  (cached)
│
● l  loop at most ${vars.k} times
    ● s  run x
│
● w  wait for go-${vars.k}

finally:
  ● clean  run rm x

notify: ./tell.sh
)");
}

}  // namespace
}  // namespace pawl
