#!/usr/bin/env python3
"""Lets `mce compile` and four programs that others wrote read the same documents, and prints a table in Markdown. Linux.

usage: run.py --mce PATH [--corpus DIR] [--tools DIR] [--tool NAME]... [--document NAME]... [--limit SECONDS]

The others are installed once, in exact versions, into `--tools` (target/bench-peers); that needs PyPI with python3-venv, and
npm with node 20. Each reading is a process of its own. CPU seconds are less sensitive to other load than wall seconds.
"""
import argparse
import os
import sys
import tempfile
from pathlib import Path

import measure
import tools

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# With the number of their operations.
DOCUMENTS = {
    "pb33f-petstorev3.json": 19,
    "box.json": 296,
    "apisguru-stripe.com.json": 452,
    "apisguru-kubernetes.io.json": 845,
    "apisguru-amazonaws.com__ec2.json": 1188,
    "github-api.json": 1223,
    "apisguru-microsoft.com__graph.json": 11422,
}
HEADER = "| document | program | wall s | CPU s | peak MiB | operations | output | |"


def shown_bytes(count):
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.0f} KB"


def read(tool, document, limit_s):
    """One row: what a program made of a document, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="bench-peers-") as folder:
        folder = Path(folder)
        done = measure.run(tool.command(document, folder), folder, limit_s)
        cost = f"{done.wall_s:.2f} | {done.cpu_s:.2f} | {done.peak_mib:.0f}"
        if done.stopped or done.status:
            return f"{cost} | none | | {done.stopped or 'fails: ' + tools.reason(folder)}"
        result = tool.result(folder)
        operations = "types only" if result.operations is None else f"{result.operations:,} of {DOCUMENTS[document.name]:,}"
        return f"{cost} | {operations} | {shown_bytes(result.size)} | {result.note}"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--mce", required=True, type=Path)
    parser.add_argument("--corpus", type=Path, default=Path(os.environ.get("MCE_TEST_CORPUS", ROOT.parent / "shared/corpus")))
    parser.add_argument("--tools", type=Path, default=ROOT / "target/bench-peers")
    parser.add_argument("--tool", action="append", choices=tools.NAMES)
    parser.add_argument("--document", action="append", choices=DOCUMENTS)
    parser.add_argument("--limit", type=int, default=300, help="seconds of CPU time for each reading")
    options = parser.parse_args()
    chosen = [tools.make(name, options.mce.resolve(), options.tools.resolve()) for name in options.tool or tools.NAMES]
    print(HEADER, "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |", sep="\n", flush=True)
    for name in options.document or DOCUMENTS:
        document = options.corpus.resolve() / "specs" / name
        for tool in chosen:
            print(f"| {name} | {tool.title} | {read(tool, document, options.limit)} |", flush=True)
    print(f"load at the end: {os.getloadavg()[0]:.1f}", file=sys.stderr)


main()
