"""What others take for the same: a container for each program, one that is kept, and `deno run`. Used by `run.py`.

Docker is measured where an engine answers, in an image made of the machine's own Python, so that no registry is needed.
"""
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

IMAGE = "mce-bench-python"
RUNS = 15


def rows(deno, has_docker, own_ms, row):
    """Prints a row for each peer that is there, with how many times it takes what ours does (`own_ms` by language)."""

    def peer(what, language, command):
        milliseconds = median_ms(command)
        row(what, f"{milliseconds:.0f} ms", f"{milliseconds / own_ms[language]:.0f} times ours")

    if has_docker:
        docker_rows(peer)
    deno = deno or shutil.which("deno")
    if deno is None:
        print("(not measured: there is no deno)", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.ts"
        program.write_text("console.log(1 + 1);\n")
        peer("deno run, TypeScript", "typescript", [str(deno), "run", str(program)])


def docker_rows(peer):
    """A container for each program, and one that is kept."""
    if shutil.which("docker") is None or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        print("(not measured: no Docker engine answers)", file=sys.stderr)
        return
    python = make_image()
    program = [python, "-c", "print(1 + 1)"]
    container = subprocess.run(["docker", "run", "-d", "--rm", "--network", "none", IMAGE, "/bin/sleep", "600"], check=True, capture_output=True, text=True)
    name = container.stdout.strip()
    try:
        peer("docker exec in a container that is kept, Python", "python", ["docker", "exec", name, *program])
        peer("docker run for each program, Python", "python", ["docker", "run", "--rm", "--network", "none", IMAGE, *program])
    finally:
        subprocess.run(["docker", "kill", name], check=True, capture_output=True)
        subprocess.run(["docker", "rmi", "-f", IMAGE], check=False, capture_output=True)


def make_image():
    """Imports an image of the machine's Python, its standard library, a shell and `sleep`. Gives the interpreter's path."""
    ask = "import os, sys, sysconfig; print(os.path.realpath(sys.executable)); print(sysconfig.get_path('stdlib'))"
    told = subprocess.run(["/usr/bin/python3", "-c", ask], check=True, capture_output=True, text=True)
    python, library = told.stdout.split()
    programs = [python, "/bin/sh", "/bin/sleep"]
    extensions = [str(file) for file in Path(library).glob("lib-dynload/*.so")]
    linked = subprocess.run(["ldd", *programs, *extensions], check=False, capture_output=True, text=True).stdout
    shared = {word for word in linked.split() if word.startswith("/") and not word.endswith(":")}
    process = subprocess.Popen(["docker", "import", "-", IMAGE], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    left_out = ("test", "site-packages", "dist-packages", "idlelib", "tkinter")
    with tarfile.open(fileobj=process.stdin, mode="w|", dereference=True) as archive:
        for file in sorted({*programs, *shared}):
            archive.add(file)
        archive.add(library, filter=lambda member: None if Path(member.name).name in left_out else member)
    process.stdin.close()
    if process.wait():
        raise SystemExit("the image could not be made")
    return python


def median_ms(command):
    """The median of whole processes."""
    times = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[1:])
