#include "machine/results.hpp"

namespace pawl::machine {

Result<Json> output_in(std::span<const Record> records, std::uint64_t number) {
  if (number == 0 || number > records.size()) return fail(Code::output_lost, "record {} is missing", number);
  const auto* settled = std::get_if<recorded::StepSettled>(&records[number - 1].fact);
  if (settled == nullptr) return fail(Code::output_lost, "record {} does not contain an output", number);
  if (settled->output_of != 0 && settled->output_of < number) return output_in(records, settled->output_of);
  return settled->output;
}

Json results_of(const Node& map, std::span<const Record> records) {
  if (!map.record.map) return Json::array();
  std::map<std::uint64_t, Json> results;
  for (const Record& record : records) {
    const auto* item = std::get_if<recorded::ItemEnded>(&record.fact);
    if (item == nullptr || item->path != map.path || !map.record.map->done.contains(item->index)) continue;
    Json output = item->output == nullptr ? Json() : *item->output;
    if (item->output_of != 0) output = output_in(records, item->output_of).value_or(Json());
    results[item->index] = {{"index", item->index},
                            {"item", item->item == nullptr ? Json() : *item->item},
                            {"status", item->failed ? "failed" : "completed"},
                            {"output", std::move(output)},
                            {"error", item->failed ? Json(item->error) : Json()}};
  }
  Json out = Json::array();
  for (auto& [index, result] : results) out.push_back(std::move(result));
  return out;
}

}  // namespace pawl::machine
