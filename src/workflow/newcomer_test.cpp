// Files written by people who know GitHub Actions, Compose or Airflow, and the messages that they get.
#include <gtest/gtest.h>

#include "workflow/parse_workflow.hpp"

namespace pawl {
namespace {

struct Mistake {
  const char* text;
  const char* told;  // "line:column message | hint" of each error, one per line
};

constexpr Mistake kMistakes[] = {
    {"steps:\n  - id: s\n    run: echo\n    retry: 3\n",
     "4:12 'retry' must be a map, not '3' | write retry: { attempts: 3 }"},
    {"steps:\n  - id: s\n    run: echo\n    if: vars.x\n",
     "4:5 unknown key 'if' in step 's' | write 'when' instead of 'if'"},
    {"vars: {x: 1}\nsteps:\n  - id: s\n    run: echo ${{ vars.x }}\n",
     "4:15 '${{ vars.x }}' is the syntax of another tool | write ${vars.x}; to print ${{ itself, write $${{"},
    {"vars: {x: 1}\nsteps:\n  - id: s\n    run: echo\n    env: {A: \"${{ vars.x }}\"}\n",
     "5:15 '${{ vars.x }}' is the syntax of another tool | write ${vars.x}; to print ${{ itself, write $${{"},
    {"vars: {x: [1]}\nsteps:\n  - id: s\n    run: echo ${len(x)}\n",
     "4:15 unknown function 'len' | write ${length(vars.x)}"},
    {"vars: {x: [1]}\nsteps:\n  - id: s\n    run: echo ${len(vars.x)}\n",
     "4:15 unknown function 'len' | write ${length(vars.x)}"},
    {"vars: {x: [1]}\nsteps:\n  - id: s\n    run: echo\n    env: {A: \"${len(vars.x)}\"}\n",
     "5:17 unknown function 'len' | did you mean length()?"},
    {"vars: {x: [1]}\nsteps:\n  - id: s\n    run: echo ${size(vars.x)}\n",
     "4:15 unknown function 'size' | write ${length(vars.x)}"},
    {"on: push\njobs:\n  build:\n    runs-on: ubuntu\n    steps:\n      - run: echo\n",
     "1:1 unknown key 'on' in the workflow | remove it: a workflow is started from outside, for example by cron\n2:1 "
     "unknown key 'jobs' in the workflow | write 'stages' as a list: stages: [{ id: build, steps: [...] }]"},
    {"steps:\n  - id: s\n    uses: actions/checkout@v4\n",
     "3:11 'actions/checkout@v4' is not the name of a limit | actions of GitHub can't be used: write the command with "
     "'run'"},
    {"steps:\n  - id: s\n    run: echo\n  - id: t\n    depends_on: [s]\n    run: echo\n",
     "5:5 unknown key 'depends_on' in step 't' | write 'needs' instead of 'depends_on'"},
    {"steps:\n  - id: s\n    command: echo\n",
     "3:5 unknown key 'command' in step 's' | write 'run' instead of 'command'"},
    {"version: \"3\"\nservices:\n  web:\n    image: nginx\n",
     "1:1 unknown key 'version' in the workflow | remove it: the file has no version\n2:1 unknown key 'services' in "
     "the workflow | a workflow has steps, each with a command: steps: [{ run: ./script.sh }]"},
    {"steps:\n  s:\n    run: echo\n",
     "2:3 'steps' must be a list of steps, not a map | begin each step with '-': - id: s"},
    {"steps:\n  - id: s\n    run: echo\n    timeout-minutes: 5\n",
     "4:5 unknown key 'timeout-minutes' in step 's' | write timeout: 5m"},
    {"steps:\n  - id: s\n    run: echo\n    timeout: 5\n",
     "4:14 'timeout' must be a duration with a unit, not '5' | write 5s"},
    {"steps:\n  - id: s\n    run: echo\n    retries: 3\n",
     "4:5 unknown key 'retries' in step 's' | write retry: { attempts: 3 }"},
    {"steps:\n  - id: s\n    run: echo\n    continue-on-error: true\n",
     "4:5 unknown key 'continue-on-error' in step 's' | write 'continue_on_error' instead of 'continue-on-error'"},
    {"steps:\n  - id: s\n    run: echo\n    working-directory: src\n",
     "4:5 unknown key 'working-directory' in step 's' | write 'working_dir' instead of 'working-directory'"},
    {"steps:\n  - id: s\n    run: echo\n    environment: {A: b}\n",
     "4:5 unknown key 'environment' in step 's' | write 'env' instead of 'environment'"},
    {"steps:\n  - id: s\n    run: echo\n    env: [A=b]\n",
     "4:10 'env' must be a map, not a list | write env: { NAME: value }"},
    {"steps:\n  - id: s\n    run: echo\n    strategy: {matrix: {os: [a]}}\n",
     "4:5 unknown key 'strategy' in step 's' | write map: { matrix: { ... } } and the 'steps' for each combination"},
    {"steps:\n  - id: s\n    run: [echo, hi]\n",
     "3:10 'run' must be a text, not a list | write one text; several lines with run: |"},
    {"steps:\n  - id: s\n    script: echo\n", "3:5 unknown key 'script' in step 's' | write 'run' instead of 'script'"},
    {"steps:\n\t- id: s\n", "2:1 tab in the indentation | YAML requires spaces: replace the tab"},
    {"steps: [{id: s, run: echo}\n",
     "2:1 '[' is not closed with ']' | add the missing bracket or comma, or put the text in quotes"},
    {"steps: [{id: s, run: echo]\n",
     "1:26 brackets do not match | add the missing bracket or comma, or put the text in quotes"},
    {"name: \"a\nsteps: []\n", "1:7 a quote is not closed | add the missing quote"},
    {"steps:\n  - id: s\n    run: echo: hi: there\n",
     "3:14 ':' is not allowed here | put text with ': ' in quotes, or indent the line as those around it"},
    {"steps:\n  - id: s\n    run: @foo\n", "3:10 text can't begin with this character | put the text in quotes"},
    {"steps: *x\n",
     "1:8 '*' refers to an anchor that is not defined above | define it with '&name' above this line; put text that "
     "begins with '*' in quotes"},
    {"schedule: \"0 3 * * *\"\nsteps:\n  - id: s\n    run: echo\n",
     "1:1 unknown key 'schedule' in the workflow | remove it: a workflow is started from outside, for example by cron"},
    {"steps:\n  - id: s\n    run: echo\n  - id: s\n    run: echo\n",
     "4:9 duplicate step id 's', first on line 2 | choose another id: ids must be unique within a list of steps"},
    {"steps:\n  - id: s\n    needs: [t]\n    run: echo\n  - id: t\n    needs: [s]\n    run: echo\n",
     "3:13 dependency cycle: s -> t -> s | remove one of these needs"},
    {"steps:\n  - task_id: s\n    bash_command: echo\n",
     "2:5 unknown key 'task_id' in step 'step-1' | write 'id' instead of 'task_id'\n3:5 unknown key 'bash_command' in "
     "step 'step-1' | write 'run' instead of 'bash_command'"},
    {"steps:\n  - id: s\n    run: echo\n    upstream: [x]\n",
     "4:5 unknown key 'upstream' in step 's' | write 'needs' instead of 'upstream'"},
    {"steps:\n  - id: s\n    run: echo ${{ secrets.TOKEN }}\n",
     "3:15 '${{ secrets.TOKEN }}' is the syntax of another tool | write $TOKEN, and list TOKEN under 'secrets:' so "
     "that its value is masked; to print ${{ itself, write $${{"},
    {"steps:\n  - id: s\n    run: echo\n    needs: [bulid]\n",
     "4:13 step 's' needs 'bulid', which does not exist | it is the only step in this list"},
    {"", "1:1 the file is empty | a workflow requires 'steps:' with at least one step"},
    {"inputs: {x: 1}\nsteps:\n  - id: s\n    run: echo\n",
     "1:1 unknown key 'inputs' in the workflow | write 'vars' instead of 'inputs'"},
    {"vars: {x: 1}\nsteps:\n  - id: s\n    run: echo\n    when: ${{ vars.x == 1 }}\n",
     "5:11 '${{ vars.x == 1 }}' is the syntax of another tool | write ${vars.x == 1}; to print ${{ itself, write $${{"},
    {"vars: {x: 1}\nsteps:\n  - id: s\n    run: echo\n    when: vars.x == 1 and success()\n",
     "5:27 unknown function 'success' | a step runs only if those before it succeeded"},
    {"steps:\n  - id: s\n    foreach: [1,2]\n    run: echo\n",
     "3:5 unknown key 'foreach' in step 's' | write map: { items: [...] } and the 'steps' for each item"},
    {"steps:\n  - id: s\n    run: echo\n  - id: t\n    needs: [s]\n    run: echo ${steps.s.outputs.x}\n",
     "6:17 step 's' has no field 'outputs' | did you mean 'output'?"},
    {"steps:\n  - id: s\n    run: echo\n    restart: always\n",
     "4:5 unknown key 'restart' in step 's' | write retry: { attempts: 3 }"},
};

TEST(Newcomers, AreToldWhatToWrite) {
  for (const Mistake& mistake : kMistakes) {
    const auto parsed = parse_workflow({mistake.text, ""});
    ASSERT_FALSE(parsed) << mistake.text;
    std::string told;
    for (const WorkflowFault& fault : parsed.error()) {
      told += fmt::format("{}{}:{} {} | {}", told.empty() ? "" : "\n", fault.place.line, fault.place.column,
                          fault.error.message, fault.error.hint);
      EXPECT_FALSE(fault.error.hint.empty()) << mistake.text;
    }
    EXPECT_EQ(told, mistake.told) << mistake.text;
  }
}

TEST(Newcomers, WhatOnlyLooksLikeAMistakeIsARemark) {
  const auto silent = parse_workflow({"steps:\n  - { id: a, run: x }\n  - { run: 'echo ${steps.a.output}' }\n", ""});
  ASSERT_TRUE(silent);
  ASSERT_EQ(silent->remarks.size(), 1U);
  EXPECT_EQ(silent->remarks[0].place.line, 3U);
  for (const char* text :
       {"steps:\n  - { id: a, run: x, capture: { format: text } }\n  - { run: 'echo ${steps.a.output}' }\n",
        "steps:\n  - { id: a, approve: x }\n  - { run: 'echo ${steps.a.output}' }\n",
        "steps:\n  - { id: a, run: x }\n  - { run: 'echo ${steps.a.status}' }\n",
        "steps:\n  - { id: a, run: 'echo >>$PAWL_RESULT' }\n  - { run: 'echo ${steps.a.output}' }\n",
        "steps:\n  - { run: 'echo $${{ x }}' }\n"}) {
    const auto parsed = parse_workflow({text, ""});
    ASSERT_TRUE(parsed) << text;
    EXPECT_TRUE(parsed->remarks.empty()) << text;
  }
}

}  // namespace
}  // namespace pawl
