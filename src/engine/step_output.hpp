// Writes the output of a step to its log without secrets, and keeps the parts that the engine needs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "engine/output_file.hpp"
#include "ports/output_sink.hpp"
#include "secrets/secret_patterns.hpp"

namespace pawl {

class StepOutput final : public OutputSink {
 public:
  struct Wanted {
    std::size_t tail_bytes = 0;                        // size of the kept end of the log
    std::size_t captured_bytes = 0;                    // size of the kept beginning of the output
    std::function<void(std::string_view)> shown = {};  // called with what is written to the log; may be empty
  };

  /// Adds masked secrets to `counts`, on the writing thread.
  StepOutput(std::unique_ptr<OutputFile> file, std::shared_ptr<const SecretPatterns> patterns,
             std::shared_ptr<MaskCounts> counts, Wanted wanted);
  void write(std::string_view bytes) override;
  void settle() override;
  void close() override;

  /// Returns about the last `tail_bytes` bytes of the log.
  [[nodiscard]] std::string_view tail() const;
  /// Returns the beginning of the output, at most `captured_bytes` bytes.
  [[nodiscard]] const std::string& captured() const { return captured_; }
  [[nodiscard]] std::uint64_t printed_bytes() const { return printed_bytes_; }

 private:
  void pass_on(std::string_view text);
  void pass_on_masked();

  const std::unique_ptr<OutputFile> file_;
  SecretMask mask_;
  const std::shared_ptr<MaskCounts> counts_;
  MaskCounts counted_;  // what was added to `counts_`
  const Wanted wanted_;
  std::string masked_;
  std::string tail_;
  std::string captured_;
  std::uint64_t printed_bytes_ = 0;
};

}  // namespace pawl
