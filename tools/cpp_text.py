"""Heuristics for C++ source text: strips comments and strings, and finds functions."""
import re
from typing import Iterator

_TOKEN = re.compile(
    r"""//[^\n]*
      | /\*.*?\*/
      | R"(?P<delimiter>[^()\s\\]*)\((?P<raw>.*?)\)(?P=delimiter)"
      | "(?P<plain>(?:\\.|[^"\\\n])*)"
      | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'
    """,
    re.DOTALL | re.VERBOSE)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_NOT_A_FUNCTION = re.compile(r"^\s*(?:\[\[\w+\]\]\s*)?(?:inline\s+)?(?:namespace|class|struct|union|enum|extern)\b")


def _blank(match: re.Match) -> str:
    text = match.group(0)
    kept = '""' if text[0] in 'R"' else "' '" if text[0] == "'" else ""
    return kept + re.sub(r"[^\n]", "", text)


def code_only(text: str) -> str:
    """Removes comments and empties literals. Line numbers stay the same."""
    return _TOKEN.sub(_blank, text)


def strings(text: str) -> list[tuple[int, str]]:
    """Returns (line, content) of each string literal outside of comments; adjacent ones are joined."""
    found: list[tuple[int, str]] = []
    end = -1  # of the previous literal
    for match in _TOKEN.finditer(text):
        content = match["raw"] if match["raw"] is not None else match["plain"]
        if content is None:
            continue
        if found and not text[end:match.start()].strip():
            found[-1] = (found[-1][0], found[-1][1] + content)
        else:
            found.append((text.count("\n", 0, match.start()) + 1, content))
        end = match.end()
    return found


def functions(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields (line, number of lines, signature) of each function in a namespace or class."""
    code = _DIRECTIVE.sub(lambda m: re.sub(r"[^\n]", "", m.group(0)), code_only(text))
    head_start, line = 0, 1
    function_depth = 0  # braces inside the current function
    function_line, function_head = 0, ""
    for position, char in enumerate(code):
        if char == "\n":
            line += 1
        elif char == "{":
            head = code[head_start:position]
            if function_depth:
                function_depth += 1
            elif ")" in head and not _NOT_A_FUNCTION.match(re.sub(r"^.*?template\s*<[^{]*>\s*", "", head)):
                function_depth, function_head = 1, " ".join(head.split())
                function_line = line - head.lstrip().count("\n")
            head_start = position + 1
        elif char == "}":
            if function_depth:
                function_depth -= 1
                if not function_depth:
                    yield function_line, line - function_line + 1, function_head
            head_start = position + 1
        elif char == ";" and not function_depth:
            head_start = position + 1
