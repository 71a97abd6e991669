#!/usr/bin/env python3
"""Lets programs that others wrote judge what `mce` sends. See README.md.

usage: run.py --mce BINARY [--judge autorest|spector|prism]... [--openapi 3.0.0|3.1.0|3.2.0] [--tools DIR] [-v]

A line for each key that failed without an explanation (-v: for all), then the count of each judge. Exit status 1 if there was one, 2 if a
judge could not be installed or started.
"""
import argparse
import re
import sys
import time
from pathlib import Path

import autorest_judge
import prism_judge
import spector_judge
import tools
from mce import Mce

JUDGES = {"autorest": autorest_judge, "spector": spector_judge, "prism": prism_judge}
ROOT = Path(__file__).resolve().parents[2]


def explanation(judge, key):
    return next((reason for pattern, reason in judge.EXPLAINED.items() if re.fullmatch(pattern, key)), None)


def run(name, options):
    """Judges, tells what failed, and gives how many keys failed without an explanation."""
    judge, started = JUDGES[name], time.monotonic()
    version = [options.openapi] if name == "spector" else []
    verdicts = judge.run(Mce(options.mce), options.tools / f"judge-{name}", *version)
    failed = [v for v in verdicts if not v.is_passed]
    unexplained = 0
    for verdict in failed:
        reason = explanation(judge, verdict.key)
        unexplained += reason is None
        if reason is None or options.verbose:
            print(f"{'explained' if reason else 'FAIL'} {verdict.key}: {reason or verdict.mark}", *verdict.notes, sep="\n    ")
    seconds = time.monotonic() - started
    title = f"{name} {options.openapi}" if version else name
    print(f"{title}: {len(verdicts) - len(failed)} of {len(verdicts)} passed, {len(failed) - unexplained} explained, {unexplained} failed ({seconds:.0f} s)")
    return unexplained


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--mce", required=True)
    parser.add_argument("--judge", choices=JUDGES, action="append")
    parser.add_argument("--openapi", choices=("3.0.0", "3.1.0", "3.2.0"), default="3.1.0")
    parser.add_argument("--tools", type=Path, default=ROOT / "target/test-tools")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    try:
        failures = [run(name, options) for name in options.judge or JUDGES]
    except tools.ToolError as error:
        print(f"NOT RUN: {error}", file=sys.stderr)
        return 2
    return 1 if any(failures) else 0


if __name__ == "__main__":
    sys.exit(main())
