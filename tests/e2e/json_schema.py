"""A validator for the part of JSON Schema that schemas/ uses."""

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def _has_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def faults(value, schema, path="$"):
    """Returns the errors in `value`, one line each."""
    for key in ("anyOf", "oneOf"):
        if key in schema:
            found = [faults(value, form, path) for form in schema[key]]
            if [] in found:
                return []
            return [f"{path} fits none of {len(found)} forms"] + min(found, key=len)
    types = schema.get("type")
    if types is not None and not any(_has_type(value, t) for t in ([types] if isinstance(types, str) else types)):
        return [f"{path} is {value!r}, not {types}"]
    out = []
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        out += [f"{path}.{name} is missing" for name in schema.get("required", []) if name not in value]
        for name, member in value.items():
            extra = schema.get("additionalProperties", True)
            if name in properties:
                out += faults(member, properties[name], f"{path}.{name}")
            elif extra is False:
                out.append(f"{path}.{name} is not in the schema")
            elif isinstance(extra, dict):
                out += faults(member, extra, f"{path}.{name}")
    if isinstance(value, list) and "items" in schema:
        for index, member in enumerate(value):
            out += faults(member, schema["items"], f"{path}[{index}]")
    return out
