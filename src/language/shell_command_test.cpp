#include "language/shell_command.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

Result<ShellCommand> made(std::string_view command, Shell shell = Shell::sh) {
  PAWL_TRY_ASSIGN(const auto text, TextTemplate::parse(command, reserved_names(), TextTemplate::Unknown::keep));
  return to_shell_command(text, shell);
}

std::string script(std::string_view command, Shell shell = Shell::sh) {
  const auto result = made(command, shell);
  return result ? result->script : describe(result.error());
}

void expect_refused(std::string_view command, Shell shell = Shell::sh) {
  const auto result = made(command, shell);
  EXPECT_FALSE(result) << command << "\n" << result->script;
  if (result) return;
  EXPECT_EQ(result.error().code, Code::invalid_command) << command << "\n" << describe(result.error());
  EXPECT_FALSE(result.error().where.empty()) << command;
  EXPECT_FALSE(result.error().hint.empty()) << command;
}

TEST(ShellCommand, FitsReferencesToTheQuotesAroundThem) {
  EXPECT_EQ(script("echo ${vars.a}"), "echo \"$PAWL_ARG_1\"");
  EXPECT_EQ(script("echo \"x ${vars.a}y\""), "echo \"x ${PAWL_ARG_1}y\"");
  EXPECT_EQ(script("echo 'x ${vars.a}y'"), "echo 'x '\"$PAWL_ARG_1\"'y'");
  EXPECT_EQ(script("pre${vars.a}post"), "pre\"$PAWL_ARG_1\"post");
  EXPECT_EQ(script("X=${vars.a} cmd"), "X=\"$PAWL_ARG_1\" cmd");
  EXPECT_EQ(script("echo \"$(cat ${vars.a} \"${vars.b}\")\" '${vars.c}'"),
            "echo \"$(cat \"$PAWL_ARG_1\" \"${PAWL_ARG_2}\")\" ''\"$PAWL_ARG_3\"''");
  EXPECT_EQ(script("echo ${X:-${vars.a}} \"${X:-${vars.a}}\""), "echo ${X:-\"$PAWL_ARG_1\"} \"${X:-${PAWL_ARG_1}}\"");
  EXPECT_EQ(script("[[ $x == ${vars.a} ]]", Shell::bash), "[[ $x == \"$PAWL_ARG_1\" ]]");
  EXPECT_EQ(script("(cd ${vars.a} && make) > ${vars.b}"), "(cd \"$PAWL_ARG_1\" && make) > \"$PAWL_ARG_2\"");
  EXPECT_EQ(script("a=(1 ${vars.a})", Shell::bash), "a=(1 \"$PAWL_ARG_1\")");
}

TEST(ShellCommand, SharesAnArgumentAmongEqualExpressions) {
  const auto result = made("echo ${vars.a} ${vars.b} \"${vars.a}\"");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->script, "echo \"$PAWL_ARG_1\" \"$PAWL_ARG_2\" \"${PAWL_ARG_1}\"");
  ASSERT_EQ(result->arguments.size(), 2U);
  EXPECT_EQ(result->arguments[1].text(), "vars.b");
}

TEST(ShellCommand, LeavesTheShellsOwnThingsAlone) {
  for (const char* command : {"echo ${HOME} ${X:-y} $# ${#} ${!x} $$", "cat <<EOF\n'unclosed\nEOF\n", "echo 'unclosed",
                              "a=`date`; echo $((1 + 2))", ""})
    EXPECT_EQ(script(command), command);
  EXPECT_EQ(script("echo $${vars.a} ${vars.b}"), "echo ${vars.a} \"$PAWL_ARG_1\"") << "not valid in sh, but as asked";
  for (const char* around :
       {"cat <<EOF\nit's\nEOF\n", "cat <<-'E F' <<X\n\t`\n\tE F\n'\nX\n", "echo $# # it's (a comment\n", "cat <<<'x'\n",
        "echo $((1 + (2 * 3))) `echo \\`echo\\``\n", "x=$(case a in a) echo 1;; (b|esac) : ;; esac)\n",
        "case $x in esac\n", "f() { echo \"a\\\"b\"; }\n", "echo \\' \\\"\n", "echo a#b ${#x} ${x%%.*} ${x##*/}\n",
        "echo \"$(echo \"$(echo ')')\")\"\n", "for i in 1 2; do echo $i; done 2>&1 >&2\n", "x=$(( $(date +%s) + 1 ))\n",
        "if a; then case b in c) d;; esac fi\n"}) {
    const std::string text = around;
    EXPECT_EQ(script(text + "echo ${vars.a}"), text + "echo \"$PAWL_ARG_1\"");
  }
  EXPECT_EQ(script("diff <(sort a) >(b) $'it\\'s' $\"x\" ${vars.a} &>log", Shell::bash),
            "diff <(sort a) >(b) $'it\\'s' $\"x\" \"$PAWL_ARG_1\" &>log");
  EXPECT_EQ(script("for ((i = 0; i < 3; i++)); do echo ${vars.a}; done", Shell::bash),
            "for ((i = 0; i < 3; i++)); do echo \"$PAWL_ARG_1\"; done");
  EXPECT_EQ(script("function f { case $1 in a) x;; esac; }; f ${vars.a}", Shell::bash),
            "function f { case $1 in a) x;; esac; }; f \"$PAWL_ARG_1\"");
}

TEST(ShellCommand, ReferencesInCommentsAreHarmless) {
  EXPECT_EQ(script("echo 1 # not ${vars.a} isn't\necho ${vars.b}"),
            "echo 1 # not ${PAWL_ARG_1} isn't\necho \"$PAWL_ARG_2\"");
}

TEST(ShellCommand, RefusesHereDocumentsThatHoldValues) {
  expect_refused("cat <<EOF\n${vars.a}\nEOF\n");
  expect_refused("cat <<'EOF'\n${vars.a}\nEOF\n");
  expect_refused("cat <<-EOF\n\tx\n\t${vars.a}\n\tEOF\n");
  expect_refused("cat <<A <<B\nA\n${vars.a}\nB\n");
  expect_refused("cat <<EOF\n$(echo ${vars.a})\nEOF\n");
  expect_refused("x=$(cat <<EOF\n${vars.a}\nEOF\n)");
  expect_refused("cat <<${vars.a}\n");
  expect_refused("cat <<EOF\nx\\\nEOF\n${vars.a}\nEOF\n");
  expect_refused("cat <<EOF 'a\nb' ${vars.a}\nEOF\n");
  EXPECT_EQ(script("cat <<EOF; echo ${vars.a}\nx\nEOF\n"), "cat <<EOF; echo \"$PAWL_ARG_1\"\nx\nEOF\n");
  EXPECT_EQ(script("cat <<<${vars.a}", Shell::bash), "cat <<<\"$PAWL_ARG_1\"");
}

TEST(ShellCommand, RefusesPlacesWhereTheShellEvaluatesValues) {
  for (const char* command : {"echo $((${vars.a} + 1))",
                              "echo $((1 + (${vars.a})))",
                              "((x = ${vars.a}))",
                              "echo $[${vars.a}]",
                              "a[${vars.i}]=1",
                              "a[\"${vars.i}\"]=1",
                              "a=([${vars.i}]=1)",
                              "echo ${a[${vars.i}]}",
                              "echo ${x:${vars.i}}",
                              "echo ${x#${vars.a}}",
                              "echo \"${x%${vars.a}}\"",
                              "[[ 1 -eq ${vars.a} ]]",
                              "[[ ( ${vars.a} -lt 3 ) ]]",
                              "if [[ -v ${vars.a} ]]; then x; fi",
                              "test -v ${vars.a}",
                              "[ -v ${vars.a} ]",
                              "printf -v ${vars.a} x",
                              "let x=${vars.a}",
                              "eval ${vars.a}",
                              "eval \"echo '${vars.a}'\"",
                              "\\eval ${vars.a}",
                              "X=1 command eval ${vars.a}",
                              "declare -i x=${vars.a}",
                              "export ${vars.a}=1",
                              "read ${vars.a}",
                              "unset ${vars.a}",
                              "trap '${vars.a}' EXIT",
                              "sh -c 'echo ${vars.a}'",
                              "env X=1 /bin/bash -o pipefail -ec \"echo ${vars.a}\"",
                              "echo $'${vars.a}'"})
    expect_refused(command, Shell::bash);
  EXPECT_EQ(script("sh -c 'echo \"$1\"' _ ${vars.a}"), "sh -c 'echo \"$1\"' _ \"$PAWL_ARG_1\"");
  EXPECT_EQ(script("export X=${vars.a} \"Y=${vars.b}\""), "export X=\"$PAWL_ARG_1\" \"Y=${PAWL_ARG_2}\"");
  EXPECT_EQ(script("while read x; do echo $x; done < ${vars.a}"), "while read x; do echo $x; done < \"$PAWL_ARG_1\"");
  EXPECT_EQ(script("read x <${vars.a}"), "read x <\"$PAWL_ARG_1\"");
  EXPECT_EQ(script("[ ${vars.a} -eq 1 ]"), "[ \"$PAWL_ARG_1\" -eq 1 ]");
  EXPECT_EQ(script("tar -c ${vars.a}"), "tar -c \"$PAWL_ARG_1\"");
}

TEST(ShellCommand, RefusesWhatItCantFollow) {
  for (const char* command : {"echo \\${vars.a}",
                              "echo \"\\${vars.a}\"",
                              "echo ${vars.a} 'x",
                              "echo ${vars.a} \"x",
                              "echo ${vars.a} )",
                              "echo $(echo ${vars.a}",
                              "echo ${vars.a} `x",
                              "(echo ${vars.a}",
                              "case ${vars.a} in x) y",
                              "echo ${vars.a} ${X",
                              "echo ${vars.a} \\",
                              "cat ${vars.a} <<EOF",
                              "cat <\\\n<EOF\n${vars.a}\nEOF",
                              "${${vars.a}}",
                              "echo $'a\\'${vars.a}'",
                              "echo ${vars.a};; esac",
                              "echo $(case a in b) echo ${vars.a})",
                              "x=$(cat <<EOF)\nfoo ${vars.a}\nEOF\n",
                              "echo \"${x:-'}\" ${vars.a} '}'",
                              "(( (1) ) ) ${vars.a}"})
    expect_refused(command);
}

TEST(ShellCommand, SaysWhereAndWhatToDoInstead) {
  const auto backticks = made("echo\necho ä `echo ${vars.a}`");
  ASSERT_FALSE(backticks);
  EXPECT_EQ(backticks.error().where, "line 2, column 14");
  EXPECT_EQ(backticks.error().hint, "use $( ) instead of backticks");
  const auto here = made("cat <<EOF\n${vars.a}\nEOF");
  ASSERT_FALSE(here);
  EXPECT_EQ(here.error().message, "a value can't be used in a here-document");
  EXPECT_EQ(here.error().hint, "pass the value in `env:` and use \"$NAME\"");
  EXPECT_EQ(here.error().where, "line 2, column 1");
  const auto nul = made(std::string_view("echo \0x", 7));
  ASSERT_FALSE(nul);
  EXPECT_EQ(nul.error().code, Code::invalid_command);
}

TEST(ShellCommand, EndsOnDeepNesting) {
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "$(";
  expect_refused("echo ${vars.a} " + deep);
  expect_refused("echo ${vars.a} " + std::string(10'000, '('));
}

}  // namespace
}  // namespace pawl
