// Random values at every position of a command, run by the real shells. Each must arrive byte for byte as one word, and
// nothing in it may be executed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <random>

#include "language/shell_command.hpp"

namespace pawl {
namespace {

class Values : public Names {
 public:
  std::vector<std::string> values;

  [[nodiscard]] Result<Json> find(std::span<const PathPart> path) const override {
    const std::string& name = std::get<std::string>(path[1]);
    return Json(values.at(static_cast<std::size_t>(std::stoul(name.substr(1)))));
  }
};

/// A line that prints the value V, with `before` and `after` around it, and a NUL.
struct Position {
  std::string_view line;
  std::string_view before = {};
  std::string_view after = {};
};

constexpr std::array kEverywhere{
    Position{"printf '%s\\0' V"},
    Position{"printf '%s\\0' \"V\""},
    Position{"printf '%s\\0' 'V'"},
    Position{"printf '%s\\0' preVpost", "pre", "post"},
    Position{"printf '%s\\0' \"it's V.\"", "it's ", "."},
    Position{"printf '%s\\0' '\"V'\\''.'", "\"", "'."},
    Position{"printf '%s\\0' \"$(printf '%s.' V)\"", "", "."},
    Position{"printf '%s\\0' \"$(printf '%s.' \"V\")\"", "", "."},
    Position{"printf '%s\\0' \"$(printf '%s.' 'V')\"", "", "."},
    Position{"printf '%s\\0' \"$(printf '%s.' \"$(printf '%s.' V)\")\"", "", ".."},
    Position{"printf '%s\\0' \"$(printf '%s.' \"$(printf '%s.' \"<V>\")\")\"", "<", ">.."},
    Position{"X=$(printf '%s.' V); printf '%s\\0' \"$X\"", "", "."},
    Position{"printf '%s\\0' ${UNSET:-V}"},
    Position{"printf '%s\\0' \"${UNSET:-V}\""},
    Position{"printf '%s\\0' \"${UNSET-a V}\"", "a "},
    Position{"printf '%s\\0' ${HOME:+V}"},
    Position{"printf '%s\\0' ${UNSET:-\"<V\"'>V'}", "<", ">V"},
    Position{"X=V; printf '%s\\0' \"$X\""},
    Position{"X=\"V\" Y='V'; printf '%s\\0' \"$X\""},
    Position{"X=V sh -c 'printf \"%s\\0\" \"$X\"'"},
    Position{"unset Z; : \"${Z:=V}\"; printf '%s\\0' \"$Z\""},
    Position{"f() { printf '%s\\0' \"$1\"; }; f V"},
    Position{"f() { printf '%s\\0' V; }; f"},
    Position{"if test V = 'V'; then printf '%s\\0' V; fi"},
    Position{"for x in V; do printf '%s\\0' \"$x\"; done"},
    Position{"case V in V) printf '%s\\0' V;; *) echo wrong;; esac"},
    Position{"printf '%s\\0' \"$(case V in (V) printf '%s.' V;; *) echo wrong;; esac)\"", "", "."},
    Position{"(printf '%s\\0' V)"},
    Position{"{ printf '%s\\0' V; }"},
    Position{"! false && printf '%s\\0' V # it's V"},
    Position{"cat <<EOF >/dev/null; printf '%s\\0' V\nit's \"\nEOF"},
    Position{"printf '%s\\0' \\\n  V"},
    Position{"set -- V; printf '%s\\0' \"$1\"; test $# = 1"},
};
constexpr std::array kBash{
    Position{"a=(V 'V'); printf '%s\\0' \"${a[0]}\""},
    Position{"[[ V == V ]] && printf '%s\\0' V"},
    Position{"[[ xVx =~ V ]] && printf '%s%s\\0' $'it\\'s' V", "it's"},
    Position{"x=$(cat <(printf '%s.' V)); printf '%s\\0' \"$x\"", "", "."},
};

std::string replaced(std::string_view line, std::string_view by) {
  std::string text;
  for (const char c : line) {
    if (c == 'V') {
      text += by;
    } else {
      text += c;
    }
  }
  return text;
}

/// Pieces with a meaning for shells, and any other bytes except NUL.
std::string random_value(std::mt19937& random) {
  static constexpr std::array<std::string_view, 34> kPieces{"'",
                                                            "\"",
                                                            "`",
                                                            "$",
                                                            "\\",
                                                            "\n",
                                                            " ",
                                                            "\t",
                                                            "*",
                                                            "?",
                                                            "[a-z]",
                                                            "~",
                                                            "-n",
                                                            "--",
                                                            ";",
                                                            "&",
                                                            "|",
                                                            "<",
                                                            ">",
                                                            "(",
                                                            ")",
                                                            "{a,b}",
                                                            "#",
                                                            "!",
                                                            "$(touch canary)",
                                                            "`touch canary`",
                                                            "; touch canary;",
                                                            "a[$(touch canary)]",
                                                            "\n touch canary\n",
                                                            "${HOME}",
                                                            "$PAWL_ARG_1",
                                                            "%s%n",
                                                            "\xC3\xA4\xF0\x9F\x98\x80",
                                                            "EOF\n"};
  std::string value;
  const auto count = random() % 9;
  for (std::size_t i = 0; i < count; ++i) {
    if (random() % 4 == 0) {
      value += static_cast<char>(1 + random() % 255);
    } else {
      value += kPieces[random() % kPieces.size()];
    }
  }
  return value;
}

struct Output {
  std::string text;
  int status = -1;
};

/// Runs the script in `folder` with the values in its environment.
Output run(const char* shell, const std::string& script, const std::vector<std::string>& variables,
           const std::filesystem::path& folder) {
  std::vector<char*> environment;
  for (const std::string& each : variables) environment.push_back(const_cast<char*>(each.c_str()));
  environment.push_back(nullptr);
  std::array<const char*, 4> arguments{shell, "-ec", script.c_str(), nullptr};
  std::array<int, 2> pipe_ends{};
  if (::pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    if (::chdir(folder.c_str()) != 0 || ::dup2(pipe_ends[1], 1) < 0) ::_exit(120);
    ::execve(shell, const_cast<char* const*>(arguments.data()), environment.data());
    ::_exit(121);
  }
  ::close(pipe_ends[1]);
  Output output;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t size = ::read(pipe_ends[0], buffer.data(), buffer.size());
    if (size <= 0) break;
    output.text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  ::close(pipe_ends[0]);
  ::waitpid(child, &output.status, 0);
  return output;
}

class ShellValues : public ::testing::TestWithParam<Shell> {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "pawl-values-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    for (const char* file : {"a", "b", "preApost"}) std::ofstream(folder_ / file) << "x";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void check(const Values& values, std::span<const Position> positions) {
    const bool bash = GetParam() == Shell::bash;
    std::string command;
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < values.values.size(); ++i) {
      for (const Position& position : positions) {
        command += replaced(position.line, "${vars.v" + std::to_string(i) + "}") + "\n";
        expected.push_back(std::string(position.before) + "V" + std::string(position.after));
        expected.back() = replaced(expected.back(), values.values[i]);
      }
    }
    const auto text = TextTemplate::parse(command, reserved_names(), TextTemplate::Unknown::keep);
    ASSERT_TRUE(text) << describe(text.error());
    const auto made = to_shell_command(*text, GetParam());
    ASSERT_TRUE(made) << describe(made.error());
    std::vector<std::string> variables{"PATH=/usr/bin:/bin", "HOME=/nowhere", "LC_ALL=C"};
    for (std::size_t i = 0; i < made->arguments.size(); ++i) {
      const auto value = made->arguments[i].evaluate(values);
      ASSERT_TRUE(value);
      variables.push_back("PAWL_ARG_" + std::to_string(i + 1) + "=" + text_of(*value));
    }
    const Output output = run(bash ? "/bin/bash" : "/bin/sh", made->script, variables, folder_);
    EXPECT_EQ(output.status, 0);
    std::size_t at = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // Some lines print more than the value, but their output ends with it.
      const std::string wanted = expected[i] + '\0';
      ASSERT_EQ(output.text.substr(at, wanted.size()), wanted) << positions[i % positions.size()].line;
      at += wanted.size();
    }
    EXPECT_EQ(at, output.text.size());
    EXPECT_FALSE(std::filesystem::exists(folder_ / "canary"));
  }

  std::filesystem::path folder_;
};

TEST_P(ShellValues, ArriveByteForByteAsOneWordInEveryPlace) {
  std::vector<Position> positions(kEverywhere.begin(), kEverywhere.end());
  if (GetParam() == Shell::bash) positions.insert(positions.end(), kBash.begin(), kBash.end());
  for (std::uint32_t seed = 1; seed <= 15; ++seed) {
    std::mt19937 random(seed);
    Values values;
    for (int i = 0; i < 12; ++i) values.values.push_back(random_value(random));
    SCOPED_TRACE(seed);
    check(values, positions);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Shells, ShellValues, ::testing::Values(Shell::sh, Shell::bash),
                         [](const auto& each) { return each.param == Shell::sh ? "Sh" : "Bash"; });

}  // namespace
}  // namespace pawl
