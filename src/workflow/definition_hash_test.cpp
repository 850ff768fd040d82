// A run records the hashes of its steps, so a newer version of the program must compute the same ones.
#include <gtest/gtest.h>

#include "workflow/parse_workflow.hpp"

namespace pawl {
namespace {

/// Every key that existed when the values below were recorded.
constexpr const char* kWorkflow = R"(name: notes
vars: { topic: tides, reviewer: null }
env: { LANG: C.UTF-8 }
retry: { attempts: 3, backoff: 200ms, max_backoff: 5s, jitter: true }
on_failure: [{ id: tell, run: ./tell.sh }]
outputs: { url: "${steps.publish.output}" }
steps:
  - id: gather
    name: Gather
    description: Reads the sources
    run: ./gather.sh ${vars.topic}
    shell: bash
    capture: { as: notes, format: json }
    timeout: 2m
    total_timeout: 1h
    retry: { attempts: 5, factor: 1.5, no_retry_codes: [2, 64] }
    env: { MODE: "${vars.topic}" }
    working_dir: src
    on_failure: [{ run: ./undo.sh }]
    rescue: true
  - id: review
    approve: "Publish ${notes.title}?"
    when: vars.topic != ''
  - id: improve
    loop: { max: 5, until: steps.score.output.value >= 90, on_max: continue }
    steps:
      - { id: rewrite, run: ./rewrite.sh }
      - { id: score, run: ./score.sh, capture: { format: json } }
  - id: pages
    map: { items: "${steps.gather.output.pages}", parallel: 8, on_item_failure: dlq, max_failures: 10 }
    steps:
      - { id: write, run: "./write.sh ${item.title}", confidence: { below: 0.5, then: [{ run: ./check.sh }] } }
    reduce: { run: ./join.sh "$PAWL_ITEMS" }
  - { id: cool-down, sleep: 10m, needs: [pages] }
  - { id: go, wait_for: { signal: release, timeout: 24h }, continue_on_error: true }
  - { id: publish, workflow: publish.yaml, with: { notes: "${notes}" }, risky: true, break: after }
)";

/// The beginning of each hash. Never change these lines: with other hashes, a resume runs completed steps again.
constexpr const char* kHashes = R"(gather 5c8269a8ddaa5e6f
gather.step-1 3cd967c1e85adcac
review f36cf9f68bf13bf7
improve 50379fc89f5ba8bc
improve.rewrite f6e01b650c2936ac
improve.score 5d33e6f7d627128a
pages 2b00f15d1484d1ca
pages.write 7b152123f3ebd065
pages.write.step-1 f1402b8f338efa3b
pages.reduce 2a4ce15c03ebd056
cool-down 0af9eecc76abcfa5
go b3a4e968318231a6
publish a5ce62bf876c2f45
on_failure.tell b68545e9c6f81103
)";

void collect(const Steps& steps, const std::string& prefix, std::string& told) {
  for (const Step& step : steps) {
    told += fmt::format("{}{} {}\n", prefix, step.id, step.definition_hash.substr(0, 16));
    const std::string inner = prefix + step.id + ".";
    if (step.on_failure) collect(*step.on_failure, inner, told);
    if (step.confidence) collect(*step.confidence->then, inner, told);
    if (const auto* loop = std::get_if<Loop>(&step.work)) collect(*loop->steps, inner, told);
    if (const auto* map = std::get_if<Map>(&step.work)) {
      collect(*map->steps, inner, told);
      if (map->reduce) collect({*map->reduce}, inner, told);
    }
  }
}

TEST(DefinitionHash, OfAWorkflowWithoutNewKeysNeverChanges) {
  const auto parsed = parse_workflow({kWorkflow, "/w.yaml"});
  ASSERT_TRUE(parsed) << parsed.error().front().error.message;
  std::string told;
  collect(parsed->steps, "", told);
  collect(*parsed->on_failure, "on_failure.", told);
  EXPECT_EQ(told, kHashes);
  EXPECT_EQ(parsed->hash, "sha256:331c8c19a03592956345162ae5fd734465eacc3851c171edb6ccf4d2f4533ed9");
}

}  // namespace
}  // namespace pawl
