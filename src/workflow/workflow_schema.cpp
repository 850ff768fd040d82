#include "base/json.hpp"
#include "workflow/language.hpp"
#include "workflow/parse_workflow.hpp"

namespace pawl {
namespace {

Json object_schema(const LanguageObject& object) {
  Json schema = {{"type", "object"}, {"description", object.text}, {"additionalProperties", false}};
  Json properties = Json::object();
  for (const LanguageKey& key : object.keys) {
    Json property = Json::parse(key.schema);
    property["description"] = key.text;
    properties[std::string(key.name)] = std::move(property);
  }
  schema["properties"] = std::move(properties);
  schema.update(Json::parse(object.also));
  return schema;
}

}  // namespace

std::string workflow_schema() {
  const auto objects = language_objects();
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Pawl workflow"}};
  schema.update(object_schema(*objects.front()));
  Json defs = Json::object();
  for (const LanguageObject* object : objects.subspan(1)) defs[std::string(object->name)] = object_schema(*object);
  schema["$defs"] = std::move(defs);
  return schema.dump(2) + "\n";
}

}  // namespace pawl
