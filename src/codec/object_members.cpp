#include "codec/object_members.hpp"

#include "domain/json_text.hpp"

namespace pawl {
namespace {

constexpr int kDepthMax = 512;

/// nlohmann has no limit of its own, and deep values end in a stack overflow when they are printed.
bool depth_is_fine(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDepthMax) return false;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return true;
}

}  // namespace

Result<ObjectMembers> ObjectMembers::parse(std::string_view members) {
  if (members.ends_with(',')) members.remove_suffix(1);
  ObjectMembers result;
  if (depth_is_fine(members)) {
    result.text_ = fmt::format("{{{}}}", members);
    result.object_ = nlohmann::ordered_json::parse(result.text_, nullptr, false);
  }
  if (!result.object_.is_object()) return fail(Code::checkpoint_corrupt, "a stored record is not a JSON object");
  return result;
}

std::string ObjectMembers::text(std::string_view key) const { return text_or(key, {}); }

std::string ObjectMembers::text_or(std::string_view key, std::string_view otherwise) const {
  const auto found = object_.find(key);
  if (found == object_.end() || !found->is_string()) return std::string(otherwise);
  return found->get<std::string>();
}

std::uint64_t ObjectMembers::number(std::string_view key) const {
  const auto found = object_.find(key);
  if (found == object_.end() || !found->is_number_unsigned()) return 0;
  return found->get<std::uint64_t>();
}

std::string ObjectMembers::raw(std::string_view key) const {
  return std::string(find_json_member(text_, key).value_or(std::string_view()));
}

}  // namespace pawl
