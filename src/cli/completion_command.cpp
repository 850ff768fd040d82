// `pawl completion SHELL`, and the hidden `pawl __complete -- WORDS...` that its scripts call at every tab.
#include "cli/command.hpp"
#include "cli/completion.hpp"

namespace pawl::cli {
namespace {

constexpr std::size_t kRunsOffered = 1000;

std::string_view offer_name(Completion::Also also) {
  switch (also) {
    case Completion::Also::nothing: return "nothing";
    case Completion::Also::files: return "files";
    case Completion::Also::folders: return "folders";
    case Completion::Also::programs: return "programs";
  }
  return "nothing";
}

/// Offers nothing if the store can't be read: completion never shows errors.
void add_runs(const Invocation& invocation, Completion& completion) {
  const std::string uri = completion.store.value_or(invocation.store_uri());
  if (uri.empty()) return;
  const Result<std::unique_ptr<Store>> store = invocation.context().open_store(uri, StoreAccess::read, Settings{});
  if (!store) return;
  const Result<std::vector<RunInfo>> runs = (*store)->runs(kRunsOffered);
  if (!runs) return;
  const Timestamp now = invocation.context().clock.now();
  for (const RunInfo& run : *runs) {
    if (!run.id.text().starts_with(completion.begun)) continue;
    completion.candidates.push_back({completion.prefix + run.id.text(), age(run.updated, now)});
  }
}

void answer(const Invocation& invocation, Options& root) {
  Completion completion = complete(root.tree(), invocation.command());
  if (completion.runs) add_runs(invocation, completion);
  invocation.print(
      fmt::format("{}{}{}\n", offer_name(completion.also), completion.prefix.empty() ? "" : " ", completion.prefix));
  for (const Completion::Candidate& candidate : completion.candidates) {
    invocation.print(fmt::format("{}\t{}\n", printable(candidate.word), printable(candidate.help)));
  }
}

}  // namespace

Command add_completion(Options& root) {
  const auto shell = std::make_shared<std::string>();
  Options& app = root.command("completion", "Print the completion script for bash, zsh or fish");
  app.group(kCareGroup);
  app.text("SHELL", *shell, "Shell: bash, zsh or fish").required().words({"bash", "zsh", "fish"});
  app.footer(
      "Examples:\n"
      "  source <(pawl completion bash)   in ~/.bashrc\n"
      "  source <(pawl completion zsh)    in ~/.zshrc, after compinit\n"
      "  pawl completion fish > ~/.config/fish/completions/pawl.fish\n"
      "\n"
      "The Debian package and `make install` install these scripts.");
  return {&app, [shell](const Invocation& invocation) -> Result<void> {
            invocation.print(completion_script(*shell));
            return {};
          }};
}

Command add_complete(Options& root) {
  Options& app = root.command("__complete", "Print completions for the words after --");
  app.group("");
  return {&app, [&root](const Invocation& invocation) -> Result<void> {
            answer(invocation, root);
            return {};
          }};
}

}  // namespace pawl::cli
