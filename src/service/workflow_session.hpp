// Runs a workflow on a store: assembles the engine, watches signals and returns the outcome.
#pragma once

#include "engine/run_or_resume.hpp"
#include "service/run_view.hpp"
#include "service/workflow_world.hpp"

namespace pawl {

inline constexpr std::uint64_t kWorkflowFileBytesMax = 4ULL << 20;

/// Reads a file of at most `bytes_max` bytes.
using ReadFile = std::function<Result<std::string>(const std::string& path, std::uint64_t bytes_max)>;

/// Reads and checks a workflow. The error's message lists all errors in it, one per line.
/// For a run that was begun before, keys without effect are remarks and not errors.
enum class LoadFor : std::uint8_t { new_run, begun_run };
[[nodiscard]] Result<Workflow> load_workflow(LocalFiles& files, const ReadFile& read_file, const std::string& file,
                                             LoadFor what);

/// `notes-k3f9`: the workflow's name and four random characters.
[[nodiscard]] std::string fresh_run_id(const std::string& workflow, Random& random);

/// What a session needs. Everything it refers to must outlive the session.
struct SessionHost {
  WorkflowWorld& world;
  Clock& clock;
  RunView& view;
  /// Called once signals are watched, because threads of the store must not receive them.
  std::function<Result<std::unique_ptr<Store>>()> open_store;
  ReadFile read_file;
  std::string store_uri;  // for steps; absolute if it is a folder
  Settings settings = {};
  PromptPerson prompt = {};  // asks a person at a terminal; empty if there is none
  std::string person = {};   // the account of that person, recorded with each answer
};

struct SessionOptions {
  Waiting waiting = Waiting::leave;
  std::optional<Milliseconds> timeout = {};  // the run is interrupted after this time
  std::function<void()> on_timeout = {};     // called when that happens
};

/// Called once the run is open, before its first step. A new run is durable by then.
struct SessionListener {
  std::function<void(const OpenedRun&)> started = {};
  std::function<void(const Resumption&)> resumed = {};
  std::function<void(const ItemCounts&)> items = {};  // called at the end, with the counts of the whole run
};

/// These functions return when the run has finished, waits or was interrupted. They fail (run_failed, run_waiting,
/// run_interrupted, ...) unless it completed.
[[nodiscard]] Result<void> start_workflow(const SessionHost& host, const NewRun& run, const SessionOptions& options,
                                          const SessionListener& listener = {});
[[nodiscard]] Result<void> resume_workflow(const SessionHost& host, const ResumeRequest& request,
                                           const SessionOptions& options, const SessionListener& listener = {});
/// Starts the run, or resumes it if it exists. If it had already finished, returns it without executing anything.
[[nodiscard]] Result<std::optional<FinishedRun>> start_or_resume_workflow(const SessionHost& host, const NewRun& run,
                                                                          const SessionOptions& options,
                                                                          const SessionListener& listener = {});

}  // namespace pawl
