// Workflow files: any text must give a workflow with a valid order, or errors with locations inside the text.
#include <algorithm>
#include <cstdint>
#include <string>

#include "base/assert.hpp"
#include "workflow/parse_workflow.hpp"

namespace {

using namespace pawl;

void check_order(const Steps& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const std::size_t before : steps[i].after) {
      PAWL_ASSERT(before < steps.size() && before != i && steps[before].layer < steps[i].layer);
    }
    for (const std::size_t need : steps[i].needed) {
      PAWL_ASSERT(std::find(steps[i].after.begin(), steps[i].after.end(), need) != steps[i].after.end());
    }
    PAWL_ASSERT(!steps[i].id.empty() && steps[i].definition_hash.size() == 64);
    if (const auto* loop = std::get_if<Loop>(&steps[i].work)) check_order(*loop->steps);
    if (const auto* map = std::get_if<Map>(&steps[i].work)) check_order(*map->steps);
    if (steps[i].on_failure) check_order(*steps[i].on_failure);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  const auto workflow = parse_workflow({text, ""});
  if (workflow) {
    check_order(workflow->steps);
    PAWL_ASSERT(!draw_workflow(*workflow, 60).empty());
    const auto added = parse_added_steps(Json::parse(R"([{"run":"true"}])"), *workflow, workflow->steps, 0);
    PAWL_ASSERT(added ? added->front().layer > workflow->steps.front().layer : !added.error().message.empty());
    return 0;
  }
  PAWL_ASSERT(!workflow.error().empty() && workflow.error().size() <= 100);
  for (const WorkflowFault& fault : workflow.error()) {
    PAWL_ASSERT(!fault.error.message.empty() && fault.place.line <= lines + 1);
  }
  return 0;
}
