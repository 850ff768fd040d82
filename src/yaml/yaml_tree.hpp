// YAML as a tree of our own: with places, bounded, with aliases and merge keys resolved.
//
// Bounds (an alias counts as what it stands for): 4 MiB of text, 64 levels, 100,000 nodes, 8 MiB of scalars.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "yaml/faults.hpp"

namespace pawl {

struct YamlNode;
/// Shared, because an alias is the very node that it names.
using YamlPtr = std::shared_ptr<const YamlNode>;

struct YamlMember {
  std::string key;
  Place key_place;
  YamlPtr value;
};

struct YamlNode {
  enum class Kind : std::uint8_t { null, scalar, list, map };
  enum class Style : std::uint8_t { plain, quoted };  // quoted: also block scalars; always text
  Kind kind = Kind::null;
  Style style = Style::plain;
  Place place;
  std::string text;                 // of a scalar
  std::vector<YamlPtr> items;       // of a list
  std::vector<YamlMember> members;  // of a map, each key once
  std::size_t nodes = 1;            // with everything inside
  std::size_t bytes = 0;            // of the scalars inside
  std::size_t height = 1;           // levels, this one included

  [[nodiscard]] bool is_null() const { return kind == Kind::null; }
  [[nodiscard]] bool is_scalar() const { return kind == Kind::scalar; }
  [[nodiscard]] bool is_list() const { return kind == Kind::list; }
  [[nodiscard]] bool is_map() const { return kind == Kind::map; }
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

/// `a list`, `a text`, `a number`: for messages.
[[nodiscard]] std::string kind_text(const YamlNode& node);

/// The text's only document. Null, with at least one fault in `faults`, where it can't be read at all.
[[nodiscard]] YamlPtr read_yaml(std::string_view text, Faults& faults);
/// The same, where a text without any value is fine: null, and no fault.
[[nodiscard]] YamlPtr read_yaml_or_nothing(std::string_view text, Faults& faults);

/// The same tree of a JSON value, all of it at `place`. Null, with a fault, where a bound is passed.
[[nodiscard]] YamlPtr yaml_of(const Json& value, Place place, Faults& faults);

/// Plain scalars are typed by the core rules of YAML 1.2: true, false, null, integers, numbers; anything else
/// (`yes`, `08`, `.inf`) is text. A whole number that JSON's readers can't keep exactly is a fault.
[[nodiscard]] Json to_json(const YamlNode& node, Faults& faults);

/// One text per meaning: keys sorted, scalars typed, no comments or styles.
[[nodiscard]] std::string canonical_text(const YamlNode& node);

}  // namespace pawl
