"""Thirty varied workflows for workflow_torture.py: maps, loops and children in each other, gates, retries, `on_failure`,
`finally`, added steps and worktrees. Every one of them ends with a file of all outputs, whatever interrupted it."""
import json

# A step: logs its start, reports a cost, naps, and prints its argument. FAILS: the number of attempts that fail first.
# DEAF: exits with 0 when it is told to stop, which must not count as completed.
SCRIPT = """#!/bin/sh
me="$PAWL_RUN/$PAWL_STEP $PAWL_IDEMPOTENCY_KEY"
[ -z "$DEAF" ] || trap 'exit 0' TERM
echo "start $me" >> "$LOG"
echo '{"tokens": 1}' >> "$PAWL_RESULT"
echo "cost $me" >> "$LOG"
[ -z "$NAP" ] || sleep "$NAP"
[ "$PAWL_ATTEMPT" -gt "${FAILS:-0}" ] || exit 7
[ -z "$FILE" ] || echo "$1" > "$FILE"
echo "end $me" >> "$LOG"
printf '%s\\n' "$1"
"""
ADDED = """#!/bin/sh
"$TOP/step.sh" "$1"
printf '{"add_steps": [%s]}\\n' "$2" >> "$PAWL_RESULT"
"""


def step(name, value="$PAWL_STEP", nap=0.01, fails=0, file="", deaf=False, **keys):
    env = {"NAP": str(nap) if nap else "", "FAILS": str(fails), "FILE": file, "DEAF": "1" if deaf else ""}
    made = {"id": name, "run": f'"$TOP/step.sh" "{value}"', "capture": {"format": "text"}, "env": {key: text for key, text in env.items() if text}}
    if fails:
        made["retry"] = {"attempts": fails + 1, "backoff": "3ms"}
    return {**made, **keys}


def some(count, prefix="s", **keys):
    return [step(f"{prefix}{number}", **keys) for number in range(count)]


def each(name, items, steps, parallel=2, **keys):
    how = {key: keys.pop(key) for key in ("on_item_failure", "max_failures") if key in keys}
    return {"id": name, "map": {"items": items, "parallel": parallel, **how}, "steps": steps, **keys}


def loop(name, count, steps, until=None, **keys):
    return {"id": name, "loop": {"max": count, **({"until": until} if until else {})}, "steps": steps, **keys}


def gate(name="g", **keys):
    return {"id": name, "approve": "Go on?", **keys}


def child(name, file, value="x", **keys):
    return {"id": name, "workflow": file, "with": {"value": value}, **keys}


def child_file(steps, output):
    return {"vars": {"value": None}, "steps": steps, "outputs": {"result": f"${{steps.{output}.output}}"}}


def failing(name, **keys):
    """A step that always fails."""
    return {**step(name), "run": '"$TOP/step.sh" x > "/dev/null"; exit 3', "capture": {"as": f"of_{name.replace('-', '_')}"}, **keys}


def added(*names):
    steps = ", ".join(json.dumps(step(name, nap=0)) for name in names)
    return {"id": "plan", "run": '"$TOP/added.sh" planned "$STEPS"', "capture": {"format": "text"}, "env": {"STEPS": steps}}


CHILDREN = {
    "plain.yaml": child_file([step("a", "${vars.value}"), *some(2), step("z", "${steps.a.output} done")], "z"),
    "mapped.yaml": child_file([step("a", "${vars.value}"), each("m", [0, 1, 2], [step("t", "${item} ${steps.a.output}"), step("u")]), step("z", "all of ${vars.value}")], "z"),
    "deep.yaml": child_file([step("a"), child("c", "mapped.yaml", "${vars.value}-"), step("z", "${steps.c.output.result}")], "z"),
    "asking.yaml": child_file([step("a"), gate(), step("z", "${vars.value} approved")], "z"),
}

PAIR = [step("one", "${item}"), step("two", "${steps.one.output} again")]


def listed():
    """Returns (name, steps or stages) of each workflow."""
    yield "sequence", some(10) + [step("last", deaf=True)]
    yield "diamonds", [step("a"), *[step(f"l{n}", needs=["a"] if n == 0 else [f"l{n - 1}"]) for n in range(4)],
                       *[step(f"r{n}", needs=["a"] if n == 0 else [f"r{n - 1}", f"l{n - 1}"], deaf=n == 1) for n in range(4)], step("b", needs=["l3", "r3"])]
    yield "map", [step("a"), {**each("m", list(range(8)), PAIR, parallel=3), "reduce": step("reduce", "${map.succeeded} of ${map.total}")}, step("b")]
    yield "loop", [step("a"), loop("l", 6, [step("x"), step("y", "${loop.iteration}", deaf=True)], until="loop.iteration >= 4"), step("b")]
    yield "map-map", [step("a"), each("m", [0, 1, 2], [step("p"), each("n", ["x", "y", "z"], PAIR), step("q")]), step("b")]
    yield "map-loop", [each("m", [0, 1, 2, 3], [step("p"), loop("l", 3, [step("x", "${item} ${loop.iteration}"), step("y", nap=0)]), step("q")]), step("b")]
    yield "loop-map", [loop("l", 3, [step("p"), each("m", [0, 1, 2, 3], PAIR, parallel=3), step("q")]), step("b")]
    yield "map-loop-loop", [each("m", [0, 1], [loop("l", 2, [step("p"), loop("k", 2, [step("x"), step("y")])]), step("q")]), step("b")]
    yield "map-map-map", [each("m", [0, 1], [each("n", [0, 1], [step("p"), each("o", [0, 1, 2], [step("x", "${item}")])]), step("q")]), step("b")]
    yield "child", [step("a"), child("c", "plain.yaml", "${steps.a.output}"), step("b", "${steps.c.output.result}")]
    yield "child-map", [step("a"), child("c", "mapped.yaml"), step("b", "${steps.c.output.result}", deaf=True)]
    yield "map-child", [step("a"), each("m", [0, 1, 2], [step("p"), child("c", "plain.yaml", "${item}")]), step("b")]
    yield "loop-child", [loop("l", 3, [child("c", "plain.yaml", "${loop.iteration}"), step("x")]), step("b")]
    yield "child-child", [step("a"), child("c", "deep.yaml", "deep"), step("b", "${steps.c.output.result}")]
    yield "gates", [each("m", [0, 1, 2], PAIR), gate(), step("b"), gate("h"), step("c")]
    yield "loop-gate", [loop("l", 3, [step("x"), gate(), step("y", deaf=True)]), step("b")]
    yield "map-gate", [each("m", [0, 1, 2], [step("x"), gate(), step("y")], parallel=3), step("b")]
    yield "retries", [step("a", fails=2), step("b"), step("c", fails=1, nap=0), step("d", needs=["a"], fails=2), step("e", needs=["c", "d"])]
    yield "loop-map-retry", [loop("l", 2, [each("m", [0, 1, 2], [step("x", fails=1), step("y")]), step("z", fails=1)]), step("b")]
    yield "rescue", [step("a"), failing("f", on_failure=[*some(2, "t"), step("mend")], rescue=True), step("b"), failing("g", on_failure=some(2, "u"), rescue=True), step("c")]
    yield "map-rescue", [each("m", [0, 1, 2], [step("p"), failing("f", on_failure=[loop("l", 2, [step("t")])], rescue=True), step("q")]), step("b")]
    yield "errors", [failing("f", continue_on_error=True), step("a", when="steps.f.status == 'failed'"), failing("g", continue_on_error=True), step("s", when="false"), step("b", when="always()")]
    yield "dead-letters", [step("a"), each("m", list(range(6)), [step("x"), {**step("y", "${item}"), "run": '"$TOP/step.sh" "${item}"; [ ${item} != 2 ] && [ ${item} != 5 ]'}, step("z")], on_item_failure="dlq"), step("b")]
    yield "added", [step("a"), added("x", "y"), step("b"), step("c")]
    yield "added-map", [added("x", "y", "z"), each("m", [0, 1, 2], PAIR), step("b", deaf=True)]
    yield "worktrees", [step("a"), each("m", [0, 1, 2], [step("x", "${item}", file="x-${item}"), step("y", "${item}", file="y-${item}")], isolate="worktree"), step("b")]
    yield "worktree-loops", [each("m", [0, 1, 2], [step("x", file="x-${item}"), loop("l", 2, [step("y", "${loop.iteration}", file="y-${item}-${loop.iteration}")])], isolate="worktree"), step("b")]
    yield "waits", [step("a"), {"id": "nap", "sleep": "60ms"}, {"id": "w", "wait_for": "release"}, step("b"), {"id": "nap2", "sleep": "30ms", "needs": []}, step("c")]
    yield "stages", [{"id": "one", "type": "parallel", "steps": some(4)}, {"id": "meet", "type": "barrier"}, {"id": "two", "steps": [each("m", [0, 1, 2], PAIR), step("t")]},
                     {"id": "three", "type": "parallel", "steps": [loop("l", 2, [step("x")]), step("u", needs=[])]}]
    yield "everything", [step("a", fails=1), each("m", [0, 1], [loop("l", 2, [each("n", [0, 1], [step("x", fails=1), step("y")]), step("z", deaf=True)]), child("c", "plain.yaml", "${item}")]),
                         gate(), child("k", "asking.yaml", "kid"), failing("f", on_failure=some(2, "t"), rescue=True), step("b")]


def outputs_of(steps):
    """Returns the steps whose outputs are the same in every run."""
    return [one["id"] for one in steps if not {"when", "approve", "sleep", "wait_for"} & set(one)]


def workflow(number, has_finally):
    """Returns (name, the workflow as a JSON value). JSON is YAML."""
    name, steps = list(listed())[number]
    made = {"name": name, "grace": "2s", "parallel": 4}
    if name == "stages":
        made["stages"] = steps
        steps = [inner for stage in steps for inner in stage.get("steps", [])]
    else:
        made["steps"] = steps
    lines = " ".join(f'"${{steps.{one}.output}}"' for one in outputs_of(steps))
    last = {"id": "final", "run": f"printf '%s\\n' {lines} > \"$OUT.new\"; mv \"$OUT.new\" \"$OUT\"; \"$TOP/step.sh\" final"}
    if name == "waits":
        last["needs"] = ["b", "c"]
    if name == "stages":
        made["stages"].append({"id": "end", "steps": [last]})
    else:
        made["steps"] = [*steps, last]
    if has_finally and number % 3 != 1:
        made["finally"] = [step("f1"), step("f2", fails=1)]
    return name, made


def predecessors(value, found=None):
    """Returns, by the id of a step that follows another one in its list, the ids of the steps before it. Ids that occur
    in several lists with different predecessors are left out."""
    found = {} if found is None else found
    if isinstance(value, dict):
        if value.get("type") == "parallel":
            return predecessors([{**one, "needs": one.get("needs", [])} for one in value["steps"]], found)
        for part in value.values():
            predecessors(part, found)
    elif isinstance(value, list):
        if value and all(isinstance(part, dict) and "id" in part for part in value):
            before = None
            for part in value:
                needs = part.get("needs", [before] if before else [])
                found.setdefault(part["id"], set()).add(tuple(needs))
                before = part["id"]
        for part in value:
            predecessors(part, found)
    return found
