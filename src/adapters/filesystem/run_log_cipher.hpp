// Encrypts the logs of an encrypted run with the key of the run.
#pragma once

#include "base/mutex.hpp"
#include "codec/run_codec.hpp"
#include "ports/environment.hpp"
#include "ports/log_cipher.hpp"

namespace pawl {

class RunLogCipher final : public LogCipher {
 public:
  RunLogCipher(RunCodec codec, Random& random) : random_(random), codec_(std::move(codec)) {}
  Result<std::string> seal(std::string_view bytes, std::string_view file, std::uint64_t offset) override;
  Result<std::string> open(std::string_view sealed, std::string_view file, std::uint64_t offset) override;

 private:
  Random& random_;
  Mutex mutex_;
  RunCodec codec_ PAWL_GUARDED_BY(mutex_);
};

}  // namespace pawl
