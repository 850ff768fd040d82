#include "engine/workflow_warnings.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(WorkflowWarnings, TheFirstProgramIsAPathThatTheShellWouldTakeAsItIs) {
  EXPECT_EQ(first_program("./gather.sh --all"), "./gather.sh");
  EXPECT_EQ(first_program("\n  tools/x\n"), "tools/x");
  EXPECT_EQ(first_program("A=1 B=two ./x.sh"), "./x.sh");
  EXPECT_EQ(first_program("./x.sh; ./y.sh"), "./x.sh");
  EXPECT_EQ(first_program("/bin/true"), "/bin/true");
}

TEST(WorkflowWarnings, WhatIsNotKnownForSureIsNoProgram) {
  for (const char* script : {"", "  ", "echo ./x.sh", "\"$HOME/x.sh\"", "$DIR/x.sh", "~/x.sh", "A=\"1 2\" ./x.sh",
                             "./*.sh", "# ./x", "(./x.sh)", "A=1"})
    EXPECT_EQ(first_program(script), "") << script;
}

}  // namespace
}  // namespace pawl
