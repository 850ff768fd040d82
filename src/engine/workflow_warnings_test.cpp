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

TEST(WorkflowWarnings, AValueInTheProgramOfAnInterpreterIsFound) {
  EXPECT_EQ(interpreter_of_value("python3 -c 'print('\"$PAWL_ARG_1\"')'"), "python3 -c");
  EXPECT_EQ(interpreter_of_value("cd x && perl -n -e \"print ${PAWL_ARG_1}\" f"), "perl -e");
  EXPECT_EQ(interpreter_of_value("A=1 /usr/bin/node -e \"$PAWL_ARG_1\""), "/usr/bin/node -e");
}

TEST(WorkflowWarnings, AValueBesideTheProgramOfAnInterpreterIsNot) {
  for (const char* script :
       {"python3 -c 'import sys; print(sys.argv[1])' \"$PAWL_ARG_1\"", "python3 x.py -c \"$PAWL_ARG_1\"",
        "python3 -V; x -c \"$PAWL_ARG_1\"", "echo -e \"$PAWL_ARG_1\"", "python3 -c", ""})
    EXPECT_EQ(interpreter_of_value(script), "") << script;
}

}  // namespace
}  // namespace pawl
