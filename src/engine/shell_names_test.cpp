#include "engine/shell_names.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

std::string found(std::string_view script) {
  std::string text;
  const auto names = mistaken_names(
      script, [](std::string_view name) { return name == "topic"; },
      [](std::string_view id) { return id == "x" || id == "my-step"; });
  for (const MistakenName& one : names) {
    if (!one.variable.empty() && may_set(script, one.variable)) continue;
    text += (text.empty() ? "" : "; ") + one.written + " -> " + one.meant;
  }
  return text;
}

TEST(ShellNames, FormsThatLookLikeValuesOfTheWorkflowAreFound) {
  EXPECT_EQ(found("echo \"${topic}\""), "${topic} -> vars.topic");
  EXPECT_EQ(found("echo $topic and $topic"), "$topic -> vars.topic");
  EXPECT_EQ(found("echo $vars.topic"), "$vars.topic -> vars.topic");
  EXPECT_EQ(found("echo '{{ vars.topic }}'"), "{{ vars.topic }} -> vars.topic");
  EXPECT_EQ(found("echo ${x.output} ${my-step.output.a}"),
            "${x.output} -> steps.x.output; ${my-step.output.a} -> steps.my-step.output.a");
  EXPECT_EQ(found("echo \"read it's $topic\""), "$topic -> vars.topic");
  EXPECT_EQ(found("mytopic=1; echo $topic"), "$topic -> vars.topic");
}

TEST(ShellNames, OtherNamesAreLeftAlone) {
  for (const char* script :
       {"echo $topics ${other} $1 $$ ${topic:-none} ${#topic}", "awk '{ print $topic }'", "echo \\$topic",
        "echo ${y.output} ${x}", "echo {{ other }} {{ vars.more }}", "echo ${vars.topic}", "echo topic"})
    EXPECT_EQ(found(script), "") << script;
}

TEST(ShellNames, AVariableThatTheScriptSetsIsItsOwn) {
  for (const char* script :
       {"topic=1; echo $topic", "export topic=1\necho $topic", "topic=1 sh -c 'x' && echo ${topic}",
        "while IFS= read -r topic; do echo $topic; done", "for topic in a b; do echo \"${topic}\"; done",
        "read a topic < file; echo $topic", ". ./env.sh; echo $topic", "source env.sh\necho $topic",
        "if true; then . ./env; fi; echo $topic", "topic+=x; echo $topic", ": ${topic:=a}; echo $topic",
        "printf -v topic %s a; echo $topic", "local topic; echo $topic", "x=$(topic=1; echo $topic)"})
    EXPECT_EQ(found(script), "") << script;
}

}  // namespace
}  // namespace pawl
