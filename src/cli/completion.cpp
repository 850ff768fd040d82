#include "cli/completion.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace pawl::cli {
namespace {

/// Reads the complete words and tracks what can follow them.
class Walk {
 public:
  explicit Walk(const CommandInfo& root) : path_{&root} {}

  void read(const std::string& word) {
    if (pending_ != nullptr) return take_value(*std::exchange(pending_, nullptr), word);
    if (behind_mark_) {
      ++words_behind_mark_;
    } else if (word == "--") {
      behind_mark_ = true;
    } else if (word.size() > 1 && word.starts_with('-')) {
      read_option(word);
    } else if (!enter(word)) {
      ++arguments_read_;
      if (!here().arguments.empty() && here().arguments.front().wants == Wants::command) read_command_name(word);
    }
  }

  [[nodiscard]] Completion next(const std::string& word) {
    completion_.begun = word;
    const std::size_t sign = word.find('=');
    if (pending_ != nullptr) {
      offer_values(*pending_);
    } else if (behind_mark_) {
      completion_.also = words_behind_mark_ == 0 ? Completion::Also::programs : Completion::Also::files;
    } else if (word.starts_with("--") && sign != std::string::npos) {
      const OptionInfo* option = find_option(word.substr(0, sign));
      completion_.prefix = word.substr(0, sign + 1);
      completion_.begun = word.substr(sign + 1);
      if (option != nullptr) offer_values(*option);
    } else if (word.starts_with('-')) {
      offer_options();
    } else {
      offer_arguments();
    }
    return std::move(completion_);
  }

 private:
  [[nodiscard]] const CommandInfo& here() const { return *path_.back(); }

  void take_value(const OptionInfo& option, const std::string& value) {
    if (option.names.front() == "--store") completion_.store = value;
  }

  bool enter(const std::string& word) {
    if (arguments_read_ > 0) return false;
    const auto found = std::ranges::find(here().commands, word, &CommandInfo::name);
    if (found == here().commands.end()) return false;
    path_.push_back(&*found);
    return true;
  }

  /// Finds an option of this command or of one of its parents.
  [[nodiscard]] const OptionInfo* find_option(const std::string& name) const {
    for (auto command = path_.rbegin(); command != path_.rend(); ++command) {
      for (const OptionInfo& option : (*command)->options) {
        if (std::ranges::find(option.names, name) != option.names.end()) return &option;
      }
    }
    return nullptr;
  }

  void read_option(const std::string& word) {
    const std::size_t sign = word.find('=');
    const OptionInfo* option = find_option(word.substr(0, sign));
    if (option == nullptr) return;
    used_.insert(option->names.front());
    if (option->value.empty()) return;
    if (sign == std::string::npos) {
      pending_ = option;
    } else {
      take_value(*option, word.substr(sign + 1));
    }
  }

  /// `help audit` continues with the commands of `audit`.
  void read_command_name(const std::string& word) {
    if (named_ == nullptr) return;
    const auto found = std::ranges::find(named_->commands, word, &CommandInfo::name);
    named_ = found == named_->commands.end() ? nullptr : &*found;
  }

  void offer(std::string_view word, std::string_view help) {
    if (word.starts_with(completion_.begun))
      completion_.candidates.push_back({completion_.prefix + std::string(word), std::string(help)});
  }

  void offer_values(const OptionInfo& option) {
    switch (option.wants) {
      case Wants::nothing:
      case Wants::text: break;
      case Wants::word:
        for (const std::string& word : option.words) offer(word, "");
        break;
      case Wants::file: completion_.also = Completion::Also::files; break;
      case Wants::folder: completion_.also = Completion::Also::folders; break;
      case Wants::run: completion_.runs = true; break;
      case Wants::command:
        if (named_ == nullptr) break;
        for (const CommandInfo& command : named_->commands) offer(command.name, command.help);
        break;
    }
  }

  void offer_options() {
    std::set<std::string> offered;
    for (auto command = path_.rbegin(); command != path_.rend(); ++command) {
      for (const OptionInfo& option : (*command)->options) {
        const std::string& name = option.names.front();
        if ((option.repeats || !used_.contains(name)) && offered.insert(name).second) offer(name, option.help);
      }
    }
  }

  void offer_arguments() {
    if (!here().commands.empty() && arguments_read_ == 0) {
      for (const CommandInfo& command : here().commands) offer(command.name, command.help);
    } else if (arguments_read_ < here().arguments.size()) {
      offer_values(here().arguments[arguments_read_]);
    } else if (!here().arguments.empty() && here().arguments.back().repeats) {
      offer_values(here().arguments.back());
    } else {
      offer_options();  // nothing else can follow
    }
  }

  std::vector<const CommandInfo*> path_;      // from the root to the last named command
  const CommandInfo* named_ = path_.front();  // the command whose name the arguments are; null: there is none
  const OptionInfo* pending_ = nullptr;       // the next word is its value
  std::set<std::string> used_;
  std::size_t arguments_read_ = 0;
  std::size_t words_behind_mark_ = 0;
  bool behind_mark_ = false;
  Completion completion_;
};

}  // namespace

Completion complete(const CommandInfo& root, const std::vector<std::string>& words) {
  Walk walk(root);
  if (words.empty()) return walk.next("");
  for (std::size_t i = 0; i + 1 < words.size(); ++i) walk.read(words[i]);
  return walk.next(words.back());
}

}  // namespace pawl::cli
