// The evidence in a folder (ports/evidence.hpp). Takes no lock, writes nothing and requires no key.
#pragma once

#include <memory>

#include "adapters/filesystem/journal_reader.hpp"
#include "ports/evidence.hpp"

namespace pawl {

class FilesystemEvidence final : public Evidence {
 public:
  /// `files` must outlive this object.
  FilesystemEvidence(FileSystem& files, std::string boot_id) : files_(files), boot_id_(std::move(boot_id)) {}
  FilesystemEvidence(std::unique_ptr<FileSystem> files, std::string boot_id)
      : owned_files_(std::move(files)), files_(*owned_files_), boot_id_(std::move(boot_id)) {}

  Result<Uuid> store_id() override;
  Result<std::vector<std::string>> runs() override;
  Result<std::unique_ptr<RunEvidence>> run(const RunId& run, Journals journals) override;

 private:
  Result<void> read_journals(Journals journals);

  const std::unique_ptr<FileSystem> owned_files_;  // null if the caller owns the files
  FileSystem& files_;
  const std::string boot_id_;
  std::shared_ptr<const JournalSnapshot> snapshot_;
};

}  // namespace pawl
