#!/usr/bin/env python3
"""Plays the tasks of `tasks.py` against the binary under each surface, checks what comes out, and prints tables of what they cost.

usage: run.py --mce PATH [--servers DIR] [--corpus DIR] [--catalog NAME] [--task WORDS] [--json FILE] [--crossover]

DIR of `--servers` is what `scripts/install-mcp-servers` installs (target/test-mcp), that of `--corpus` has other people's documents
(MCE_TEST_CORPUS). `--crossover` plays one task of one call with more and more servers instead. Nothing about time is asserted; a wrong value ends the program.
"""
import argparse
import ast
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import api
import catalogs
from conversation import shown
from count import Counter, compact
from lines import Lines
from surfaces import PREDECESSOR_TOKENS, SURFACES, Names, Ranking
from tables import print_tables
from tasks import FILES, REPOSITORY, TASKS


class Catalog:
    """One of the three, compiled, with a server for each surface."""

    def __init__(self, name, mce, folder, servers, specs, count):
        self.name, self.mce, self.folder, self.count = name, mce, folder, count
        self.running, self.misses, self.counted = {}, [], {}
        folder.mkdir()
        catalogs.lay_out(folder)
        self.answers = api.Answers(specs)
        entries = catalogs.configuration(name, folder, servers, specs, api.serve(self.answers))
        # What a tool does is decided by the task, not asked about.
        policies = [{"function": "*", "decide": "allow"}]
        (folder / "mce.yaml").write_text(json.dumps({"discover": False, "servers": entries, "policies": policies}))
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "MCE_DATA_DIR": str(folder / "data")}
        self.run("compile")
        functions = json.loads(self.run("functions", "--json"))
        self.direct_tools = self.tools("direct")
        self.names = Names(functions, self.direct_tools)
        self.ranking = Ranking(self.direct_tools)

    def run(self, *args):
        done = subprocess.run([self.mce, *args], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"mce {' '.join(args)}: {done.stdout[-2000:]} {done.stderr[-2000:]}")
        return done.stdout

    def server(self, surface):
        if surface not in self.running:
            self.running[surface] = Lines([self.mce, "serve", "--surface", surface], cwd=self.folder, env=self.environment)
        return self.running[surface]

    def tools(self, surface):
        tools, cursor = [], None
        while True:
            page = self.server(surface).request("tools/list", {"cursor": cursor} if cursor else {})
            tools += page["tools"]
            cursor = page.get("nextCursor")
            if not cursor:
                return tools

    def fixed(self, surface):
        """What a model reads each turn before anything was said."""
        if surface not in self.counted:
            self.counted[surface] = self.count(shown(self.tools(surface))) + self.count(self.server(surface).greeting.get("instructions", ""))
        return self.counted[surface]

    def listing(self):
        """All functions of all servers with what they are for, as the predecessor's `list_servers` has them."""
        about = {tool["name"]: tool.get("description", "").split("\n")[0] for tool in self.direct_tools}
        servers = {}
        for name in self.names.functions:
            server, function = name.split(".", 1)
            servers.setdefault(server, []).append(f"{function},{about[self.names.direct[name]]}")
        return "\n".join(f"{server} functions[{len(lines)}]{{name,summary}}:\n" + "\n".join(lines) for server, lines in servers.items())

    def picked(self):
        """What `auto` takes."""
        return "code, Python" if self.tools("auto")[0]["name"] == "list_servers" else "direct"

    def close(self):
        for server in self.running.values():
            server.close()


def play(catalog, task, surface):
    if task.is_write:
        catalogs.lay_out(catalog.folder)
    conversation, value = SURFACES[surface](catalog, task)
    if isinstance(value, str) and not isinstance(task.expected, str):
        value = ast.literal_eval(value)
    if value != task.expected:
        raise SystemExit(f"{task.name}, {surface}: {compact(value)[:1000]} instead of {compact(task.expected)}")
    conversation.speak(compact(task.expected))
    return {"task": task.name, "kind": task.kind, "catalog": task.catalog, "surface": surface, "turns": conversation.turns, "input": conversation.input,
            "output": conversation.output, "total": conversation.total, "cached": round(conversation.total_cached), "ms": round(conversation.seconds * 1000)}


def placed(task, folder):
    """The task with the catalog's folders in its texts."""

    def put(value):
        if isinstance(value, str):
            return value.replace(FILES, str(folder / "files")).replace(REPOSITORY, str(folder / "repository"))
        if isinstance(value, (list, tuple)):
            return type(value)(put(item) for item in value)
        if isinstance(value, dict):
            return {key: put(item) for key, item in value.items()}
        return value

    def steps():
        walk, answers = task.steps(), None
        while True:
            try:
                answers = yield put(walk.send(answers))
            except StopIteration as end:
                return end.value

    return type(task)(**{**vars(task), "ask": put(task.ask), "python": put(task.python), "typescript": put(task.typescript), "steps": steps})


@contextlib.contextmanager
def work_folder():
    """Has the same name each time, since names are in what is counted."""
    folder = Path(tempfile.gettempdir()) / "mce-tokens"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def crossover(options, folder, count):
    """What one call costs with more and more servers, and what `auto` takes."""
    task = next(task for task in TASKS if task.name == "number of orders")
    print("| servers | functions | tools of direct | of code | direct | code, Python | direct, cached | code, cached | auto takes |\n| --- |" + " ---: |" * 7 + " --- |")
    for servers in catalogs.GROWING:
        catalog = Catalog("+".join(servers), os.path.abspath(options.mce), folder / "-".join(servers), options.servers.resolve(), options.corpus.resolve() / "specs", count)
        direct, code = play(catalog, task, "direct"), play(catalog, task, "code, Python")
        cells = [", ".join(servers), len(catalog.names.functions), *(catalog.fixed(surface) for surface in ("direct", "code")), direct["total"], code["total"], direct["cached"], code["cached"]]
        print("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + f" | {catalog.picked()} |", flush=True)
        catalog.close()
    count.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = HERE.parent.parent
    parser.add_argument("--mce", required=True)
    parser.add_argument("--servers", type=Path, default=root / "target/test-mcp")
    parser.add_argument("--corpus", type=Path, default=Path(os.environ.get("MCE_TEST_CORPUS", root.parent / "shared/corpus")))
    parser.add_argument("--catalog", choices=catalogs.NAMES)
    parser.add_argument("--task", default="")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--crossover", action="store_true")
    options = parser.parse_args()
    rows, facts = [], []
    with work_folder() as folder:
        count = Counter(folder / "counter")
        if options.crossover:
            return crossover(options, folder, count)
        for name in catalogs.NAMES if options.catalog is None else [options.catalog]:
            catalog = Catalog(name, os.path.abspath(options.mce), folder / name.replace(",", ""), options.servers.resolve(), options.corpus.resolve() / "specs", count)
            picked = catalog.picked()
            fixed = {surface: catalog.fixed(surface) for surface in ("direct", "search", "code-executor", "code")} | {"MCE before": PREDECESSOR_TOKENS}
            facts.append({"catalog": name, "functions": len(catalog.names.functions), "fixed": fixed, "auto": picked})
            for task in (placed(task, catalog.folder) for task in TASKS if task.catalog == name and options.task in task.name):
                results = {surface: play(catalog, task, surface) for surface in SURFACES}
                rows += [*results.values(), {**results[picked], "surface": "auto"}]
                print(f"{name}: {task.name}", file=sys.stderr)
            facts[-1]["misses"] = sorted(set(catalog.misses))
            catalog.close()
        count.close()
    if options.json:
        options.json.write_text(json.dumps({"facts": facts, "rows": rows}, indent=1))
    print_tables(facts, rows)


if __name__ == "__main__":
    main()
