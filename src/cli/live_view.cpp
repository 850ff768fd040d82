#include "cli/live_view.hpp"

#include <algorithm>

namespace pawl::cli {
namespace {

constexpr std::int64_t kBetweenDraws_us = 100'000;
constexpr std::size_t kColumnsMin = 20;

class LiveView final : public RunView {
 public:
  explicit LiveView(LiveTerminal terminal) : terminal_(std::move(terminal)), picture_(terminal_.marks) {}

  void begin(const RunId& run, const Workflow& workflow, const RunState& known) override {
    picture_.begin(run, workflow, known, moment());
    draw();
  }

  void on_event(const RunEvent& event) override {
    picture_.take(event, moment());
    on_tick();
  }

  void on_tick() override {
    if (terminal_.clock.monotonic_us() - drawn_us_ >= kBetweenDraws_us) draw();
  }

  void pause() override { show({}); }

  void hold() override {
    show({});
    is_held_ = true;
  }

  void release() override {
    if (std::exchange(is_held_, false)) draw();
  }

  void end() override {
    is_held_ = false;
    picture_.end(moment());
    show({});
  }

 private:
  [[nodiscard]] Moment moment() const { return {terminal_.clock.now(), terminal_.clock.monotonic_us()}; }

  void draw() {
    if (is_held_) return;
    const TerminalSize size = terminal_.size();
    show(picture_.moving({.columns = std::max(size.columns, kColumnsMin), .rows = size.rows}, moment()));
  }

  /// Moves the cursor back to the first changing line. A terminal that became narrower has broken the lines into more
  /// rows.
  [[nodiscard]] std::string back(std::size_t columns) const {
    std::size_t rows = 0;
    for (const std::size_t width : widths_) rows += std::max<std::size_t>((width + columns - 1) / columns, 1);
    return rows == 0 ? "\r" : fmt::format("\r\x1b[{}A", rows);
  }

  /// Replaces the changing lines, below the lines that have become permanent.
  void show(const std::vector<TerminalLine>& lines) {
    const std::size_t columns = std::max(terminal_.size().columns, kColumnsMin);
    std::string text = back(columns);
    const std::vector<TerminalLine> settled = picture_.take_settled();
    // Erased before all lines, not after each: a line may be as wide as the terminal, or wider.
    if (!settled.empty()) text += "\x1b[J";
    for (const TerminalLine& line : settled) text += line.text(terminal_.style) + "\n";
    widths_.clear();
    for (const TerminalLine& line : lines) {
      text += line.text(terminal_.style, columns - 1) + "\x1b[K\n";
      widths_.push_back(std::min(line.columns(), columns - 1));
    }
    terminal_.out.write(text + "\x1b[J");
    static_cast<void>(terminal_.out.flush());  // a terminal that was closed does not stop the run
    drawn_us_ = terminal_.clock.monotonic_us();
  }

  const LiveTerminal terminal_;
  LivePicture picture_;
  std::vector<std::size_t> widths_;  // of the changing lines on the screen
  std::int64_t drawn_us_ = 0;
  bool is_held_ = false;
};

}  // namespace

std::unique_ptr<RunView> make_live_view(LiveTerminal terminal) {
  return std::make_unique<LiveView>(std::move(terminal));
}

}  // namespace pawl::cli
