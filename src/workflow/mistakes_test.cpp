// Typical mistakes with the newer keys, and the messages that people get.
#include <gtest/gtest.h>

#include "workflow/parse_workflow.hpp"

namespace pawl {
namespace {

struct Wrong {
  const char* text;
  const char* told;  // "line:column message | hint" of each error, one per line
};

constexpr Wrong kWrong[] = {
    // deadlines
    {"steps:\n  - approve: ok?\n    timeout: 24\n",
     "3:14 'timeout' must be a duration with a unit, not '24' | write 24s"},
    {"steps:\n  - approve: ok?\n    timeout: 1 day\n",
     "3:14 'timeout' must be a positive duration, not '1 day' | for example 200ms, 30s, 2m, 24h or 1h30m"},
    {"steps:\n  - approve: ok?\n    on_timeout: fail\n",
     "3:5 'on_timeout' requires 'timeout' | add the time to wait, for example timeout: 24h"},
    {"steps:\n  - approve: ok?\n    timeout: 1h\n    on_timeout: skip\n",
     "4:17 'on_timeout' must be reject, fail or continue, not 'skip' | write on_timeout: reject"},
    {"steps:\n  - loop: { max: 2 }\n    timeout: 1h\n    on_timeout: reject\n    steps: [{ run: x }]\n",
     "4:17 'on_timeout' must be fail or continue, not 'reject' | only 'approve' can be rejected: write on_timeout: "
     "fail"},
    {"steps:\n  - run: x\n    timeout: 1h\n    on_timeout: continue\n",
     "4:5 'on_timeout' can't be used with 'run' | use it with approve, loop, map or workflow"},
    {"steps:\n  - approve: ok?\n    deadline: 1h\n",
     "3:5 unknown key 'deadline' in step 'step-1' | write 'timeout' instead of 'deadline'"},
    {"steps:\n  - wait_for: go\n    timeout: 1h\n",
     "3:5 'timeout' has no effect on 'wait_for' | write wait_for: { signal: NAME, timeout: 1h }"},
    {"steps:\n  - approve: ok?\n    timeout: 0s\n",
     "3:14 'timeout' must be a positive duration, not '0s' | for example 200ms, 30s, 2m, 24h or 1h30m"},
    // keys without effect
    {"steps:\n  - map: { items: [1] }\n    env: { A: b }\n    steps: [{ run: x }]\n",
     "3:5 'env' has no effect on 'map' | write it on the steps inside the map"},
    {"steps:\n  - loop: { max: 2, on_max: continue }\n    total_timeout: 1h\n    steps: [{ run: x }]\n",
     "2:21 'on_max' has no effect without 'until' | add the condition that ends the loop\n3:5 'total_timeout' has no "
     "effect on 'loop' | write it on the steps inside the loop"},
    {"steps:\n  - workflow: c.yaml\n    retry: { attempts: 2 }\n",
     "3:5 'retry' has no effect on 'workflow' | write it into the child's file"},
    {"steps:\n  - approve: ok?\n    retry: { attempts: 2 }\n    timeout: 1h\n",
     "3:5 'retry' has no effect on 'approve' without 'on_timeout: fail' | only a gate that fails by its timeout is "
     "tried again"},
    {"steps:\n  - handler: h\n    working_dir: x\n",
     "3:5 'working_dir' has no effect on 'handler' | remove it; it works with run"},
    {"steps:\n  - map: { items: [1] }\n    steps: [{ run: x, break: before }]\n",
     "3:23 'break' has no effect on the steps of a map | write it on the map, or remove it"},
    {"steps:\n  - sleep: 1s\n    confidence: { below: 0.5, then: [{ run: x }] }\n    isolate: worktree\n",
     "3:5 'confidence' has no effect on 'sleep' | remove it; it works with run or handler\n4:5 'isolate' has no effect "
     "on 'sleep' | remove it; it works with run or map"},
    {"steps:\n  - run: x\n    merge: manual\n",
     "3:5 'merge' requires 'isolate' | add isolate: worktree, or remove 'merge'"},
    {"steps:\n  - run: x\n    isolate: worktree\n    merge: never\n",
     "4:12 'merge' must be auto or manual, not 'never' | write merge: auto"},
    {"steps:\n  - handler: h\n    merge: manual\n",
     "3:5 'merge' can't be used with 'handler' | use it with run or map"},
    {"steps:\n  - approve: ok?\n    cache: { key: x }\n    uses: [a]\n",
     "3:5 'cache' can't be used with 'approve' | use it with run or handler\n4:5 'uses' can't be used with 'approve' | "
     "use it with run, handler, loop or map"},
    // retries
    {"steps:\n  - run: x\n    retry: { attempts: 2, on_codes: 75 }\n",
     "3:37 'on_codes' must be a list, not a number | write [75]"},
    {"steps:\n  - run: x\n    retry: { attempts: 2, on_codes: [0, 300] }\n",
     "3:27 exit code 0 is never retried | 0 is success: remove it\n3:41 'on_codes' must be a whole number from 0 to "
     "255, not '300' | for example 10"},
    {"steps:\n  - run: x\n    retry: { attempts: 2, when: exitcode == 1 }\n",
     "3:33 unknown name 'exitcode' | did you mean 'exit_code'?"},
    {"steps:\n  - run: x\n    when: exit_code == 1\n",
     "3:11 'exit_code' exists only in 'when' of 'retry' | write steps.ID.exit_code"},
    {"steps:\n  - run: x\n    retry: { attempts: 2, retry_on: [75] }\n",
     "3:27 unknown key 'retry_on' in 'retry' | write on_codes: [75]"},
    {"steps:\n  - { id: a, run: x, retry: { attempts: 2, when: steps.a.exit_code == 1 } }\n",
     "2:50 step 'a' can't use its own result | write error, exit_code or attempt, which belong to the attempt that "
     "failed"},
    // limits
    {"limits: { openai: 60/min }\nsteps: [{ run: x }]\n",
     "1:19 the limit 'openai' must be a map, not '60/min' | write openai: { per_minute: 60 }"},
    {"limits: { openai: { rate: 60 } }\nsteps: [{ run: x }]\n",
     "1:21 unknown key 'rate' in the limit 'openai' | write per_minute: 60"},
    {"limits: { openai: { per_minute: 0.5 } }\nsteps: [{ run: x }]\n",
     "1:33 'per_minute' must be a whole number from 1 to 1000000, not '0.5' | for example 10"},
    {"limits: { openai: {} }\nsteps: [{ run: x }]\n",
     "1:11 the limit 'openai' has neither 'per_minute' nor 'parallel' | write for example { per_minute: 60, parallel: "
     "8 }"},
    {"limits: [openai]\nsteps: [{ run: x }]\n",
     "1:9 'limits' must be a map of limits, not a list | write limits: { openai: { per_minute: 60, parallel: 8 } }"},
    {"limits: { openai: { parallel: 2 } }\nsteps: [{ run: x, uses: opnai }]\n",
     "2:25 unknown limit 'opnai' | did you mean 'openai'?"},
    {"steps: [{ run: x, uses: [openai] }]\n",
     "1:26 unknown limit 'openai' | declare it at the top level: limits: { openai: { parallel: 8 } }"},
    {"steps:\n  - run: x\n    limits: { openai: { parallel: 2 } }\n",
     "3:5 unknown key 'limits' in step 'step-1' | 'limits' belongs to the top level of the file"},
    {"steps:\n  - run: x\n    uses: ./steps.yaml#lint\n",
     "3:11 unknown limit './steps.yaml#lint' | write use: ./steps.yaml#lint"},
    // finally, notify
    {"steps: [{ id: a, run: x }]\nfinally: [{ run: y, needs: [a] }]\n",
     "2:29 step 'step-1' can't need 'a': it is outside this list of steps | 'needs' takes ids from the same list of "
     "steps"},
    {"steps: [{ id: a, run: x }]\nfinaly: [{ run: y }]\n",
     "2:1 unknown key 'finaly' in the workflow | did you mean 'finally'?"},
    {"steps: [{ id: a, run: x, finally: [{ run: y }] }]\n",
     "1:26 unknown key 'finally' in step 'a' | 'finally' belongs to the top level of the file"},
    {"steps: [{ id: finally, run: x }]\nfinally: [{ run: y }]\n",
     "1:9 a step of a workflow with 'finally' can't have the id 'finally' | choose another id"},
    {"steps: [{ id: a, run: x }]\nfinally: ./clean.sh\n",
     "2:10 'finally' must be a list of steps, not a text | write '- run: ./script.sh' below it"},
    {"steps: [{ id: a, run: x }]\nnotify: { slack: x }\n",
     "2:9 'notify' must be a text, not a map | write one command: notify: ./tell.sh"},
    {"steps: [{ id: a, run: x }]\nnotify: ./tell.sh ${steps.a.output}\n",
     "2:21 unknown step 'a' | no step is visible here"},
    // matrix
    {"steps: [{ map: { matrix: { a: [1] }, items: [2] }, steps: [{ run: x }] }]\n",
     "1:18 a map has both 'items' and 'matrix' | remove one of them"},
    {"steps: [{ map: { matrix: [a, b] }, steps: [{ run: x }] }]\n",
     "1:26 'matrix' must be a map of lists, not a list | write matrix: { model: [a, b], case: \"${range(10)}\" }"},
    {"steps: [{ map: { matrix: { a: 5 } }, steps: [{ run: x }] }]\n",
     "1:31 'a' must be a list or an expression that returns one, not a number | write a: [5]"},
    {"steps: [{ map: { matrix: { a: [1] } }, steps: [{ run: 'x', env: { A: '${matrix.a}' } }] }]\n",
     "1:71 unknown name 'matrix' | write ${item.KEY}"},
    {"steps: [{ matrix: { a: [1] }, steps: [{ run: x }] }]\n",
     "1:11 unknown key 'matrix' in step 'step-1' | write map: { matrix: { ... } } and the 'steps' for each "
     "combination"},
    {"steps: [{ map: { items: '${seq(3)}' }, steps: [{ run: x }] }]\n",
     "1:28 unknown function 'seq' | did you mean range()?"},
    // cache
    {"steps:\n  - run: x\n    cache: fetch\n",
     "3:12 'cache' must be a map, not 'fetch' | write cache: { key: \"fetch ${vars.url}\", ttl: 1d }"},
    {"steps:\n  - run: x\n    cache: { ttl: 1d }\n",
     "3:12 'cache' requires 'key' | write everything that the result depends on: key: \"fetch ${vars.url}\""},
    {"steps:\n  - run: x\n    cache: { key: k, ttl: 5 }\n",
     "3:27 'ttl' must be a duration with a unit, not '5' | write 5s"},
    {"steps:\n  - run: x\n    cache: { key: k, expires: 1d }\n",
     "3:22 unknown key 'expires' in 'cache' | write 'ttl' instead of 'expires'"},
    // failures
    {"steps: [{ map: { items: [1], max_failures: 110% }, steps: [{ run: x }] }]\n",
     "1:44 'max_failures' must be a whole number or a percentage, not '110%' | for example 10, or 10%"},
    {"steps: [{ map: { items: [1], max_failures: few }, steps: [{ run: x }] }]\n",
     "1:44 'max_failures' must be a whole number or a percentage, not 'few' | for example 10, or 10%"},
    // expressions as settings
    {"steps:\n  - run: x\n    timeout: ${vars.t}\n", "3:16 unknown variable 't' | declare it: vars: { t: ... }"},
    {"steps:\n  - run: x\n    timeout: ${env.T}\n",
     "3:16 'timeout' can't use 'env.T': its value can change at a resume | declare a variable, and pass its value with "
     "--var"},
    {"vars: { n: 1 }\ntimeout: ${vars.n}m\nsteps: [{ run: x }]\n",
     "2:10 'timeout' must be a constant duration, not '${vars.n}m' | expressions are allowed in the settings of steps; "
     "write for example 30s"},
    {"steps: [{ loop: { max: '${five}' }, steps: [{ run: x }] }]\n",
     "1:25 unknown name 'five' | known names: env, index, item, loop, map, run, steps, vars; write a literal ${ as "
     "$${"},
    {"vars: { stage: x }\nsteps: [{ run: x, when: vars.stage == prod }]\n",
     "2:39 unknown name 'prod' | known names: env, index, item, loop, map, run, steps or vars; a text needs quotes: "
     "'prod'"},
    {"steps: [{ id: l, loop: { max: 2, until: t.output.ok }, steps: [{ id: t, run: x }] }]\n",
     "1:41 unknown name 't' | write steps.t.output.ok"},
    {"steps: [{ id: a, run: x, capture: json }]\n",
     "1:35 'capture: json' names the output 'json'; it does not set its format | write capture: { format: json }, or, "
     "for the name, capture: { as: json }"},
    {"steps: [{ loop: { max: '${0}' }, steps: [{ run: x }] }]\n",
     "1:24 'max' must be a whole number from 1 to 1000000, not '0' | for example 10"},
    {"steps: [{ id: a, wait_for: { signal: '${steps.b.output}' } }, { id: b, run: x }]\n",
     "1:41 'b' is not available: step 'b' runs after 'a' | move the step, or use another step"},
    // loop.previous
    {"steps: [{ run: 'x ${loop.previous.a.output}' }]\n",
     "1:21 'loop' exists only inside a loop | use it there, or return the value in an output"},
    {"steps: [{ loop: { max: 2 }, steps: [{ id: a, run: 'x ${loop.previous.b.output}' }] }]\n",
     "1:56 unknown step 'b': 'loop.previous' contains the steps of the loop | did you mean 'a'?"},
    {"steps: [{ loop: { max: 2 }, steps: [{ id: a, run: 'x ${loop.previous.a}' }] }]\n",
     "1:56 'loop.previous.a' requires a field | write loop.previous.a.output"},
    {"steps: [{ loop: { max: 2 }, steps: [{ id: a, run: 'x ${loop.previus.a}' }] }]\n",
     "1:56 'loop' has no field 'previus' | did you mean 'previous'?"},
};

TEST(Mistakes, AreExplained) {
  for (const Wrong& wrong : kWrong) {
    const auto parsed = parse_workflow({wrong.text, ""});
    EXPECT_FALSE(parsed) << wrong.text;
    if (parsed) continue;
    std::string told;
    for (const WorkflowFault& fault : parsed.error()) {
      told += fmt::format("{}{}:{} {} | {}", told.empty() ? "" : "\n", fault.place.line, fault.place.column,
                          fault.error.message, fault.error.hint);
      EXPECT_FALSE(fault.error.hint.empty()) << wrong.text << fault.error.message;
    }
    EXPECT_EQ(told, wrong.told) << wrong.text;
  }
}

}  // namespace
}  // namespace pawl
