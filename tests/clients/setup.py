#!/usr/bin/env python3
"""`mce setup` as clients that others wrote read it: each has to list the entry that was put into its file.

usage: setup.py --mce PATH --clients DIR

DIR holds node_modules with @anthropic-ai/claude-code, @openai/codex and @google/gemini-cli. Nothing of a person is read: the home is
a folder of its own.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# What a client says of its entry: how it starts us, and, where it connects for that, that it could.
EXPECTED = {"claude-code": ("claude", "Connected"), "codex": ("codex", "enabled"), "gemini": ("gemini", "mce:")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mce", required=True)
    parser.add_argument("--clients", type=Path, required=True)
    options = parser.parse_args()
    mce, programs = os.path.abspath(options.mce), options.clients.resolve() / "node_modules/.bin"
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PATH": os.environ["PATH"], "HOME": folder}

        def run(*command):
            done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
            return done.stdout + done.stderr

        print(run(mce, "setup", *EXPECTED), end="")
        for client, (program, word) in EXPECTED.items():
            said = run(programs / program, "mcp", "list")
            is_listed = word in said and "serve --surface auto" in said
            failed += not is_listed
            print(f"{client} lists the entry: {'yes' if is_listed else 'NO: ' + said}")
        run(mce, "setup", *EXPECTED, "--uninstall")
        for client, (program, _) in EXPECTED.items():
            is_gone = "serve --surface auto" not in run(programs / program, "mcp", "list")
            failed += not is_gone
            print(f"{client} lists it no more: {'yes' if is_gone else 'NO'}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
