// Exact places inside scalars.
#pragma once

#include <string_view>
#include <vector>

#include "yaml/yaml_tree.hpp"

namespace pawl {

/// Returns whether `text` is empty or consists of white space.
[[nodiscard]] bool is_blank(std::string_view text);

/// The lines of a workflow and of its files of templates. The texts must outlive this object.
class SourceLines {
 public:
  explicit SourceLines(std::string_view text) { add(text); }
  /// Adds the next file, in the order of Place::file.
  void add(std::string_view text);
  /// Returns the place of byte `offset` of the scalar's value. If it can't be determined, returns the scalar's own
  /// place.
  [[nodiscard]] Place within(const YamlNode& scalar, std::size_t offset) const;
  /// Returns the character at the place, or '\0' if there is none.
  [[nodiscard]] char character_at(Place place) const;

 private:
  struct Source {
    std::string_view text;
    std::vector<std::size_t> starts = {0};
  };
  [[nodiscard]] std::string_view line(std::uint32_t file, std::size_t number) const;  // counted from 1
  std::vector<Source> sources_;
};

}  // namespace pawl
