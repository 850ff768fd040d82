// The local files of this machine.
#pragma once

#include "ports/local_files.hpp"

namespace pawl {

class PosixLocalFiles final : public LocalFiles {
 public:
  bool exists(const std::string& path) override;
  bool is_folder(const std::string& path) override;
  bool is_executable(const std::string& path) override;
  std::uint64_t size(const std::string& path) override;
  Timestamp modified(const std::string& path) override;
  Result<std::string> read(const std::string& path, std::uint64_t bytes_max) override;
  Result<std::optional<std::string>> read_regular(const std::string& path, std::uint64_t bytes_max) override;
  Result<std::string> read_tail(const std::string& path, std::uint64_t bytes_max) override;
  Result<std::string> read_range(const std::string& path, std::uint64_t offset, std::uint64_t size) override;
  Result<std::unique_ptr<LineSource>> lines(const std::string& path, std::uint64_t bytes_max) override;
  Result<void> write(const std::string& path, std::string_view bytes) override;
  Result<void> write_over(const std::string& path, std::string_view bytes) override;
  Result<void> make_durable(const std::string& path, const std::string& top) override;
  bool rename(const std::string& from, const std::string& to) override;
  Result<void> append(const std::string& path, std::string_view bytes) override;
  Result<void> make_folder(const std::string& path) override;
  Result<std::string> private_folder(const std::string& name) override;
  std::vector<std::string> list(const std::string& folder) override;
  void remove(const std::string& path) override;
  void remove_folder(const std::string& path) override;
  std::string absolute(const std::string& path, const std::string& base) override;
};

}  // namespace pawl
