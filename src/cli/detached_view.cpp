#include "cli/run_view.hpp"

namespace pawl::cli {
namespace {

class DetachedView final : public RunView {
 public:
  DetachedView(std::unique_ptr<RunView> shown, BackgroundProcess& background, const std::string& log_path)
      : shown_(std::move(shown)), background_(background), log_path_(log_path) {}

  void begin(const RunId& run, const Workflow& workflow, const RunState& known) override {
    shown_->begin(run, workflow, known);
  }
  void on_event(const RunEvent& event) override {
    if (!std::exchange(let_go_, true)) {
      // A log that can't be written does not stop the run.
      if (!background_.let_go(log_path_)) static_cast<void>(background_.let_go("/dev/null"));
    }
    shown_->on_event(event);
  }
  [[nodiscard]] bool wants_output() const override { return shown_->wants_output(); }
  void on_output(const std::string& run, const std::string& step, std::string_view text) override {
    shown_->on_output(run, step, text);
  }
  void on_tick() override { shown_->on_tick(); }
  void pause() override { shown_->pause(); }
  void end() override { shown_->end(); }

 private:
  const std::unique_ptr<RunView> shown_;
  BackgroundProcess& background_;
  const std::string& log_path_;
  bool let_go_ = false;
};

}  // namespace

std::unique_ptr<RunView> make_detached_view(std::unique_ptr<RunView> shown, BackgroundProcess& background,
                                            const std::string& log_path) {
  return std::make_unique<DetachedView>(std::move(shown), background, log_path);
}

}  // namespace pawl::cli
