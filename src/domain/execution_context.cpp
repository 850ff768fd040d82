#include "domain/execution_context.hpp"

#include <fmt/format.h>

#include <map>

#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::string_view kLevels[] = {"workflow", "stage", "agent"};

std::string object_member(std::string_view state, std::string_view name) {
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

std::string_view to_text(Level level) { return kLevels[static_cast<std::size_t>(level)]; }

std::optional<Level> parse_level(std::string_view text) {
  if (text == "step") return Level::agent;
  for (const Level level : {Level::workflow, Level::stage, Level::agent}) {
    if (text == to_text(level)) return level;
  }
  return std::nullopt;
}

Level level_of(const CheckpointInfo& checkpoint) {
  if (!checkpoint.step.empty()) return Level::agent;
  return checkpoint.stage.empty() ? Level::workflow : Level::stage;
}

const std::string& StateLevels::at(Level level) const {
  return level == Level::workflow ? workflow : level == Level::stage ? stage : agent;
}

std::string StateLevels::to_json() const {
  return fmt::format(R"({{"workflow":{},"stage":{},"agent":{}}})", workflow, stage, agent);
}

StateLevels levels_of(std::string_view state) {
  const std::string_view object = trim_json(state);
  const bool has_agent = find_json_member(object, "agent").has_value();
  return {object_member(object, "workflow"), object_member(object, "stage"),
          object_member(object, has_agent ? "agent" : "step")};
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

StateLevels merge_levels(const StateLevels& base, const StateLevels& update) {
  return {merge_members(base.workflow, update.workflow), merge_members(base.stage, update.stage),
          merge_members(base.agent, update.agent)};
}

}  // namespace pawl
