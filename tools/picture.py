#!/usr/bin/env python3
"""Records the picture of the README: a workflow is killed with kill -9 and resumed, in a real terminal.

    tools/picture.py PAWL docs/crash-and-resume.svg

Runs the commands in tmux at 80 columns and writes what the terminal shows as SVG. Needs tmux.
"""
import argparse
import html
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COLUMNS, ROWS = 80, 26
CHARACTER_WIDTH, LINE_HEIGHT, MARGIN = 8.4, 19, 16
COLOURS = {30: "#6e7781", 31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#76e3ea",
           37: "#e6edf3", 90: "#8b949e"}
WORKFLOW = """name: book
steps:
  - id: plan
    run: sleep 0.6; seq 101 124
    capture: { format: lines }
  - id: pages
    map: { items: "${steps.plan.output}", parallel: 4 }
    steps:
      - { id: write, run: "sleep 0.5; echo page ${item} >> pages.txt" }
  - id: bind
    run: sleep 0.5; sort pages.txt > book.txt
"""


class Terminal:
    def __init__(self, folder: str, environment: dict[str, str]):
        self.socket = f"pawl-picture-{os.getpid()}"
        self.tmux("-f", os.devnull, "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-c", folder,
                  "bash", "--norc", "--noprofile", environment=environment)
        self.type("PS1='$ '; clear", wait_s=0.5)

    def tmux(self, *arguments: str, environment: dict[str, str] | None = None) -> str:
        return subprocess.run(["tmux", "-L", self.socket, *arguments], env=environment, check=True, text=True,
                              capture_output=True).stdout

    def type(self, line: str, wait_s: float) -> None:
        self.tmux("send-keys", "-l", line)
        self.tmux("send-keys", "Enter")
        time.sleep(wait_s)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-e", "-p")

    def close(self) -> None:
        self.tmux("kill-server")


def spans(line: str) -> list[tuple[str, str]]:
    """Splits a line with colour codes into (style, text)."""
    found, style = [], {"fill": COLOURS[37]}
    for code, text in re.findall(r"(?:\x1b\[([\d;]*)m)?([^\x1b]*)", line):
        for number in (int(n or 0) for n in code.split(";")) if code or text == "" else ():
            if number == 0:
                style = {"fill": COLOURS[37]}
            elif number == 1:
                style["font-weight"] = "bold"
            elif number == 2:
                style["fill"] = COLOURS[90]
            elif number == 39:
                style["fill"] = COLOURS[37]
            elif number in COLOURS:
                style["fill"] = COLOURS[number]
        if text:
            found.append((" ".join(f'{key}="{value}"' for key, value in style.items()), text))
    return found


def to_svg(screen: str) -> str:
    lines = screen.rstrip().split("\n")
    width, height = COLUMNS * CHARACTER_WIDTH + 2 * MARGIN, len(lines) * LINE_HEIGHT + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" role="img" '
           'aria-label="A run is killed with kill -9 and resumed; finished steps are not repeated">',
           f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="#0d1117"/>',
           '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">']
    for row, line in enumerate(lines):
        column = 0
        for style, text in spans(line):
            x, y = MARGIN + column * CHARACTER_WIDTH, MARGIN + (row + 0.75) * LINE_HEIGHT
            if text.strip():
                out.append(f'<text x="{x:.1f}" y="{y:.1f}" textLength="{len(text) * CHARACTER_WIDTH:.1f}" {style}>'
                           f"{html.escape(text)}</text>")
            column += len(text)
    return "\n".join([*out, "</g>", "</svg>", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pawl", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "workflow.yaml").write_text(WORKFLOW)
        environment = dict(os.environ, PATH=f"{options.pawl.resolve().parent}:{os.environ['PATH']}", LANG="C.UTF-8",
                           TERM="xterm-256color")
        environment.pop("NO_COLOR", None)
        terminal = Terminal(folder, environment)
        try:
            terminal.type("(sleep 2.6; pkill -9 -x pawl -P $$) & pawl run --run-id book", wait_s=4)
            terminal.type("pawl resume book", wait_s=5)
            picture = to_svg(terminal.screen())
        finally:
            terminal.close()
    options.picture.write_text(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
