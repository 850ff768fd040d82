#include "workflow/step_templates.hpp"

#include <gtest/gtest.h>

#include "base/hash.hpp"

namespace pawl {
namespace {

using Files = std::map<std::string, std::string>;

constexpr const char* kTemplates = R"(templates:
  lint:
    inputs: { path: null, level: 2 }
    run: ./lint.sh --level ${inputs.level} ${inputs.path}
    timeout: "${inputs.level}m"
    retry: { attempts: 3 }
  each:
    inputs: { files: null, note: none }
    map: { items: "${inputs.files}", parallel: 4 }
    steps: [{ id: one, run: "./one.sh ${item} ${inputs.note}" }]
)";

auto parse_with(const std::string& text, Files files = {{"/w/steps.yaml", kTemplates}}) {
  const auto read = [files](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return fail(Code::read_failed, "no such file");
    return found->second;
  };
  return parse_workflow({text, "/w/flow.yaml", read});
}

Workflow flow(const std::string& text, Files files = {{"/w/steps.yaml", kTemplates}}) {
  auto parsed = parse_with(text, std::move(files));
  std::string told;
  if (!parsed) {
    for (const WorkflowFault& fault : parsed.error()) told += describe(fault.error) + "\n";
  }
  EXPECT_TRUE(parsed) << told;
  return parsed ? *parsed : Workflow{};
}

/// Returns "where message | hint" of each error, one per line.
std::string refused(const std::string& text, Files files = {{"/w/steps.yaml", kTemplates}}) {
  const auto parsed = parse_with(text, std::move(files));
  std::string told;
  if (parsed) return "valid";
  for (const WorkflowFault& fault : parsed.error())
    told +=
        fmt::format("{}{} {} | {}", told.empty() ? "" : "\n", fault.error.where, fault.error.message, fault.error.hint);
  return told;
}

TEST(StepTemplates, GiveAStepItsKeys) {
  const Workflow workflow = flow(R"(vars: { dir: src }
steps:
  - { id: a, use: ./steps.yaml#lint, with: { path: "${vars.dir}/a.cpp" } }
  - { id: b, use: steps.yaml#lint, with: { path: b.cpp, level: 5 }, retry: { attempts: 1 }, when: vars.dir != '' }
)");
  ASSERT_EQ(workflow.steps.size(), 2U);
  const Step& a = workflow.steps[0];
  EXPECT_EQ(a.id, "a");
  EXPECT_EQ(a.place.line, 3U);
  EXPECT_EQ(a.place.file, 0U);
  EXPECT_EQ(a.timeout, Milliseconds(120'000)) << "the default of the input";
  EXPECT_EQ(a.retry.attempts, 3U);
  const auto& run = std::get<RunCommand>(a.work);
  ASSERT_EQ(run.command.arguments.size(), 2U);
  EXPECT_EQ(run.command.arguments[1].references().size(), 1U);
  EXPECT_EQ(to_text(run.command.arguments[1].references()[0].path), "vars.dir");
  const Step& b = workflow.steps[1];
  EXPECT_EQ(b.timeout, Milliseconds(300'000));
  EXPECT_EQ(b.retry.attempts, 1U) << "the step's own key";
  EXPECT_TRUE(b.when);
}

TEST(StepTemplates, CanContainInnerSteps) {
  const Workflow workflow = flow(
      "vars: { l: [1] }\nsteps:\n  - { id: m, use: steps.yaml#each, with: { files: '${vars.l}', note: '${vars.l}' } "
      "}\n");
  const auto& map = std::get<Map>(workflow.steps[0].work);
  EXPECT_EQ(map.parallel, 4U);
  ASSERT_EQ(map.steps->size(), 1U);
  EXPECT_EQ(std::get<RunCommand>(map.steps->front().work).command.arguments.size(), 2U);
}

TEST(StepTemplates, AnInputNeverTakesAnotherMeaningInside) {
  EXPECT_EQ(refused(R"(steps:
  - id: outer
    map: { items: [1, 2] }
    steps:
      - { id: m, use: steps.yaml#each, with: { files: [a], note: "${item}" } }
)"),
            "/w/steps.yaml:10:49 'item' of the input 'note' means something else here | the template has its own step, "
            "item or loop of this name: rename its step, or use the input outside the inner list");
  EXPECT_EQ(refused(R"(steps:
  - { id: one, run: x, capture: { format: text } }
  - { id: m, use: steps.yaml#each, with: { files: [a], note: "${steps.one.output}" } }
)")
                .substr(0, 76),
            "/w/steps.yaml:10:49 'steps.one.output' of the input 'note' means something e");
  flow(R"(steps:
  - { id: two, run: x, capture: { format: text } }
  - id: outer
    map: { items: [[1], [2]] }
    steps:
      - { id: m, use: steps.yaml#each, with: { files: "${item}", note: "${steps.two.output}" } }
)");
}

TEST(StepTemplates, ArePartOfTheHashes) {
  const std::string text = "steps: [{ id: a, use: steps.yaml#lint, with: { path: x } }]\n";
  const Workflow workflow = flow(text);
  EXPECT_EQ(workflow.hash, "sha256:" + to_hex(sha256(workflow.text)));
  EXPECT_TRUE(workflow.text.starts_with(text));
  std::string changed = kTemplates;
  changed.replace(changed.find("attempts: 3"), 11, "attempts: 4");
  const Workflow other = flow(text, {{"/w/steps.yaml", changed}});
  EXPECT_NE(workflow.hash, other.hash);
  EXPECT_NE(workflow.steps[0].definition_hash, other.steps[0].definition_hash);
  changed = std::string(kTemplates) + "  more: { run: x }\n";
  EXPECT_EQ(workflow.steps[0].definition_hash, flow(text, {{"/w/steps.yaml", changed}}).steps[0].definition_hash)
      << "another template changed";
  const auto inner = [](const Workflow& one) {
    return std::get<Map>(one.steps[0].work).steps->front().definition_hash;
  };
  EXPECT_NE(inner(flow("steps: [{ id: m, use: steps.yaml#each, with: { files: [a], note: x } }]\n")),
            inner(flow("steps: [{ id: m, use: steps.yaml#each, with: { files: [a], note: y } }]\n")));
}

TEST(StepTemplates, TheRecordedTextContainsThem) {
  for (const std::string& file : {std::string(kTemplates), std::string("templates: { lint: { run: 'a b' } }"),
                                  std::string("\n\ntemplates:\n  lint:\n    run: |\n      a\n\n      b\n\n\n")}) {
    const std::string with = file == kTemplates ? ", with: { path: x }" : "";
    const Workflow workflow = flow("steps: [{ id: a, use: ./steps.yaml#lint" + with + " }]", {{"/w/steps.yaml", file}});
    const auto again = parse_workflow({.text = workflow.text, .file = "/w/flow.yaml"});
    ASSERT_TRUE(again) << workflow.text;
    EXPECT_EQ(again->hash, workflow.hash);
    EXPECT_EQ(again->text, workflow.text);
    EXPECT_EQ(again->steps[0].definition_hash, workflow.steps[0].definition_hash);
    EXPECT_EQ(std::get<RunCommand>(again->steps[0].work).command.script,
              std::get<RunCommand>(workflow.steps[0].work).command.script);
  }
}

TEST(StepTemplates, ErrorsNameTheirFile) {
  const auto with = [](const std::string& definition) {
    return refused("steps: [{ id: a, use: t.yaml#x }]\n", {{"/w/t.yaml", "templates:\n  x:\n" + definition}});
  };
  EXPECT_EQ(with("    run: echo ${vars.x}\n"), "/w/t.yaml:3:17 unknown variable 'x' | declare it: vars: { x: ... }");
  const std::string misspelt = with("    rn: echo\n    run: x\n");
  EXPECT_TRUE(misspelt.starts_with("/w/t.yaml:3:5 unknown key 'rn' in step 'a' | did you mean 'run'?")) << misspelt;
  EXPECT_EQ(with("    run: [\n").substr(0, 14), "/w/t.yaml:4:1 ");
  EXPECT_EQ(with("    id: x\n    run: y\n"),
            "/w/t.yaml:3:5 a template can't have 'id' | write it into the step that uses the template");
  EXPECT_EQ(
      with("    inputs: [a]\n    run: y\n"),
      "/w/t.yaml:3:13 'inputs' must be a map, not a list | write inputs: { path: null }; null means that the step "
      "must give it");
  EXPECT_EQ(with("    inputs: { a: 1 }\n    run: echo ${inputs.b}\n"),
            "/w/t.yaml:4:17 unknown input 'b' | did you mean inputs.a?");
}

TEST(StepTemplates, CantUseEachOther) {
  const std::string cyclic = "templates:\n  a: { use: t.yaml#b }\n  b: { use: t.yaml#a }\n";
  EXPECT_EQ(refused("steps: [{ use: t.yaml#a }]\n", {{"/w/t.yaml", cyclic}}),
            "/w/t.yaml:2:8 a template can't use another template | copy the keys of that template");
  const std::string inside = "templates:\n  a: { loop: { max: 1 }, steps: [{ use: t.yaml#a }] }\n";
  EXPECT_EQ(refused("steps: [{ use: t.yaml#a }]\n", {{"/w/t.yaml", inside}}),
            "/w/t.yaml:2:41 a template can't use another template | copy the keys of that template");
}

TEST(StepTemplates, AMissingOneIsAnError) {
  EXPECT_EQ(refused("steps: [{ use: steps.yaml#lnt }]\n"),
            "/w/flow.yaml:1:16 'steps.yaml' has no template 'lnt' | did you mean 'lint'?");
  EXPECT_EQ(refused("steps: [{ use: other.yaml#lint }]\n"),
            "/w/flow.yaml:1:16 the templates in 'other.yaml' can't be read: no such file | the path is relative to the "
            "folder of the workflow file");
  EXPECT_EQ(refused("steps: [{ use: steps.yaml }]\n"),
            "/w/flow.yaml:1:16 'use' must name a template, not 'steps.yaml' | write use: ./steps.yaml#NAME");
  EXPECT_EQ(refused("steps: [{ use: openai }]\n"),
            "/w/flow.yaml:1:16 'use' must name a template, not 'openai' | write use: ./steps.yaml#NAME; for a limit "
            "write uses: [NAME]");
  EXPECT_EQ(refused("steps: [{ use: [a] }]\n"),
            "/w/flow.yaml:1:16 'use' must name a template, not a list | write use: ./steps.yaml#NAME");
  EXPECT_EQ(refused("steps: [{ use: t.yaml#x }]\n", {{"/w/t.yaml", "lint: { run: x }\n"}}),
            "/w/t.yaml:1:1 a file of templates requires the map 'templates' | write templates: { NAME: { run: ... } }");
  EXPECT_EQ(refused("steps: [{ use: t.yaml#x }]\n", {{"/w/t.yaml", ""}}).substr(0, 46),
            "/w/t.yaml:1:1 a file of templates requires the");
  const auto alone = parse_workflow({"steps: [{ use: t.yaml#x }]\n", ""});
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error()[0].error.message, "the templates in 't.yaml' can't be read here");
}

TEST(StepTemplates, TheirInputsAreChecked) {
  EXPECT_EQ(refused("steps: [{ id: a, use: steps.yaml#lint }]\n"),
            "/w/flow.yaml:1:23 the template 'steps.yaml#lint' requires the input 'path' | add it: with: { path: ... }");
  EXPECT_EQ(refused("steps: [{ id: a, use: steps.yaml#lint, with: { path: x, lvl: 3 } }]\n"),
            "/w/flow.yaml:1:57 the template 'steps.yaml#lint' has no input 'lvl' | its inputs: path or level");
  EXPECT_EQ(refused("steps: [{ id: a, use: steps.yaml#lint, with: [x] }]\n").substr(0, 55),
            "/w/flow.yaml:1:23 the template 'steps.yaml#lint' requir");
  EXPECT_EQ(refused("steps: [{ id: a, use: steps.yaml#lint, with: { path: '${vars.x}' } }]\n"),
            "/w/flow.yaml:1:57 unknown variable 'x' | declare it: vars: { x: ... }");
  EXPECT_EQ(refused("steps: [{ id: a, use: steps.yaml#lint, with: { path: x, level: soon } }]\n").substr(0, 80),
            "/w/steps.yaml:5:14 'timeout' must be a positive duration, not 'soonm' | for exam");
}

}  // namespace
}  // namespace pawl
