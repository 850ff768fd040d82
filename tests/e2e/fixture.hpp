// Runs `pawl` as a process, on a store in a folder of the test.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/e2e/process.hpp"

namespace pawl::e2e {

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Returns a JSON string of this many bytes. Strings of different seeds have nothing in common.
inline std::string noise(std::uint64_t seed, std::size_t bytes) {
  std::mt19937_64 random(seed);
  std::string text = "\"";
  while (text.size() + 1 < bytes) text += std::to_string(random());
  text.resize(bytes - 1);
  return text + "\"";
}

class E2e : public ::testing::Test {
 protected:
  E2e() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-e2e-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    ::chmod(folder_.c_str(), 0755);
  }
  ~E2e() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string store() const { return (folder_ / "store").string(); }
  [[nodiscard]] std::filesystem::path stored(const std::string& name) const { return folder_ / "store" / name; }

  [[nodiscard]] Command command(std::vector<std::string> args, std::string input = "") const {
    Command command{.program = PAWL_PROGRAM, .args = std::move(args)};
    command.input = std::move(input);
    command.folder = folder_.string();
    command.environment["PAWL_STORE"] = store();
    return command;
  }
  [[nodiscard]] Finished pawl(std::vector<std::string> args, std::string input = "") const {
    return run(command(std::move(args), std::move(input)));
  }
  /// Runs a call that must succeed and returns what it printed.
  [[nodiscard]] std::string ok(std::vector<std::string> args, std::string input = "") const {
    const Finished finished = pawl(std::move(args), std::move(input));
    EXPECT_EQ(finished.status, 0) << finished.err;
    return finished.out;
  }
  [[nodiscard]] nlohmann::json json(std::vector<std::string> args, std::string input = "") const {
    args.emplace_back("--json");
    return nlohmann::json::parse(ok(std::move(args), std::move(input)));
  }
  [[nodiscard]] Finished save(const std::string& run, std::string state) const {
    return pawl({"save", run}, std::move(state));
  }

  std::filesystem::path folder_;
};

/// Checks that the call exited with this status, printed this code and a hint, and printed no result.
inline void expect_error(const Finished& finished, int status, const std::string& code) {
  EXPECT_EQ(finished.status, status) << finished.err;
  EXPECT_NE(finished.err.find(code + ": "), std::string::npos) << finished.err;
  EXPECT_NE(finished.err.find("\nhint: "), std::string::npos) << finished.err;
  EXPECT_EQ(finished.out, "");
}

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << part << "' is not in:\n" << text;
}

}  // namespace pawl::e2e
