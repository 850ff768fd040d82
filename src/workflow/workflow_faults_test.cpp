// Invalid files: what is refused, where, and what is suggested instead.
#include <gtest/gtest.h>

#include <algorithm>

#include "workflow/language.hpp"
#include "workflow/parse_workflow.hpp"

namespace pawl {
namespace {

std::vector<WorkflowFault> faults_of(const std::string& text) {
  auto workflow = parse_workflow({text, "/flows/a.yaml"});
  EXPECT_FALSE(workflow.has_value()) << text;
  return workflow ? std::vector<WorkflowFault>{} : std::move(workflow.error());
}

/// Returns "line:column message | hint" of the first error.
std::string first(const std::string& text) {
  const auto faults = faults_of(text);
  if (faults.empty()) return "none";
  const WorkflowFault& fault = faults.front();
  if (fault.place.line > 0) {
    EXPECT_EQ(fault.error.where, fmt::format("/flows/a.yaml:{}:{}", fault.place.line, fault.place.column));
  }
  return fmt::format("{}:{} {} | {}", fault.place.line, fault.place.column, fault.error.message, fault.error.hint);
}

Code first_code(const std::string& text) {
  const auto faults = faults_of(text);
  return faults.empty() ? Code::usage : faults.front().error.code;
}

TEST(WorkflowFaults, ATabIsNamed) {
  EXPECT_EQ(first("steps:\n\t- run: x\n"), "2:1 tab in the indentation | YAML requires spaces: replace the tab");
}

TEST(WorkflowFaults, AnExpressionInBracesIsToBeQuoted) {
  EXPECT_EQ(
      first("steps:\n  - map: { items: ${vars.list}, parallel: 4 }\n    steps: [{ run: x }]\n"),
      "2:20 a value with ${ } inside { } or [ ] is not in quotes | put it in quotes: { items: \"${vars.list}\" }");
  EXPECT_EQ(first("steps:\n  - run: [\"${vars.a}\", x\n").find("inside { }"), std::string::npos);
}

TEST(WorkflowFaults, AKeyThatIsNotAlignedIsNotCalledAnItem) {
  EXPECT_EQ(first("steps:\n  - id: a\n    run: x\n   when: y\n"),
            "4:4 the keys of this map are not aligned | indent all keys of a map by the same number of spaces");
}

TEST(WorkflowFaults, AnAbbreviatedKeyIsSuggested) {
  EXPECT_EQ(first("steps:\n  - run: x\n    on_fail: []\n"),
            "3:5 unknown key 'on_fail' in step 'step-1' | did you mean 'on_failure'?");
}

TEST(WorkflowFaults, BrokenYamlHasItsPlace) {
  const auto faults = faults_of("steps:\n  - run: [x\n");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].error.code, Code::invalid_workflow);
  EXPECT_GE(faults[0].place.line, 2U);
  EXPECT_EQ(faults[0].error.message, "'[' is not closed with ']'");
}

TEST(WorkflowFaults, AKeyThatIsThereTwiceIsNamedWithBothLines) {
  EXPECT_EQ(first("steps:\n  - run: x\n    id: a\n    run: y\n"),
            "4:5 duplicate key 'run': first on line 2, again on line 4 | remove one of them");
}

TEST(WorkflowFaults, EmptyFilesSecondDocumentsAndWrongBytesAreRefused) {
  EXPECT_EQ(first(""), "1:1 the file is empty | a workflow requires 'steps:' with at least one step");
  EXPECT_EQ(first("# nothing\n"), "1:1 the file is empty | a workflow requires 'steps:' with at least one step");
  EXPECT_TRUE(first("steps: [{ run: x }]\n---\nsteps: []\n").find("a second document begins here") !=
              std::string::npos);
  EXPECT_EQ(first("steps:\n  - run: \xFF\n"),
            "2:10 the file is not valid UTF-8 | convert it: iconv -f latin1 -t utf-8 FILE");
  EXPECT_TRUE(first(std::string("steps: \x04")).starts_with("1:8 the character U+0004 is not allowed"));
  EXPECT_TRUE(first("- a\n").starts_with("1:1 the workflow must be a map, not a list"));
  EXPECT_TRUE(first(std::string((4U << 20U) + 1, ' ')).starts_with("0:0 the file has 4194305 bytes, more than 4 MiB"));
}

TEST(WorkflowFaults, AliasesCantMakeAFileLargeOrDeep) {
  std::string bomb = "x-a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'h'; ++c) {
    bomb += fmt::format("x-{0}: &{0} [*{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}]\n", c,
                        static_cast<char>(c - 1));
  }
  EXPECT_NE(first(bomb + "steps: [{ run: x }]\n").find("too large when its aliases are expanded"), std::string::npos);
  EXPECT_NE(
      first("vars: { a: " + std::string(70, '[') + std::string(70, ']') + " }\n").find("nested more than 64 levels"),
      std::string::npos);
  EXPECT_NE(first("vars: { a: " + std::string(5000, '[') + "\n").find("nested"), std::string::npos);
  EXPECT_NE(first("x-a: &a [*a]\nsteps: [{ run: x }]\n").find("an alias refers to a value that contains it"),
            std::string::npos);
}

TEST(WorkflowFaults, OnlyMapsAreMerged) {
  EXPECT_NE(first("steps:\n  - { <<: [1], run: x }\n").find("2:7 '<<' merges maps only"), std::string::npos);
}

TEST(WorkflowFaults, AnUnknownKeyGetsTheNearestOne) {
  EXPECT_EQ(first("steps:\n  - run: x\n    timout: 5s\n"),
            "3:5 unknown key 'timout' in step 'step-1' | did you mean 'timeout'?");
  EXPECT_EQ(first("step: []\n"), "1:1 unknown key 'step' in the workflow | did you mean 'steps'?");
  EXPECT_EQ(first("steps: [{ run: x, retry: { attempt: 3 } }]"),
            "1:28 unknown key 'attempt' in 'retry' | did you mean 'attempts'?");
}

TEST(WorkflowFaults, IfSuggestsWhen) {
  EXPECT_EQ(first("steps:\n  - run: x\n    if: vars.a\n"),
            "3:5 unknown key 'if' in step 'step-1' | write 'when' instead of 'if'");
  EXPECT_EQ(first("steps:\n  - run: x\n    depends_on: [a]\n"),
            "3:5 unknown key 'depends_on' in step 'step-1' | write 'needs' instead of 'depends_on'");
}

TEST(WorkflowFaults, AStepDoesExactlyOneThing) {
  EXPECT_EQ(first("steps:\n  - run: x\n    sleep: 5s\n"),
            "3:5 a step can't have both 'run' and 'sleep' | split it into two steps");
  EXPECT_EQ(first("steps:\n  - map: { items: [1] }\n    run: x\n"),
            "2:5 a step can't have both 'run' and 'map' | put 'run' under 'steps:' of the map: steps: [{ run: ... }]");
  EXPECT_EQ(first("steps: [run echo hi]"), "1:9 a step must be a map, not a text | write '- run: echo hi'");
  EXPECT_TRUE(first("steps:\n  - id: a\n").starts_with("2:5 the step has no action | add one of run, handler,"));
  EXPECT_EQ(first("steps: [ls]"), "1:9 a step must be a map, not a text | write '- run: ls'");
  EXPECT_EQ(first("steps: [{ run: x, with: { a: 1 } }]"),
            "1:19 'with' can't be used with 'run' | use it with handler or workflow");
  EXPECT_EQ(first("steps: [{ run: x, rescue: true }]"),
            "1:19 'rescue' requires 'on_failure' | add 'on_failure' with the steps that rescue it");
}

TEST(WorkflowFaults, StepsAndStagesExcludeEachOther) {
  EXPECT_TRUE(first("steps: [{ run: x }]\nstages: []\n").starts_with("2:1 a workflow has both 'steps' and 'stages'"));
  EXPECT_TRUE(first("name: x\n").starts_with("1:1 a workflow requires 'steps'"));
  EXPECT_TRUE(first("steps: []\n").starts_with("1:8 'steps' must be a list of steps, not an empty one"));
}

TEST(WorkflowFaults, NeedsAreSiblings) {
  EXPECT_EQ(first("steps:\n  - { id: gather, run: x }\n  - { id: b, run: x, needs: [gahter] }\n"),
            "3:30 step 'b' needs 'gahter', which does not exist | did you mean 'gather'?");
  const std::string inner = "steps:\n  - { id: a, loop: { max: 1 }, steps: [{ id: in, run: x }] }\n";
  EXPECT_EQ(first(inner + "  - { id: b, run: x, needs: in }\n"),
            "3:29 step 'b' can't need 'in': it is inside 'a'; use that step instead | "
            "'needs' takes ids from the same list of steps");
  EXPECT_EQ(
      first("steps:\n  - { id: a, run: x }\n  - { id: b, loop: { max: 1 }, steps: [{ id: c, run: x, needs: a }] }\n"),
      "3:64 step 'c' can't need 'a': it is outside this list of steps | 'needs' takes ids from the same list of "
      "steps");
}

TEST(WorkflowFaults, ACycleIsShown) {
  EXPECT_EQ(first("steps:\n  - { id: a, run: x, needs: b }\n  - { id: b, run: x, needs: a }\n"),
            "2:29 dependency cycle: a -> b -> a | remove one of these needs");
  EXPECT_EQ(first("steps:\n  - { id: a, run: x, needs: b }\n  - { id: b, run: x }\n"),
            "2:29 dependency cycle: a -> b -> a | 'b' has no 'needs' and so waits for the step above it: "
            "add 'needs: []' if it should not");
  EXPECT_NE(first("steps: [{ id: a, run: x, needs: a }]").find("a -> a"), std::string::npos);
}

TEST(WorkflowFaults, IdsAreUniqueAndWellFormed) {
  EXPECT_EQ(first("steps:\n  - { id: a, run: x }\n  - { id: a, run: y }\n"),
            "3:11 duplicate step id 'a', first on line 2 | choose another id: ids must be unique within a list of "
            "steps");
  EXPECT_TRUE(first("steps: [{ id: 1a, run: x }]").starts_with("1:15 invalid step id '1a'"));
  EXPECT_TRUE(first("stages: [{ id: s, steps: [{ id: a, run: x }] }, { id: t, steps: [{ id: a, run: x }] }]")
                  .starts_with("1:72 duplicate step id 'a'"));
  EXPECT_TRUE(first("stages: [{ id: s, steps: [{ id: a, run: x, needs: b }] }, { id: t, steps: [{ id: b, run: x }] }]")
                  .starts_with("1:51 step 'a' needs 'b', which is in a later stage"));
  EXPECT_TRUE(first("stages: [{ id: s }]").starts_with("1:10 the stage 's' has no steps"));
}

TEST(WorkflowFaults, AliasesAreUniqueAndNotPawlsNames) {
  EXPECT_EQ(first("steps:\n  - { run: x, capture: n }\n  - { run: x, capture: { as: n } }\n"),
            "3:30 duplicate captured name 'n', first on line 2 | choose another name: captured names must be unique in "
            "a file");
  EXPECT_TRUE(first("steps: [{ run: x, capture: steps }]").starts_with("1:28 the name 'steps' is reserved"));
  EXPECT_TRUE(first("steps: [{ run: x, capture: a-b }]").starts_with("1:28 invalid name of a captured value: 'a-b'"));
  EXPECT_TRUE(first("steps: [{ sleep: 1s, capture: { format: json } }]")
                  .starts_with("1:33 'format' applies only to the output of a command"));
}

TEST(WorkflowFaults, VariablesMustBeDeclared) {
  EXPECT_EQ(first("vars: { topic: x }\nsteps:\n  - run: echo ${vars.topci}\n"),
            "3:17 unknown variable 'topci' | did you mean 'topic'?");
  EXPECT_EQ(first_code("steps: [{ run: 'echo ${vars.x}' }]"), Code::unknown_name);
  EXPECT_EQ(first("steps:\n  - run: |\n      echo one\n      echo ${vars.x}\n"),
            "4:14 unknown variable 'x' | declare it: vars: { x: ... }");
  EXPECT_EQ(first("vars: { a: 1 }\nsteps: [{ run: x, when: 'vars.a > 1 && vars.b' }]"),
            "2:40 unknown variable 'b' | did you mean 'a'?");
}

TEST(WorkflowFaults, AStepIsUsedOnlyAfterItIsDone) {
  EXPECT_EQ(first("steps:\n  - { id: a, run: 'echo ${steps.b.output}' }\n  - { id: b, run: x }\n"),
            "2:27 'b' is not available: step 'b' runs after 'a' | move the step, or use another step");
  EXPECT_EQ(first("steps:\n  - { id: a, run: x, capture: n }\n  - { id: b, run: 'echo ${n}', needs: [] }\n"),
            "3:27 'n' may not be available: step 'a' does not always finish before 'b' | add 'a' to the needs of 'b'");
  EXPECT_TRUE(first("steps: [{ id: a, run: x, when: steps.a.output }]").find("step 'a' can't use its own result") !=
              std::string::npos);
  EXPECT_TRUE(first("steps: [{ id: a, loop: { max: 1 }, steps: [{ run: 'echo ${steps.a.output}' }] }]")
                  .find("step 'a' contains this step and is not finished yet") != std::string::npos);
}

TEST(WorkflowFaults, InnerStepsAreNotSeenFromOutside) {
  EXPECT_EQ(first("steps:\n  - { id: a, loop: { max: 1 }, steps: [{ id: in, run: x }] }\n  - { run: 'echo "
                  "${steps.in.output}' }\n"),
            "3:20 step 'in' is inside 'a' and not visible here | use steps.a.output");
}

TEST(WorkflowFaults, StepsHaveKnownFields) {
  const std::string gather = "steps:\n  - { id: a, run: x }\n";
  EXPECT_EQ(first(gather + "  - run: echo ${steps.a.ouput}\n"),
            "3:17 step 'a' has no field 'ouput' | did you mean 'output'?");
  EXPECT_EQ(first(gather + "  - run: echo ${steps.q.output}\n").substr(0, 25), "3:17 unknown step 'q' | d");
  EXPECT_NE(first(gather + "  - run: echo ${steps.a}\n").find("'steps.a' requires a field"), std::string::npos);
  EXPECT_NE(first("steps: [{ run: 'echo ${run.ids}' }]").find("did you mean 'id'?"), std::string::npos);
}

TEST(WorkflowFaults, NamesOfMapsAndLoopsStayInside) {
  EXPECT_NE(first("steps: [{ run: 'echo ${item}' }]").find("'item' exists only inside a map"), std::string::npos);
  EXPECT_NE(first("steps: [{ run: 'echo ${index}' }]").find("'index' exists only inside a map"), std::string::npos);
  EXPECT_NE(first("steps: [{ run: 'echo ${loop.iteration}' }]").find("'loop' exists only inside a loop"),
            std::string::npos);
  EXPECT_NE(first("steps: [{ map: { items: [1] }, steps: [{ run: 'echo ${map.total}' }] }]").find("exists only inside"),
            std::string::npos);
  EXPECT_NE(first("steps: [{ map: { items: [1] }, steps: [{ run: x }], reduce: { run: 'echo ${item}' } }]")
                .find("'item' exists only"),
            std::string::npos);
}

TEST(WorkflowFaults, DurationsNeedAUnit) {
  EXPECT_EQ(first("steps: [{ sleep: 10 }]"), "1:18 'sleep' must be a duration with a unit, not '10' | write 10s");
  EXPECT_EQ(first("steps: [{ run: x, timeout: 10 }]"),
            "1:28 'timeout' must be a duration with a unit, not '10' | write 10s");
  EXPECT_NE(first("steps: [{ sleep: soon }]").find("for example 200ms"), std::string::npos);
  EXPECT_NE(first("steps: [{ run: x, timeout: 0s }]").find("positive duration"), std::string::npos);
  EXPECT_NE(first("{ checkpoint: { memory_limit: 512 }, steps: [{ run: x }] }").find("for example 512MB"),
            std::string::npos);
}

TEST(WorkflowFaults, WordsAndNumbersAreChecked) {
  EXPECT_EQ(first("steps: [{ run: x, break: befor }]"),
            "1:26 'break' must be before or after, not 'befor' | did you mean 'before'?");
  EXPECT_EQ(first("steps: [{ run: x, risky: yes }]"),
            "1:26 'risky' must be true or false, not 'yes' | write risky: true");
  EXPECT_TRUE(first("steps: [{ run: x, retry: { attempts: 0 } }]")
                  .starts_with("1:38 'attempts' must be a whole number from 1"));
  EXPECT_TRUE(first("{ vars: { n: 12345678901234567890 }, steps: [{ run: x }] }")
                  .starts_with("1:14 the number 12345678901234567890 can't"));
  EXPECT_TRUE(first("steps: [{ loop: {}, steps: [{ run: x }] }]").starts_with("1:17 'loop' requires 'max'"));
  EXPECT_TRUE(first("steps: [{ map: { items: abc }, steps: [{ run: x }] }]")
                  .starts_with("1:25 'items' must be a list or an expression"));
  EXPECT_TRUE(first("steps: [{ map: {}, steps: [{ run: x }] }]").starts_with("1:16 a map requires items"));
  EXPECT_TRUE(
      first("{ env: { PAWL_X: 1 }, steps: [{ run: x }] }").starts_with("1:10 the variable 'PAWL_X' is reserved"));
}

TEST(WorkflowFaults, ValuesInHereDocumentsAreRefused) {
  const std::string text = "vars: { a: 1 }\nsteps:\n  - run: |\n      cat <<END\n      ${vars.a}\n      END\n";
  EXPECT_EQ(first_code(text), Code::invalid_command);
  EXPECT_EQ(first(text).substr(0, 2), "5:");
}

TEST(WorkflowFaults, ExpressionsHaveTheirPlace) {
  const std::string text = "steps:\n  - run: x\n    when: 1 +\n";
  EXPECT_EQ(first_code(text), Code::invalid_expression);
  EXPECT_EQ(first(text).substr(0, 2), "3:");
}

TEST(WorkflowFaults, UnknownNamesOutsideOfCommandsAreFaults) {
  EXPECT_EQ(first_code("steps: [{ approve: 'ok ${topic}?' }]"), Code::unknown_name);
  EXPECT_EQ(first_code("{ env: { A: '${steps.a.output}' }, steps: [{ id: a, run: x }] }"), Code::unknown_name);
}

TEST(WorkflowFaults, AllAreReportedInTheOrderOfTheFile) {
  const auto faults =
      faults_of("steps:\n  - { id: a, run: x, needs: z }\n  - { id: b }\n  - { id: a, run: x, tiemout: 1s }\n");
  ASSERT_EQ(faults.size(), 4U);
  EXPECT_EQ(faults[0].place.line, 2U);
  EXPECT_EQ(faults[1].place.line, 3U);
  EXPECT_EQ(faults[2].place.line, 4U);
  EXPECT_EQ(faults[3].place.column, 22U);
}

TEST(WorkflowFaults, AFileHasAtMostTenThousandSteps) {
  std::string text = "steps:\n";
  for (int i = 0; i < 10'000; ++i) text += "  - run: x\n";
  EXPECT_TRUE(parse_workflow({text, ""}).has_value());
  EXPECT_TRUE(first(text + "  - run: x\n").starts_with("10002:5 more than 10000 steps"));
}

TEST(WorkflowFaults, StagesOfManyStepsNeedABarrier) {
  std::string stage;
  for (int i = 0; i < 1'100; ++i) stage += "      - run: x\n";
  const std::string text = "stages:\n  - id: a\n    type: parallel\n    steps:\n" + stage;
  EXPECT_NE(first(text + "  - id: b\n    type: parallel\n    steps:\n" + stage)
                .find("too many dependencies between two stages"),
            std::string::npos);
  EXPECT_TRUE(
      parse_workflow({text + "  - { id: m, type: barrier }\n  - id: b\n    type: parallel\n    steps:\n" + stage, ""})
          .has_value());
}

/// Returns a valid document around one object of the language, whose `key` has a value of a type that is never valid.
std::string document_with(std::string_view object, std::string_view key) {
  const std::string wrong = fmt::format("{}: [[]]", key);
  if (object == "workflow")
    return fmt::format("{{ {}{} }}", wrong, key == "steps" || key == "stages" ? "" : ", steps: [{ run: x }]");
  if (object == "stage")
    return fmt::format("stages: [{{ {}{}{} }}]", wrong, key == "id" ? "" : ", id: a",
                       key == "steps" ? "" : ", steps: [{ run: x }]");
  if (object == "retry" || object == "budget" || object == "checkpoint")
    return fmt::format("{{ {}: {{ {} }}, steps: [{{ run: x }}] }}", object, wrong);
  if (object == "loop") return fmt::format("steps: [{{ loop: {{ {} }}, steps: [{{ run: x }}] }}]", wrong);
  if (object == "map") return fmt::format("steps: [{{ map: {{ {} }}, steps: [{{ run: x }}] }}]", wrong);
  if (object == "circuit_breaker")
    return fmt::format("steps: [{{ map: {{ items: [1], circuit_breaker: {{ {} }} }}, steps: [{{ run: x }}] }}]", wrong);
  if (object == "wait_for") return fmt::format("steps: [{{ wait_for: {{ {} }} }}]", wrong);
  if (object == "limit") return fmt::format("{{ limits: {{ a: {{ {} }} }}, steps: [{{ run: x }}] }}", wrong);
  if (object == "capture" || object == "confidence" || object == "cache")
    return fmt::format("steps: [{{ run: x, {}: {{ {} }} }}]", object, wrong);
  const bool of_map = key == "reduce";
  const bool kind = std::find(kind_keys().begin(), kind_keys().end(), key) != kind_keys().end();
  return fmt::format("steps: [{{ {}{} }}]", wrong,
                     kind                  ? ""
                     : key == "with"       ? ", handler: x"
                     : key == "use"        ? ""
                     : key == "on_timeout" ? ", approve: x, timeout: 1h"
                     : key == "steps"      ? ", loop: { max: 1 }"
                     : of_map              ? ", map: { items: [1] }, steps: [{ run: x }]"
                                           : ", run: x");
}

TEST(WorkflowFaults, EveryKeyOfTheLanguageIsReadByTheParser) {
  for (const LanguageObject* object : language_objects()) {
    for (const LanguageKey& key : object->keys) {
      if (object->name == "map" && key.name == "items") continue;  // a list of lists is fine
      const std::string text = document_with(object->name, key.name);
      const auto faults = faults_of(text);
      const std::size_t at = text.find(fmt::format("{}: [[]]", key.name)) + key.name.size() + 3;  // the value's column
      const bool found = std::any_of(faults.begin(), faults.end(), [&](const WorkflowFault& fault) {
        return fault.place.column >= at && fault.place.column <= at + 1;
      });
      EXPECT_TRUE(found) << object->name << "." << key.name << ": " << text;
      for (const WorkflowFault& fault : faults)
        EXPECT_EQ(fault.error.message.find("unknown key"), std::string::npos) << text;
    }
  }
}

TEST(WorkflowSchema, HoldsExactlyTheKeysOfTheLanguage) {
  const Json schema = Json::parse(workflow_schema());
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  for (const LanguageObject* object : language_objects()) {
    const Json& part = object->name == "workflow" ? schema : schema["$defs"][std::string(object->name)];
    EXPECT_EQ(part["additionalProperties"], false) << object->name;
    EXPECT_EQ(part["properties"].size(), object->keys.size()) << object->name;
    for (const LanguageKey& key : object->keys)
      EXPECT_TRUE(part["properties"].contains(std::string(key.name))) << key.name;
  }
  EXPECT_EQ(schema["$defs"].size() + 1, language_objects().size());
}

/// Checks that every "#/$defs/x" that is used exists.
void check_references(const Json& value, const Json& defs) {
  if (value.is_object() && value.contains("$ref")) {
    const auto reference = value["$ref"].get<std::string>();
    ASSERT_TRUE(reference.starts_with("#/$defs/"));
    EXPECT_TRUE(defs.contains(reference.substr(8))) << reference;
  }
  for (const Json& part : value) {
    if (part.is_structured()) check_references(part, defs);
  }
}

TEST(WorkflowSchema, RefersOnlyToWhatItDefines) {
  const Json schema = Json::parse(workflow_schema());
  check_references(schema, schema["$defs"]);
}

}  // namespace
}  // namespace pawl
