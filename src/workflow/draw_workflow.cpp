#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

#include "text/utf8.hpp"
#include "workflow/parse_workflow.hpp"

namespace pawl {
namespace {

constexpr std::size_t kColumnsMin = 20;

/// Returns the first line, without control characters.
std::string plain(std::string_view text) {
  std::string out(text.substr(0, text.find('\n')));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  if (text.find('\n') + 1 < text.size() && text.find('\n') != std::string_view::npos) out += " ...";
  return out;
}

struct WorkText {
  const Step& step;

  /// Returns the expression of a computed setting, or the constant.
  [[nodiscard]] std::string text(Setting setting, std::string constant) const {
    for (const ComputedSetting& computed : step.computed) {
      if (computed.setting == setting) return plain(computed.value.source());
    }
    return constant;
  }
  [[nodiscard]] std::string duration(Setting setting, const std::optional<Milliseconds>& constant) const {
    return text(setting, constant ? duration_text(*constant) : "");
  }
  [[nodiscard]] static std::string deadline(const std::string& duration, OnTimeout then, OnTimeout usual) {
    if (duration.empty()) return {};
    constexpr const char* kThen[] = {"reject", "fail", "continue"};
    const std::string what = then == usual ? "" : fmt::format(", then {}", kThen[static_cast<std::size_t>(then)]);
    return fmt::format(", at most {}{}", duration, what);
  }
  [[nodiscard]] std::string deadline() const {
    return deadline(duration(Setting::deadline, step.deadline), step.on_deadline, OnTimeout::fail);
  }

  std::string operator()(const Nothing& /*nothing*/) const { return "barrier"; }
  std::string operator()(const RunCommand& run) const { return "run " + plain(run.command.source); }
  std::string operator()(const CallHandler& call) const { return "handler " + plain(call.name); }
  std::string operator()(const Approve& approve) const {
    return fmt::format(
        "approve \"{}\"{}", plain(approve.prompt.source()),
        deadline(duration(Setting::gate_timeout, approve.timeout), approve.on_timeout, OnTimeout::reject));
  }
  std::string operator()(const Sleep& sleep) const { return "sleep " + plain(sleep.duration.source()); }
  std::string operator()(const WaitFor& wait) const {
    const std::string most = duration(Setting::signal_timeout, wait.timeout);
    return fmt::format("wait for {}{}", text(Setting::signal, wait.signal), most.empty() ? "" : ", at most " + most);
  }
  std::string operator()(const Loop& loop) const {
    const std::string until = loop.until ? " until " + plain(loop.until->text()) : "";
    return fmt::format("loop at most {} times{}{}", text(Setting::loop_max, std::to_string(loop.max)), until,
                       deadline());
  }
  std::string operator()(const Map& map) const {
    const std::string parallel = this->text(Setting::parallel, map.parallel > 1 ? std::to_string(map.parallel) : "");
    std::string text = "map over ";
    if (map.items_from)
      text += plain(map.items_from->source());
    else if (map.items && map.items->form() == ValueTemplate::Form::product)
      text += matrix(map.items->source());
    else if (map.items && map.items->source().is_array())
      text += fmt::format("{} items", map.items->source().size());
    else if (map.items)
      text += plain(text_of(map.items->source()));
    if (!parallel.empty()) text += fmt::format(", {} at once", parallel);
    return text + deadline();
  }
  std::string operator()(const CallWorkflow& call) const { return "workflow " + plain(call.file) + deadline(); }

  /// `model (3) x case (${range(500)})`
  static std::string matrix(const Json& lists) {
    std::string text;
    for (const auto& [key, list] : lists.items()) {
      const std::string size = list.is_array() ? std::to_string(list.size()) : plain(text_of(list));
      text += fmt::format("{}{} ({})", text.empty() ? "" : " x ", key, size);
    }
    return text;
  }
};

class Drawing {
 public:
  explicit Drawing(std::size_t columns) : columns_(std::max(columns, kColumnsMin)) {}

  void line(std::string text) {
    std::size_t shown = 0;
    std::size_t cut = text.size();
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (is_utf8_continuation(text[i])) continue;
      if (++shown == columns_) cut = i;
    }
    if (shown > columns_) text = text.substr(0, cut) + "…";
    while (!text.empty() && text.back() == ' ') text.pop_back();
    text_ += text + "\n";
  }

  void steps(const Steps& all, const std::string& prefix) {
    std::size_t layers = 0;
    for (const Step& step : all) layers = std::max(layers, step.layer + 1);
    std::vector<std::vector<const Step*>> by_layer(layers);
    for (const Step& step : all) by_layer[step.layer].push_back(&step);
    std::string stage;
    for (std::size_t i = 0; i < layers; ++i) {
      if (i > 0) line(prefix + "│");
      layer(by_layer[i], all, prefix, stage);
    }
  }

  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  void layer(const std::vector<const Step*>& layer, const Steps& all, const std::string& prefix, std::string& stage) {
    for (std::size_t i = 0; i < layer.size(); ++i) {
      const Step& step = *layer[i];
      if (step.stage != stage) {
        stage = step.stage;
        line(fmt::format("{}[{}]", prefix, plain(stage)));
      }
      const char* mark = layer.size() == 1 ? "●" : i == 0 ? "┌" : i + 1 == layer.size() ? "└" : "├";
      line(fmt::format("{}{} {}", prefix, mark, step_text(step, all)));
      inner(step, prefix + (i + 1 == layer.size() ? "  " : "│ "));
    }
  }

  static std::string step_text(const Step& step, const Steps& all) {
    std::string text = step.id;
    if (!step.needed.empty()) {
      text += " <-";
      for (const std::size_t need : step.needed) {
        text += (need == step.needed.front() ? " " : ", ") + (need < all.size() ? all[need].id : "?");
      }
    }
    text += "  " + std::visit(WorkText{step}, step.work);
    if (step.when) text += "  when " + plain(step.when->text());
    if (!step.uses.empty()) text += fmt::format("  uses {}", fmt::join(step.uses, ", "));
    if (step.cache) text += "  (cached)";
    if (step.risky) text += "  (risky)";
    if (step.continue_on_error) text += "  (may fail)";
    return text;
  }

  void part(std::string_view title, const Steps* steps, const std::string& prefix) {
    if (steps == nullptr) return;
    if (!title.empty()) line(fmt::format("{}{}:", prefix, title));
    this->steps(*steps, prefix + "  ");
  }

  void inner(const Step& step, const std::string& prefix) {
    if (const auto* loop = std::get_if<Loop>(&step.work)) part("", loop->steps.get(), prefix);
    if (const auto* map = std::get_if<Map>(&step.work)) {
      part("", map->steps.get(), prefix);
      if (map->reduce) {
        line(fmt::format("{}reduce: {}", prefix, std::visit(WorkText{*map->reduce}, map->reduce->work)));
        inner(*map->reduce, prefix + "  ");
      }
    }
    if (step.confidence)
      part(fmt::format("confidence below {}", step.confidence->below), step.confidence->then.get(), prefix);
    part(step.rescue ? "on failure, rescue" : "on failure", step.on_failure.get(), prefix);
  }

  std::size_t columns_;
  std::string text_;
};

}  // namespace

std::string draw_workflow(const Workflow& workflow, std::size_t columns) {
  Drawing drawing(columns);
  drawing.line(plain(workflow.name));
  for (const Variable& variable : workflow.vars) {
    drawing.line(
        fmt::format("  {}: {}", variable.name, variable.required ? "must be given" : plain(compact(variable.value))));
  }
  for (const Limit& limit : workflow.limits) {
    const std::string rate = limit.per_minute ? fmt::format("{} per minute", *limit.per_minute) : "";
    const std::string width = limit.parallel ? fmt::format("{} at once", *limit.parallel) : "";
    const std::string both = !rate.empty() && !width.empty() ? ", " : "";
    drawing.line(fmt::format("  limit {}: {}{}{}", limit.name, rate, both, width));
  }
  drawing.line("");
  drawing.steps(workflow.steps, "");
  if (workflow.on_failure) {
    drawing.line("");
    drawing.line("on failure:");
    drawing.steps(*workflow.on_failure, "  ");
  }
  if (workflow.finally) {
    drawing.line("");
    drawing.line("finally:");
    drawing.steps(*workflow.finally, "  ");
  }
  if (workflow.notify) {
    drawing.line("");
    drawing.line("notify: " + plain(workflow.notify->source));
  }
  return std::move(drawing).take();
}

}  // namespace pawl
