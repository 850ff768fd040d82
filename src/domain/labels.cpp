#include "domain/labels.hpp"

#include <algorithm>

namespace pawl {
namespace {

bool has_label(const CheckpointInfo& info, std::string SaveLabel::* member, std::string_view value) {
  return std::ranges::any_of(info.also, [&](const SaveLabel& label) { return label.*member == value; });
}

}  // namespace

std::vector<SaveLabel> all_labels(const CheckpointInfo& info) {
  std::vector<SaveLabel> labels = {{info.kind, info.reason, info.stage, info.step}};
  labels.insert(labels.end(), info.also.begin(), info.also.end());
  return labels;
}

std::vector<std::string> values_of(const CheckpointInfo& info, std::string SaveLabel::* member) {
  std::vector<std::string> values;
  for (const SaveLabel& label : all_labels(info)) {
    const std::string& value = label.*member;
    if (!value.empty() && std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return values;
}

bool fits(const CheckpointInfo& info, const Which& which) {
  switch (which.by) {
    case Which::By::name: return info.name == which.label;
    case Which::By::stage: return info.stage == which.label || has_label(info, &SaveLabel::stage, which.label);
    case Which::By::step: return info.step == which.label || has_label(info, &SaveLabel::step, which.label);
    case Which::By::uuid: return info.id == which.uuid;
    case Which::By::latest: return true;
    case Which::By::sequence: return info.sequence == which.sequence;
  }
  return false;
}

}  // namespace pawl
