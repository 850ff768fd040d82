#include "domain/execution_context.hpp"

#include <map>

#include "text/json_text.hpp"

namespace pawl {
namespace {

std::string level_of(std::string_view state, std::string_view name) {
  const std::optional<std::string_view> level = find_json_member(state, name);
  return level && json_type(*level) == JsonType::object ? std::string(*level) : std::string("{}");
}

void append_member(std::string& out, const JsonMember& member, std::string_view value) {
  if (out.size() > 1) out += ',';
  out.append(member.key);
  out += ':';
  out.append(value);
}

}  // namespace

StateLevels levels_of(std::string_view state) {
  const std::string_view object = trim_json(state);
  const bool has_agent = find_json_member(object, "agent").has_value();
  return {level_of(object, "workflow"), level_of(object, "stage"), level_of(object, has_agent ? "agent" : "step")};
}

std::string merge_members(std::string_view base, std::string_view update) {
  const std::string_view old_object = trim_json(base);
  const std::string_view new_object = trim_json(update);
  std::map<std::string, std::string_view> pending;
  JsonMembers updates(new_object);
  while (const auto member = updates.next()) pending[unescape_json(member->key)] = member->value;
  if (pending.empty()) return std::string(old_object);

  std::string out = "{";
  JsonMembers members(old_object);
  while (const auto member = members.next()) {
    const auto found = pending.find(unescape_json(member->key));
    append_member(out, *member, found == pending.end() ? member->value : found->second);
    if (found != pending.end()) pending.erase(found);
  }
  JsonMembers additions(new_object);
  while (const auto member = additions.next()) {
    const auto found = pending.find(unescape_json(member->key));
    if (found == pending.end()) continue;
    append_member(out, *member, found->second);
    pending.erase(found);
  }
  return out + "}";
}

Result<ExecutionContext> rebuild_context(std::span<const ChainLink> chain) {
  ExecutionContext context;
  Sequence last;
  for (const ChainLink& link : chain) {
    if (link.parent != last) {
      return fail(Error{Code::chain_broken,
                        fmt::format("checkpoint {} builds on {}, which is missing from its chain", link.sequence.value,
                                    link.parent.value),
                        {},
                        {},
                        0,
                        Advice::check_store});
    }
    context.levels.workflow = merge_members(context.levels.workflow, link.levels.workflow);
    context.levels.stage = merge_members(context.levels.stage, link.levels.stage);
    context.levels.agent = merge_members(context.levels.agent, link.levels.agent);
    context.chain.push_back(link.sequence);
    last = link.sequence;
  }
  return context;
}

}  // namespace pawl
