"""Documentation/Functions.md, followed from top to bottom by a shell.

Each section with commands gets a service. Blocks that name a file are files of the reader, those of `sh` are run, and
what is below them is compared. Other blocks of JavaScript are loaded, since they must register what they show.
"""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

from by_hand_node import node
from service import until
from setting import PATIENCE, REPOSITORY, FunctionService, expect, free_address

PAGE = REPOSITORY / "Documentation/Functions.md"
PYTHON = "## A first function in Python"


class Block:
    def __init__(self, line: int, words: list[str], text: str):
        self.line = line
        self.language, *rest = words or [""]
        #: The file that it shows; None for a command, an output or a fragment.
        self.file = rest[0] if rest else None
        self.text = text


def sections() -> dict[str, list[Block]]:
    """The fenced blocks by the headings of their sections."""
    found: dict[str, list[Block]] = {}
    heading, opened = "", None
    for number, line in enumerate(PAGE.read_text().splitlines(), 1):
        if opened is not None:
            if line == "```":
                found[heading].append(opened)
                opened = None
            else:
                opened.text += line + "\n"
        elif line.startswith("## "):
            heading = line
            found[heading] = []
        elif line.startswith("```"):
            opened = Block(number, line[3:].split(), "")
    return found


def run(binary: Path):
    replayed = 0
    for heading, blocks in sections().items():
        check_fragments(blocks)
        if heading != PYTHON and any(block.language == "sh" for block in blocks):
            replay(binary, blocks)
            replayed += 1
    expect("the sections that are replayed", replayed, 3)


def run_skygear(binary: Path):
    replay(binary, sections()[PYTHON])


def check_fragments(blocks: list[Block]):
    """What is shown without a file is loaded by itself."""
    for block in blocks:
        if block.language != "js" or block.file:
            continue
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory, "fragment.mjs")
            file.write_text(block.text)
            with node(free_address(), file).await_ready() as server:
                kinds = ["op", "hook", "handler", "timer", "event", "provider"]
                assert any(server.registration[kind] for kind in kinds), f"line {block.line} registers nothing"


def replay(binary: Path, blocks: list[Block]):
    with FunctionService(binary) as service:
        reader = Reader(service)
        for block, following in zip(blocks, [*blocks[1:], Block(0, [], "")]):
            if block.file:
                reader.write(block)
            elif block.language == "sh":
                shown = following if following.language in ("json", "text") and not following.file else None
                reader.follow(block, shown)


class Reader:
    """Somebody who makes the files of the page, and runs its commands."""

    def __init__(self, service: FunctionService):
        self.service = service
        self.names: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        #: Whether a file has changed since the last command.
        self.is_changed = False

    def write(self, block: Block):
        is_client = block.file.startswith("client.")
        directory = self.service.directory if is_client else self.service.functions
        Path(directory, block.file).write_text(block.text)
        self.is_changed = not is_client and not block.file.endswith(".sql")

    def follow(self, block: Block, shown: Block | None):
        if not self.service.is_running:
            self.start()
        script = self.filled(block.text)
        if shown is None:
            for name, value in re.findall(r"^([A-Z_]+)='(.*)'$", script, re.M):
                assert "<" not in value, f"line {block.line}: {value} was not shown before"
                self.variables[name] = value
            return
        differences: list[str] = []

        def is_shown() -> bool:
            nonlocal differences
            output = self.shell(script)
            differences = self.differences(output, shown)
            # A service that reloads, or hears of a new function, needs a moment.
            return not differences or not self.is_changed and "UndefinedOperation" not in output

        try:
            until(PATIENCE, "a change of the functions", is_shown)
        except TimeoutError:
            pass
        assert not differences, f"line {block.line}: {differences}"
        self.is_changed = False

    def start(self):
        service = self.service
        service.start()
        if any(service.functions.iterdir()):
            service.await_ready()
        programs = service.directory / "bin"
        programs.mkdir()
        tool = programs / "skyrow"
        tool.write_text(f'#!/bin/sh\nshift\nexec {service.binary} psql --data-directory {service.data} -X "$@"\n')
        tool.chmod(0o755)
        self.environment = os.environ | {
            "PATH": f"{programs}:{os.environ['PATH']}", "SKYROW_API_KEY": service.api_key,
            "SKYROW_MASTER_KEY": service.master_key}

    def filled(self, text: str) -> str:
        text = text.replace("http://127.0.0.1:3000", f"http://127.0.0.1:{self.service.port}")
        for name, value in self.names.items():
            text = text.replace(f"<{name}>", value)
        return text

    def shell(self, script: str) -> str:
        result = subprocess.run(
            ["bash", "-c", script], env=self.environment | self.variables, cwd=self.service.directory, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
        return result.stdout + ("" if result.returncode == 0 else f"\nstatus {result.returncode}: {result.stderr}")

    def differences(self, output: str, shown: Block) -> list[str]:
        if shown.language == "text":
            def lines(text: str) -> list[str]:
                return [line.rstrip() for line in text.strip().splitlines()]
            return [] if lines(output) == lines(shown.text) else [f"it prints {output}"]
        try:
            found = json.loads(output)
        except ValueError:
            return [f"it prints {output}"]
        names: dict[str, str] = {}
        differences = list(self.compare(found, json.loads(shown.text), "$", names))
        if not differences:
            self.names |= names
        return differences

    def compare(self, found, shown, path: str, names: dict):
        """Differences of two values; `<any>` stands for any value, `<name>` for the same one everywhere."""
        if isinstance(shown, str) and (match := re.fullmatch(r"<([a-z-]+)>", shown)):
            known = (self.names | names).get(match[1])
            if match[1] == "any" or known is None:
                if match[1] != "any":
                    names[match[1]] = found
            elif known != found:
                yield f"{path}: {found!r} instead of {known!r}"
        elif isinstance(shown, dict) and isinstance(found, dict):
            for name in [name for name in shown if name != "…"]:
                if name in found:
                    yield from self.compare(found[name], shown[name], f"{path}.{name}", names)
                else:
                    yield f"{path}.{name} is missing"
            for name in found.keys() - shown.keys():
                if not ("…" in shown and name.startswith("_")):
                    yield f"{path}.{name}: {found[name]!r} is not shown"
        elif isinstance(shown, list) and isinstance(found, list) and len(shown) == len(found):
            for index, (one, other) in enumerate(zip(found, shown)):
                yield from self.compare(one, other, f"{path}[{index}]", names)
        elif found != shown:
            yield f"{path}: {found!r} instead of {shown!r}"
