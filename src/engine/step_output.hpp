// What a step prints, on its way to its log: without secrets, and with what the engine wants to know of it.
#pragma once

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
    std::size_t tail_bytes = 0;      // the last ones of what was written to the file
    std::size_t captured_bytes = 0;  // the first ones as they were printed
  };

  /// What it masks is added to `counts`, by the thread that writes.
  StepOutput(std::unique_ptr<OutputFile> file, std::shared_ptr<const SecretPatterns> patterns,
             std::shared_ptr<MaskCounts> counts, Wanted wanted);
  void write(std::string_view bytes) override;
  void settle() override;
  void close() override;

  /// The last bytes that went to the file, about `tail_bytes` of them.
  [[nodiscard]] std::string_view tail() const;
  /// At most `captured_bytes`; of a longer output only the beginning.
  [[nodiscard]] const std::string& captured() const { return captured_; }
  [[nodiscard]] std::uint64_t printed_bytes() const { return printed_bytes_; }

 private:
  void pass_on(std::string_view text);
  void pass_on_masked();

  const std::unique_ptr<OutputFile> file_;
  SecretMask mask_;
  const std::shared_ptr<MaskCounts> counts_;
  MaskCounts counted_;  // what `counts_` has of this one
  const Wanted wanted_;
  std::string masked_;
  std::string tail_;
  std::string captured_;
  std::uint64_t printed_bytes_ = 0;
};

}  // namespace pawl
