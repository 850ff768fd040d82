// The composition root: the only place that names concrete adapters.
#pragma once

#include <pawl/pawl.hpp>

#include "domain/settings.hpp"
#include "ports/store.hpp"

namespace pawl {

/// How long the process means to use the store.
enum class StoreUse : std::uint8_t {
  one_shot,  // a command: no threads; what is left to publish is published by whoever comes later
  service,   // a program that stays: saves are collected and published in the background
};

/// Opens the store that `uri` names: a folder (`PATH`, `file:PATH`, `file://PATH`), or `memory:` (empty,
/// gone with the handle). `settings`: those that are in force for it. The store owns all that it needs. Fails with
/// store_not_found (Missing::refuse, or no parent folder), network_filesystem, usage (another scheme), or what the
/// adapter says.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(std::string_view uri, const OpenOptions& options, StoreUse use,
                                                        const Settings& settings = {});

class FilesystemStore;

/// The same for what only a folder can do.
struct FilesystemOpened {
  std::unique_ptr<Store> owner;
  FilesystemStore* store = nullptr;  // a part of it
};
/// Fails with usage where `uri` names no folder.
[[nodiscard]] Result<FilesystemOpened> open_filesystem(std::string_view uri, const OpenOptions& options,
                                                       const Settings& settings);

/// `path` as an absolute path, so that a later change of the working directory does not matter; `path` itself if the
/// working directory can't be read.
[[nodiscard]] std::string absolute_path(const std::string& path);

}  // namespace pawl
