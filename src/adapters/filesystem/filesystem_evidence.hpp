// The evidence of a folder (ports/evidence.hpp): takes no lock, writes nothing, needs no key.
#pragma once

#include <memory>

#include "adapters/filesystem/journal_reader.hpp"
#include "ports/evidence.hpp"

namespace pawl {

class FilesystemEvidence final : public Evidence {
 public:
  /// `files` must outlive it.
  FilesystemEvidence(FileSystem& files, std::string boot_id) : files_(files), boot_id_(std::move(boot_id)) {}

  Result<Uuid> store_id() override;
  Result<std::vector<std::string>> runs() override;
  Result<std::unique_ptr<RunEvidence>> run(const RunId& run, Journals journals) override;

 private:
  Result<void> read_journals(Journals journals);

  FileSystem& files_;
  const std::string boot_id_;
  std::shared_ptr<const JournalSnapshot> snapshot_;
};

}  // namespace pawl
