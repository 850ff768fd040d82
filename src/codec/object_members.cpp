#include "codec/object_members.hpp"

#include "text/json_text.hpp"

namespace pawl {

Result<ObjectMembers> ObjectMembers::parse(std::string_view members) {
  if (members.ends_with(',')) members.remove_suffix(1);
  ObjectMembers result;
  // nlohmann has no depth limit, and printing deeply nested values overflows the stack.
  if (json_depth(members) <= kJsonDepthMax) {
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
