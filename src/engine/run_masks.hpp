// What of a run must not be saved or shown: declared secrets, values recognised by their form, and configured keys.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/state_keys.hpp"
#include "secrets/secret_patterns.hpp"

namespace pawl {

/// Not thread-safe, except for what `patterns` returns.
class RunMasks {
 public:
  /// `keys` are those whose values are not saved, `values` the known ones. Invalid patterns of the settings are
  /// reported by `learn`.
  RunMasks(const SecretSettings& settings, std::set<std::string> keys, KeyValues values);

  /// Takes the values of the secrets from the environment. Fails with invalid_variable if one is not set, and with
  /// usage for an invalid pattern.
  [[nodiscard]] Result<void> learn(const SecretSettings& settings, const std::vector<std::string>& names,
                                   const std::vector<std::string>& environment, Json vars);

  /// Masks the data of an event, which observers and the store receive. Returns false if that surely changed nothing.
  bool mask_data(Json& data);
  /// Masks the values of configured keys in something that is saved.
  void mask_keys_in(Json& value);
  void unmask(Json& value) const { unmask_keys(value, key_values_); }
  /// Replaces declared secrets.
  [[nodiscard]] std::string text(std::string text) const;

  [[nodiscard]] bool has_keys() const { return !keys_.empty(); }
  [[nodiscard]] const KeyValues& key_values() const { return key_values_; }
  [[nodiscard]] const std::shared_ptr<const SecretPatterns>& patterns() const { return patterns_; }
  /// How many values were masked by this execution.
  [[nodiscard]] const std::shared_ptr<MaskCounts>& counts() const { return counts_; }

 private:
  void add_secret(std::string_view value);

  std::vector<std::string> secrets_;
  std::shared_ptr<const SecretPatterns> patterns_;
  std::set<std::string> keys_;
  KeyValues key_values_;
  const std::shared_ptr<MaskCounts> counts_ = std::make_shared<MaskCounts>();
};

}  // namespace pawl
