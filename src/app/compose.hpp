// The composition root: the only place that names concrete adapters.
#pragma once

#include <pawl/pawl.hpp>

#include "domain/settings.hpp"
#include "ports/store.hpp"

namespace pawl {

/// How long the process uses the store.
enum class StoreUse : std::uint8_t {
  one_shot,  // a command: starts no threads; the next process publishes what is left
  service,   // a long-running program: background threads batch saves and publish them
};

/// Opens the store that `uri` names: a folder (`PATH`, `file:PATH`, `file://PATH`), or `memory:`, which is empty and
/// exists as long as the returned object. `settings` are the effective settings of this store. The store owns
/// everything that it needs. Fails with store_not_found (Missing::refuse, or the parent folder is missing),
/// network_filesystem, usage (unknown scheme), or an error of the adapter.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(std::string_view uri, const OpenOptions& options, StoreUse use,
                                                        const Settings& settings = {});

class FilesystemStore;

/// Opens a store for operations that only a store in a folder has. Starts no threads. Fails like open_store, and with
/// usage if `uri` does not name a folder.
[[nodiscard]] Result<std::unique_ptr<FilesystemStore>> open_filesystem(std::string_view uri, const OpenOptions& options,
                                                                       const Settings& settings);

/// Returns `path` as an absolute path, so that a later change of the working directory has no effect. Returns `path`
/// itself if the working directory can't be read.
[[nodiscard]] std::string absolute_path(const std::string& path);

}  // namespace pawl
