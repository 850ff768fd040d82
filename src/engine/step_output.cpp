#include "engine/step_output.hpp"

#include <algorithm>

namespace pawl {

StepOutput::StepOutput(std::unique_ptr<OutputFile> file, std::shared_ptr<const SecretPatterns> patterns,
                       std::shared_ptr<MaskCounts> counts, Wanted wanted)
    : file_(std::move(file)), mask_(std::move(patterns)), counts_(std::move(counts)), wanted_(std::move(wanted)) {}

void StepOutput::write(std::string_view bytes) {
  printed_bytes_ += bytes.size();
  if (captured_.size() < wanted_.captured_bytes)
    captured_ += bytes.substr(0, wanted_.captured_bytes - captured_.size());
  mask_.add(bytes, masked_);
  pass_on_masked();
}

void StepOutput::settle() {
  mask_.settle(masked_);
  pass_on_masked();
}

void StepOutput::close() {
  mask_.finish(masked_);
  pass_on_masked();
  static_cast<void>(file_->close());
}

void StepOutput::pass_on_masked() {
  pass_on(masked_);
  masked_.clear();
  for (const auto& [kind, count] : mask_.counts()) {
    std::uint64_t& counted = counted_[kind];
    (*counts_)[kind] += count - std::exchange(counted, count);
  }
}

void StepOutput::pass_on(std::string_view text) {
  if (text.empty()) return;
  static_cast<void>(file_->append(text));  // a full disk: logs are not needed to resume
  if (wanted_.shown) wanted_.shown(text);
  if (wanted_.tail_bytes == 0) return;
  tail_ += text.substr(text.size() - std::min(text.size(), wanted_.tail_bytes));
  if (tail_.size() > 4 * wanted_.tail_bytes) tail_.erase(0, tail_.size() - wanted_.tail_bytes);
}

std::string_view StepOutput::tail() const {
  return std::string_view(tail_).substr(tail_.size() - std::min(tail_.size(), wanted_.tail_bytes));
}

}  // namespace pawl
