#include "engine/step_output.hpp"

#include <algorithm>

#include "ports/output_mask.hpp"

namespace pawl {

StepOutput::StepOutput(std::unique_ptr<OutputFile> file, std::vector<std::string> secrets, Wanted wanted)
    : file_(std::move(file)), secrets_(std::move(secrets)), wanted_(wanted) {
  for (const std::string& secret : secrets_) longest_secret_ = std::max(longest_secret_, secret.size());
}

void StepOutput::write(std::string_view bytes) {
  printed_bytes_ += bytes.size();
  if (captured_.size() < wanted_.captured_bytes) captured_ += bytes.substr(0, wanted_.captured_bytes - captured_.size());
  if (longest_secret_ == 0) return pass_on(bytes);
  held_ += bytes;
  held_ = masked(std::move(held_), secrets_);
  const std::size_t ready = held_.size() - std::min(held_.size(), longest_secret_ - 1);
  pass_on(std::string_view(held_).substr(0, ready));
  held_.erase(0, ready);
}

void StepOutput::settle() {
  pass_on(held_);
  held_.clear();
}

void StepOutput::close() {
  settle();
  static_cast<void>(file_->close());
}

void StepOutput::pass_on(std::string_view text) {
  if (text.empty()) return;
  static_cast<void>(file_->append(text));  // a full disk: logs are not needed to resume
  if (wanted_.tail_bytes == 0) return;
  tail_ += text.substr(text.size() - std::min(text.size(), wanted_.tail_bytes));
  if (tail_.size() > 4 * wanted_.tail_bytes) tail_.erase(0, tail_.size() - wanted_.tail_bytes);
}

std::string_view StepOutput::tail() const {
  return std::string_view(tail_).substr(tail_.size() - std::min(tail_.size(), wanted_.tail_bytes));
}

}  // namespace pawl
