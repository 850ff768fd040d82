// YAML as a tree. Every value has its place; aliases and merge keys are resolved.
//
// Limits (an alias counts as the value that it refers to): 4 MiB of text, 64 levels, 100,000 nodes, 8 MiB of scalars.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "yaml/faults.hpp"

namespace pawl {

struct YamlNode;
/// Shared, because an alias is the same node as the value that it refers to.
using YamlPtr = std::shared_ptr<const YamlNode>;

struct YamlMember {
  std::string key;
  Place key_place;
  YamlPtr value;
};

struct YamlNode {
  enum class Kind : std::uint8_t { null, scalar, list, map };
  enum class Style : std::uint8_t { plain, quoted };  // quoted or a block scalar: always text
  Kind kind = Kind::null;
  Style style = Style::plain;
  Place place;
  std::string text;                 // of a scalar
  std::vector<YamlPtr> items;       // of a list
  std::vector<YamlMember> members;  // of a map, each key once
  std::size_t nodes = 1;            // including all nodes inside
  std::size_t bytes = 0;            // of all scalars inside
  std::size_t height = 1;           // number of levels, including this one

  [[nodiscard]] bool is_null() const { return kind == Kind::null; }
  [[nodiscard]] bool is_scalar() const { return kind == Kind::scalar; }
  [[nodiscard]] bool is_list() const { return kind == Kind::list; }
  [[nodiscard]] bool is_map() const { return kind == Kind::map; }
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

/// Returns the kind for messages: `a list`, `a text`, `a number` and so on.
[[nodiscard]] std::string kind_text(const YamlNode& node);

/// Reads the only document of the text. Returns null and adds at least one error if it can't be read at all.
[[nodiscard]] YamlPtr read_yaml(std::string_view text, Faults& faults);
/// Like read_yaml, but returns null without an error if the text contains no value.
[[nodiscard]] YamlPtr read_yaml_or_nothing(std::string_view text, Faults& faults);
/// The same for a file that was registered with Faults::add_file: `file` is in all places.
[[nodiscard]] YamlPtr read_yaml_file(std::string_view text, std::uint32_t file, Faults& faults);

/// Returns the tree of a JSON value, all of it at `place`. Returns null and adds an error if a limit is exceeded.
[[nodiscard]] YamlPtr yaml_of(const Json& value, Place place, Faults& faults);

/// Converts a node. Plain scalars are typed by the core schema of YAML 1.2: true, false, null, integers, numbers.
/// Anything else (`yes`, `08`, `.inf`) is text. An integer that JSON readers can't represent exactly is an error.
[[nodiscard]] Json to_json(const YamlNode& node, Faults& faults);

/// Returns a canonical text: keys sorted, scalars typed, without comments and styles.
[[nodiscard]] std::string canonical_text(const YamlNode& node);

}  // namespace pawl
