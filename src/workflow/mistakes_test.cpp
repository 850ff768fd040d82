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
    {"steps:\n  - approve: ok?\n    timeout: 1 day\n", ""},
    {"steps:\n  - approve: ok?\n    on_timeout: fail\n", ""},
    {"steps:\n  - approve: ok?\n    timeout: 1h\n    on_timeout: skip\n", ""},
    {"steps:\n  - loop: { max: 2 }\n    timeout: 1h\n    on_timeout: reject\n    steps: [{ run: x }]\n", ""},
    {"steps:\n  - run: x\n    timeout: 1h\n    on_timeout: continue\n", ""},
    {"steps:\n  - approve: ok?\n    deadline: 1h\n", ""},
    {"steps:\n  - wait_for: go\n    timeout: 1h\n", ""},
    {"steps:\n  - approve: ok?\n    timeout: 0s\n", ""},
    // keys without effect
    {"steps:\n  - map: { items: [1] }\n    env: { A: b }\n    steps: [{ run: x }]\n", ""},
    {"steps:\n  - loop: { max: 2, on_max: continue }\n    total_timeout: 1h\n    steps: [{ run: x }]\n", ""},
    {"steps:\n  - workflow: c.yaml\n    retry: { attempts: 2 }\n", ""},
    {"steps:\n  - approve: ok?\n    retry: { attempts: 2 }\n    timeout: 1h\n", ""},
    {"steps:\n  - handler: h\n    working_dir: x\n", ""},
    {"steps:\n  - map: { items: [1] }\n    steps: [{ run: x, break: before }]\n", ""},
    {"steps:\n  - sleep: 1s\n    confidence: { below: 0.5, then: [{ run: x }] }\n    isolate: worktree\n", ""},
    {"steps:\n  - approve: ok?\n    cache: { key: x }\n    uses: [a]\n", ""},
    // retries
    {"steps:\n  - run: x\n    retry: { attempts: 2, on_codes: 75 }\n", ""},
    {"steps:\n  - run: x\n    retry: { attempts: 2, on_codes: [0, 300] }\n", ""},
    {"steps:\n  - run: x\n    retry: { attempts: 2, when: exitcode == 1 }\n", ""},
    {"steps:\n  - run: x\n    when: exit_code == 1\n", ""},
    {"steps:\n  - run: x\n    retry: { attempts: 2, retry_on: [75] }\n", ""},
    {"steps:\n  - { id: a, run: x, retry: { attempts: 2, when: steps.a.exit_code == 1 } }\n", ""},
    // limits
    {"limits: { openai: 60/min }\nsteps: [{ run: x }]\n", ""},
    {"limits: { openai: { rate: 60 } }\nsteps: [{ run: x }]\n", ""},
    {"limits: { openai: { per_minute: 0.5 } }\nsteps: [{ run: x }]\n", ""},
    {"limits: { openai: {} }\nsteps: [{ run: x }]\n", ""},
    {"limits: [openai]\nsteps: [{ run: x }]\n", ""},
    {"limits: { openai: { parallel: 2 } }\nsteps: [{ run: x, uses: opnai }]\n", ""},
    {"steps: [{ run: x, uses: [openai] }]\n", ""},
    {"steps:\n  - run: x\n    limits: { openai: { parallel: 2 } }\n", ""},
    {"steps:\n  - run: x\n    uses: ./steps.yaml#lint\n", ""},
    // finally, notify
    {"steps: [{ id: a, run: x }]\nfinally: [{ run: y, needs: [a] }]\n", ""},
    {"steps: [{ id: a, run: x }]\nfinaly: [{ run: y }]\n", ""},
    {"steps: [{ id: a, run: x, finally: [{ run: y }] }]\n", ""},
    {"steps: [{ id: finally, run: x }]\nfinally: [{ run: y }]\n", ""},
    {"steps: [{ id: a, run: x }]\nfinally: ./clean.sh\n", ""},
    {"steps: [{ id: a, run: x }]\nnotify: { slack: x }\n", ""},
    {"steps: [{ id: a, run: x }]\nnotify: ./tell.sh ${steps.a.output}\n", ""},
    // matrix
    {"steps: [{ map: { matrix: { a: [1] }, items: [2] }, steps: [{ run: x }] }]\n", ""},
    {"steps: [{ map: { matrix: [a, b] }, steps: [{ run: x }] }]\n", ""},
    {"steps: [{ map: { matrix: { a: 5 } }, steps: [{ run: x }] }]\n", ""},
    {"steps: [{ map: { matrix: { a: [1] } }, steps: [{ run: 'x', env: { A: '${matrix.a}' } }] }]\n", ""},
    {"steps: [{ matrix: { a: [1] }, steps: [{ run: x }] }]\n", ""},
    {"steps: [{ map: { items: '${seq(3)}' }, steps: [{ run: x }] }]\n", ""},
    // cache
    {"steps:\n  - run: x\n    cache: fetch\n", ""},
    {"steps:\n  - run: x\n    cache: { ttl: 1d }\n", ""},
    {"steps:\n  - run: x\n    cache: { key: k, ttl: 5 }\n", ""},
    {"steps:\n  - run: x\n    cache: { key: k, expires: 1d }\n", ""},
    // failures
    {"steps: [{ map: { items: [1], max_failures: 110% }, steps: [{ run: x }] }]\n", ""},
    {"steps: [{ map: { items: [1], max_failures: few }, steps: [{ run: x }] }]\n", ""},
    // expressions as settings
    {"steps:\n  - run: x\n    timeout: ${vars.t}\n", ""},
    {"steps:\n  - run: x\n    timeout: ${env.T}\n", ""},
    {"vars: { n: 1 }\ntimeout: ${vars.n}m\nsteps: [{ run: x }]\n", ""},
    {"steps: [{ loop: { max: '${five}' }, steps: [{ run: x }] }]\n", ""},
    {"steps: [{ loop: { max: '${0}' }, steps: [{ run: x }] }]\n", ""},
    {"steps: [{ id: a, wait_for: { signal: '${steps.b.output}' } }, { id: b, run: x }]\n", ""},
    // loop.previous
    {"steps: [{ run: 'x ${loop.previous.a.output}' }]\n", ""},
    {"steps: [{ loop: { max: 2 }, steps: [{ id: a, run: 'x ${loop.previous.b.output}' }] }]\n", ""},
    {"steps: [{ loop: { max: 2 }, steps: [{ id: a, run: 'x ${loop.previous.a}' }] }]\n", ""},
    {"steps: [{ loop: { max: 2 }, steps: [{ id: a, run: 'x ${loop.previus.a}' }] }]\n", ""},
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
