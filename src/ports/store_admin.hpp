// Creating a store and changing its key, as a port.
#pragma once

#include <functional>
#include <optional>
#include <pawl/types.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/retention.hpp"

namespace pawl {

/// Where a new key comes from. By default PAWL_KEY, PAWL_KEY_FILE or PAWL_PASSPHRASE, otherwise a new file
/// among the user's settings.
struct NewKey {
  std::optional<std::string> file = {};  // created if missing
  bool passphrase = false;               // from the environment or the terminal
};

struct NewStore {
  bool encrypted = false;
  NewKey key = {};
  std::string config = {};  // the text of config.yaml; empty: none
};

struct StoreKeyPlace {
  std::string key_id = {};
  std::string from = {};      // for people: the file, or the variable
  bool made = false;          // it was just created and should be copied to a safe place
  std::string old_file = {};  // where the key that it replaces is kept
};

struct MadeStore {
  std::string folder = {};
  Uuid id = {};
  std::optional<StoreKeyPlace> key = {};
  RetentionSettings retention = {};  // what the settings say about its checkpoints
};

struct StoreAdmin {
  std::function<Result<MadeStore>(std::string_view uri, const NewStore& store)> make;
  std::function<Result<StoreKeyPlace>(std::string_view uri, const NewKey& key)> rekey;
};

}  // namespace pawl
