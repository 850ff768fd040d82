// The only writer of a run in the filesystem store.
#pragma once

#include <map>
#include <memory>

#include "adapters/filesystem/filesystem_store.hpp"
#include "domain/save_rules.hpp"

namespace pawl {

class FilesystemRunWriter final : public RunWriter {
 public:
  /// `lock` holds the run's kernel lock. The writer owns it.
  [[nodiscard]] static Result<std::unique_ptr<RunWriter>> make(FilesystemStore& store, const RunId& run,
                                                               const RunOptions& options, std::unique_ptr<File> lock,
                                                               std::optional<RunHead> head);
  /// `head` comes from RunReader::fork_head. The fork uses everything in it except the identity of the run.
  [[nodiscard]] static Result<std::unique_ptr<RunWriter>> make_fork(FilesystemStore& store, const RunId& run,
                                                                    const RunOptions& options,
                                                                    std::unique_ptr<File> lock, RunHead head);
  ~FilesystemRunWriter() override;

  Result<Saved> save(const SaveRequest& request) override;
  Result<Saved> save_change(const SaveRequest& request, std::span<const Splice> change) override;
  Result<void> flush() override;
  [[nodiscard]] RunInfo info() const override;
  Result<void> seal_inbox() override;
  Result<void> unseal_inbox() override;
  [[nodiscard]] std::string last_state() const override;
  [[nodiscard]] bool is_wanted() const override;
  void keep_newest(std::uint64_t count) override;
  Result<std::shared_ptr<LogCipher>> log_cipher() override;
  [[nodiscard]] std::optional<Appended> appended(std::string_view body) const override;

 private:
  struct Earlier {
    CheckpointInfo info;
    std::string fingerprint;
  };
  struct Draft {
    CheckpointInfo info;
    std::string text;
    bool own_file = false;
    bool has_blob = false;
  };
  /// How the payload of a checkpoint is stored in its record.
  struct Form {
    Payload kind = Payload::state;
    std::string payload = {};
    std::string how = {};
  };
  /// The state of a save: its text, or how it differs from the last one.
  struct NextState {
    std::string_view text = {};
    std::optional<std::span<const Splice>> change = {};  // set: `text` is not
    std::uint64_t size = 0;
    std::string changed = {};  // what `text` refers to, if a change had to be applied
  };
  enum class Known : std::uint8_t { no, yes, forked };  // whether the run has a checkpoint, or will share some
  FilesystemRunWriter(FilesystemStore& store, RunId run, std::unique_ptr<File> lock, RunHead head, RunCodec codec,
                      Known known);
  Result<void> ensure_key() PAWL_REQUIRES(mutex_);
  Result<void> set_damage_aside() PAWL_REQUIRES(mutex_);
  Result<std::string> fingerprint_of(const SaveRequest& request, std::uint64_t body) PAWL_REQUIRES(mutex_);
  [[nodiscard]] SaveFacts facts(const std::optional<Earlier>& earlier, std::string_view fingerprint) const
      PAWL_REQUIRES(mutex_);
  Result<Saved> write(const SaveRequest& request, NextState next, std::string fingerprint, Lock& lock)
      PAWL_REQUIRES(mutex_) PAWL_LETS_GO;
  Result<std::optional<Earlier>> find_earlier(const std::string& caller_id) PAWL_REQUIRES(mutex_);
  [[nodiscard]] Form form_of(const NextState& next) const PAWL_REQUIRES(mutex_);
  void apply(NextState& next) const PAWL_REQUIRES(mutex_);
  Result<Draft> draft_checkpoint(const SaveRequest& request, NextState& next, std::string_view fingerprint)
      PAWL_REQUIRES(mutex_);
  Result<void> pack_payload(const CheckpointInfo& info, std::string_view state, Form& form) PAWL_REQUIRES(mutex_);
  Result<void> store_blob(std::string_view payload, std::string& name) PAWL_REQUIRES(mutex_);
  /// Prevents the removal of blobs of the run until all records that were counted are durable.
  Result<void> hold_blobs() PAWL_REQUIRES(mutex_);
  void release_blobs() PAWL_REQUIRES(mutex_);
  Result<std::string> encode_records(const SaveRequest& request, const Draft& draft, std::uint32_t& count)
      PAWL_REQUIRES(mutex_);
  [[nodiscard]] AuditEntry created_entry(std::string_view run_text) const PAWL_REQUIRES(mutex_);
  Result<std::string> encode_events(const SaveRequest& request, const Draft& draft, JournalRecord record,
                                    std::string& body, std::vector<AuditEntry>& entries) PAWL_REQUIRES(mutex_);
  void advance(const SaveRequest& request, NextState& next, const Draft& draft, std::string fingerprint)
      PAWL_REQUIRES(mutex_);
  Result<Saved> answer(const Saved& saved);
  Result<Saved> hand_over(Saved saved, const Draft& draft, std::string body, std::uint32_t count, Lock& lock)
      PAWL_REQUIRES(mutex_) PAWL_LETS_GO;

  FilesystemStore& store_;
  const RunId run_;
  std::uint64_t epoch_ = 0;  // constant after construction

  mutable Mutex mutex_;
  std::unique_ptr<File> lock_ PAWL_GUARDED_BY(mutex_);
  bool exists_ PAWL_GUARDED_BY(mutex_) = false;    // has a checkpoint, perhaps not durable yet, or shares one
  bool recorded_ PAWL_GUARDED_BY(mutex_) = false;  // has its own checkpoint, and therefore a run record
  bool blob_folder_synced_ PAWL_GUARDED_BY(mutex_) = false;
  bool key_made_ PAWL_GUARDED_BY(mutex_) = false;
  std::uint64_t blobs_on_their_way_ PAWL_GUARDED_BY(mutex_) =
      0;  // number of saves whose blob has no durable record yet
  RunHead head_ PAWL_GUARDED_BY(mutex_);
  RunCodec codec_ PAWL_GUARDED_BY(mutex_);
  std::map<std::string, Earlier> earlier_
      PAWL_GUARDED_BY(mutex_);  // saves of this writer and saves that it looked up, by caller's id
};

}  // namespace pawl
