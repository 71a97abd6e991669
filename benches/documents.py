#!/usr/bin/env python3
"""Measures what large documents cost the binary, and prints a table. Standard library only; Linux. Nothing is asserted.

usage: documents.py --mce PATH [--corpus DIR] [--runs N]

Compiling each of five large documents anew, all five unchanged, and serving a catalog of 20,000 functions against one of
a single function. Medians of N runs (9) after a warm-up; CPU time, which other load hardly changes, beside wall time.
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Where the project names no bar of its own: in proportion to the bytes of GitHub's, 800 ms and 150 MB.
DOCUMENTS = {
    "GitHub (13.0 MB, 1,223 operations)": ("github-api.json", "800 ms, 150 MB"),
    "Stripe (2.5 MB, 452)": ("apisguru-stripe.com.json", "154 ms, 29 MB"),
    "Kubernetes (4.4 MB, 845)": ("apisguru-kubernetes.io.json", "268 ms, 50 MB"),
    "EC2 (4.7 MB, 1,188)": ("apisguru-amazonaws.com__ec2.json", "291 ms, 55 MB"),
    "Microsoft Graph (20.3 MB, 11,422)": ("apisguru-microsoft.com__graph.json", "2 s, 400 MB"),
}
# With those above, 20,000 functions.
FURTHER = ("github-ghec.json", "apisguru-autotask.net.json", "kubernetes-1.13.json")
ONE = {"openapi": "3.1.0", "info": {"title": "One", "version": "1"}, "paths": {"/it": {"get": {"responses": {"200": {"description": "it"}}}}}}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Project:
    """A folder with a configuration of some documents."""

    def __init__(self, mce, folder, documents):
        folder.mkdir()
        self.mce, self.folder = mce, folder
        # Looking for changed documents in the background is measured by itself ("unchanged").
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "MCE_DATA_DIR": str(folder / "data"), "MCE_COMPILE_ON_STARTUP": "false"}
        servers = {f"s{number}": {"openapi": str(file), "base_url": "https://api.example"} for number, file in enumerate(documents)}
        (folder / "mce.yaml").write_text(json.dumps({"servers": servers}))

    def compile(self):
        """Wall and CPU seconds, peak MiB, and the report."""
        start = time.perf_counter()
        process = subprocess.Popen([self.mce, "compile", "--json"], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE)
        report = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if status:
            raise SystemExit("compile failed")
        return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, json.loads(report)

    def forget(self):
        subprocess.run([self.mce, "clean"], cwd=self.folder, env=self.environment, check=True, capture_output=True)

    @contextlib.contextmanager
    def serve(self):
        """A client's view of the server: milliseconds to the answer of `initialize`, and a function that sends a request."""
        start = time.perf_counter()
        process = subprocess.Popen([self.mce, "serve"], cwd=self.folder, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

        def request(number, method, params):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n")
            process.stdin.flush()
            while (answer := json.loads(process.stdout.readline())).get("id") != number:
                pass
            return answer["result"]

        request(0, "initialize", INITIALIZE)
        started_ms = (time.perf_counter() - start) * 1e3
        process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        try:
            yield process.pid, started_ms, request
        finally:
            process.stdin.close()
            process.wait(10)


def resident_mib(pid):
    return next(int(line.split()[1]) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")) / 1024


def cpu_ms(pid):
    return sum(int(file.read_text().split()[0]) for file in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e6


def compile_rows(mce, folder, specs, runs, row):
    for number, (title, (file, bar)) in enumerate(DOCUMENTS.items()):
        project, measured = Project(mce, folder / f"compile{number}", [specs / file]), []
        for _ in range(max(runs // 2, 1) + 1):
            project.forget()
            measured.append(project.compile()[:3])
        wall, cpu, peak = map(statistics.median, zip(*measured[1:]))
        row(f"compile {title}", f"{wall * 1e3:.0f} ms ({cpu * 1e3:.0f} ms CPU), {peak:.0f} MiB peak", bar)
    project, measured = Project(mce, folder / "all", [specs / file for file, _ in DOCUMENTS.values()]), []
    project.compile()
    for _ in range(runs + 1):
        *numbers, report = project.compile()
        assert all(server["unchanged"] for server in report["servers"])
        measured.append(numbers)
    wall, cpu, peak = map(statistics.median, zip(*measured[1:]))
    row("all five, unchanged", f"{wall * 1e3:.0f} ms ({cpu * 1e3:.0f} ms CPU), {peak:.0f} MiB peak", "50 ms")


def catalog_rows(mce, folder, specs, runs, row):
    (folder / "one.json").write_text(json.dumps(ONE))
    small = Project(mce, folder / "small", [folder / "one.json"])
    large = Project(mce, folder / "large", [specs / file for file in [*(file for file, _ in DOCUMENTS.values()), *FURTHER]])
    small.compile()
    functions = sum(server["compiled"] for server in large.compile()[3]["servers"])
    numbers = []
    for project in (small, large):
        started, cpu, resident, searched, later = [], [], [], [], []
        for _ in range(runs + 1):
            with project.serve() as (pid, started_ms, request):
                request(1, "tools/list", {})
                started.append(started_ms)
                time.sleep(0.3)  # Until the fork servers are started, which costs the same for all catalogs.
                cpu.append(cpu_ms(pid))
                resident.append(resident_mib(pid))
                for number, list_of in ((2, searched), (3, later)):
                    start = time.perf_counter()
                    request(number, "tools/call", {"name": "search_functions", "arguments": {"query": "list the volumes of an instance"}})
                    list_of.append((time.perf_counter() - start) * 1e3)
        numbers.append([statistics.median(values[1:]) for values in (started, cpu, resident, searched, later)])
    (few_ms, few_cpu_ms, few_mib, *_), (many_ms, many_cpu_ms, many_mib, search_ms, later_ms) = numbers
    measured = f"{many_ms - few_ms:+.1f} ms ({many_cpu_ms - few_cpu_ms:+.1f} ms CPU), {many_mib - few_mib:+.1f} MiB; in all {many_ms:.1f} ms, {many_mib:.1f} MiB"
    row(f"start of the server with {functions:,} functions, beside one with a single function", measured, "10 ms, 10 MB")
    row("a first search there / a second one", f"{search_ms:.1f} / {later_ms:.1f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mce", required=True, type=Path)
    parser.add_argument("--corpus", type=Path, default=Path(os.environ.get("MCE_TEST_CORPUS", HERE.parent.parent / "shared" / "corpus")))
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    mce, specs = str(options.mce.resolve()), options.corpus.resolve() / "specs"
    print("| what | measured | bar |", "| --- | --- | --- |", sep="\n")
    row = lambda what, measured, bar="": print(f"| {what} | {measured} | {bar} |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        compile_rows(mce, Path(folder), specs, options.runs, row)
        catalog_rows(mce, Path(folder), specs, options.runs, row)
    print(f"\nload at the end: {os.getloadavg()[0]:.1f}")


main()
