// The live display of a running workflow, built from its events: permanent lines, and lines that change. Depends only
// on the size of the terminal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/output_lines.hpp"
#include "cli/terminal_text.hpp"
#include "domain/run_state.hpp"
#include "domain/workflow.hpp"
#include "engine/run_events.hpp"

namespace pawl::cli {

enum class Marks : std::uint8_t { unicode, ascii };

/// The same moment on both clocks.
struct Moment {
  Timestamp wall = {};
  std::int64_t monotonic_us = 0;
};

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

/// Not thread-safe.
class LivePicture {
 public:
  explicit LivePicture(Marks marks) : marks_(marks) {}

  /// `known` is the state left by earlier executions, so that waiting steps are shown.
  void begin(const RunId& run, const Workflow& workflow, const RunState& known, Moment now);
  void take(const RunEvent& event, Moment now);
  /// Adds a permanent last line with the outcome of this execution.
  void end(Moment now);

  /// Returns the new permanent lines.
  [[nodiscard]] std::vector<TerminalLine> take_settled() { return std::exchange(settled_, {}); }
  /// Returns the lines that change, at most `size.rows` - 2.
  [[nodiscard]] std::vector<TerminalLine> moving(TerminalSize size, Moment now) const;

 private:
  struct Item {
    std::int64_t began_us = 0;
    std::string inner;  // the path inside the map, starting with the index: "[17].write"
    std::uint64_t attempt = 1;
    std::string log;
  };
  struct MapRow {
    std::uint64_t total = 0;
    std::uint64_t done = 0;
    std::uint64_t failed = 0;
    std::uint64_t done_before = 0;  // by earlier executions
    std::uint64_t failures_shown = 0;
    std::map<std::uint64_t, Item> running;
  };
  enum class State : std::uint8_t { running, pausing, gate, timer, signal };
  struct Row {
    std::string label;
    State state = State::running;
    std::int64_t began_us = 0;
    std::uint64_t attempt = 1;
    std::string detail;   // shown next to the label
    std::string outcome;  // shown when it completes
    std::string log;      // of the last failed attempt
    Timestamp due = {};
    std::optional<MapRow> map;
  };
  /// The item of a running map that contains a path.
  struct ItemPlace {
    MapRow* map = nullptr;
    std::uint64_t index = 0;
    std::string inner;
  };
  using Handler = void (LivePicture::*)(const RunEvent& event, Moment now);

  [[nodiscard]] static const std::unordered_map<std::string_view, Handler>& handlers();
  [[nodiscard]] std::string label_of(const RunEvent& event) const;
  [[nodiscard]] static std::string key_of(const std::string& run, std::string_view path) {
    return run + "\n" + std::string(path);
  }
  Row& row(const RunEvent& event, Moment now);
  [[nodiscard]] Row* find(const std::string& run, std::string_view path);
  [[nodiscard]] std::optional<ItemPlace> item_of(const RunEvent& event);
  void take_in_item(const ItemPlace& place, const RunEvent& event, Moment now);
  void drop(const RunEvent& event);
  void settle(TerminalLine line) { settled_.push_back(std::move(line)); }
  void settle_log(std::string_view log, std::size_t lines_max);
  [[nodiscard]] TerminalLine headed(Colour colour, std::string_view mark, std::string_view label) const;
  [[nodiscard]] std::string_view mark(std::string_view unicode, std::string_view ascii) const {
    return marks_ == Marks::unicode ? unicode : ascii;
  }
  [[nodiscard]] std::string_view spinner(Moment now) const;
  [[nodiscard]] TerminalLine row_line(const Row& row, TerminalSize size, Moment now) const;
  void add_bar(TerminalLine& line, const Row& row, TerminalSize size, Moment now) const;
  void add_items(std::vector<TerminalLine>& lines, const Row& row, std::size_t lines_max, Moment now) const;

  // One function per type of event.
  void step_started(const RunEvent& event, Moment now);
  void attempt_started(const RunEvent& event, Moment now);
  void attempt_failed(const RunEvent& event, Moment now);
  void attempt_interrupted(const RunEvent& event, Moment now);
  void step_completed(const RunEvent& event, Moment now);
  void step_failed(const RunEvent& event, Moment now);
  void step_skipped(const RunEvent& event, Moment now);
  void map_progress(const RunEvent& event, Moment now);
  void item_started(const RunEvent& event, Moment now);
  void item_completed(const RunEvent& event, Moment now);
  void item_failed(const RunEvent& event, Moment now);
  void circuit_opened(const RunEvent& event, Moment now);
  void iteration_started(const RunEvent& event, Moment now);
  void approval_requested(const RunEvent& event, Moment now);
  void decided(const RunEvent& event, Moment now);
  void timer_set(const RunEvent& event, Moment now);
  void waiting_for_signal(const RunEvent& event, Moment now);
  void child_started(const RunEvent& event, Moment now);
  void breakpoint(const RunEvent& event, Moment now);
  void branches_kept(const RunEvent& event, Moment now);
  void message(const RunEvent& event, Moment now);
  void trouble(const RunEvent& event, Moment now);
  void run_ended(const RunEvent& event, Moment now);

  const Marks marks_;
  std::string run_;
  std::size_t label_columns_ = 0;
  std::size_t steps_ = 0;  // number of the workflow's own steps
  std::size_t steps_settled_ = 0;
  std::int64_t began_us_ = 0;
  TroubleLines troubles_;
  std::unordered_map<std::string, std::string> prefixes_;  // for the labels of child runs
  std::map<std::uint64_t, Row> rows_;                      // in the order in which they started
  std::unordered_map<std::string, std::uint64_t> places_;  // key -> rows_
  std::uint64_t next_place_ = 0;
  std::vector<TerminalLine> settled_;
  std::uint64_t completed_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t skipped_ = 0;
  std::optional<RunStatus> status_;  // set when the execution ends
  Usage usage_;
};

}  // namespace pawl::cli
