#!/usr/bin/env python3
"""Lets programs that others wrote judge what `mce` sends.

usage: run.py --mce BINARY [--judge autorest|spector|prism] [--tools DIR] [--version 3.0.0|3.1.0|3.2.0] [--json OUT] [-v]
"""
import argparse
import json
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mce", required=True)
    parser.add_argument("--judge", choices=JUDGES, action="append")
    parser.add_argument("--tools", type=Path, default=ROOT / "target/test-tools")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    for name in options.judge or JUDGES:
        started = time.monotonic()
        verdicts = JUDGES[name].run(Mce(options.mce), options.tools / name)
        for verdict in verdicts:
            if not verdict.is_passed:
                print(f"FAIL {verdict.key} ({verdict.mark}):", *verdict.notes, sep="\n    ")
        print(f"{name}: {sum(v.is_passed for v in verdicts)} of {len(verdicts)}, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
