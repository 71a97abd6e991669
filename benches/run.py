#!/usr/bin/env python3
"""Measures the binary and prints a table. Standard library only; Linux. Nothing is asserted.

usage: run.py --mce PATH [--corpus DIR] [--runs N] [--seconds S] [--python PATH] [--deno PATH] [--without-docker]

Each row says what was measured; medians of N runs (200), each after a warm-up. Compiling is measured on documents of
the corpus (GitHub's, 13 MB), if it is there; pandas with the interpreter of --python, if that has it; peers (`peers.py`)
if they are there. The load of the machine is printed first and last. Run it on a quiet machine.
"""
import argparse
import http.client
import http.server
import json
import os
import resource
import socketserver
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import peers
from lines import PATIENCE_S, Lines

HERE = Path(__file__).resolve().parent
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Bench", "version": "1"},
    "paths": {"/items/{id}": {"get": {"operationId": "get_item", "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
                                      "responses": {"200": {"description": "it", "content": {"application/json": {"schema": {"type": "object"}}}}}}}},
}  # fmt: skip
CALLS = 100
MANY_CALLS = f"from bench.functions import get_item\nfor _ in range({CALLS}):\n    get_item(id=1)\nresult = 1\n"
IMPORT_PANDAS = "import pandas\nresult = 1+1"
PANDAS = "import pandas as pd\nresult = int(pd.DataFrame({'a': [1, 2, 3]}).a.sum())"
NO_CALLS = "from bench.functions import get_item\nfor _ in range(100):\n    pass\nresult = 1\n"


class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        body = b'{"id":1,"name":"one"}'
        self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body)

    def log_message(self, *_):
        pass


class Listener(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


class Server(Lines):
    """`mce serve` over stdio."""

    def __init__(self, mce, folder, environment):
        start = time.perf_counter()
        super().__init__([mce, "serve"], cwd=folder, env=environment)
        self.initialize_ms = (time.perf_counter() - start) * 1e3

    def start_run(self, code, language="python"):
        return self.ask("tools/call", {"name": "execute_code", "arguments": {"code": code, "description": "bench", "language": language}})

    def run(self, code, language="python"):
        return self.read_answer(self.start_run(code, language))

    def run_many(self, code, language, is_over):
        """Keeps 64 runs under way until `is_over(started)`; gives how many there were."""
        slots, started, first_fault = threading.Semaphore(64), 0, []

        def done(future):
            try:
                self.read_answer(future)
            except BaseException as fault:
                first_fault.append(fault)
            slots.release()

        while not is_over(started) and not first_fault:
            slots.acquire()
            started += 1
            self.start_run(code, language).add_done_callback(done)
        for _ in range(64):
            slots.acquire()
        if first_fault:
            raise first_fault[0]
        return started

    def holdings(self):
        """Processes, descriptors of the host, and mounts."""
        pid = self.process.pid
        descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        mounts = len(Path("/proc/self/mountinfo").read_text().splitlines())
        return len(children(pid)), descriptors, mounts

    @staticmethod
    def read_answer(future):
        answer = json.loads(future.result(PATIENCE_S)["result"]["content"][0]["text"])
        if not answer["success"]:
            raise SystemExit(f"a run failed: {answer}")
        return answer


def median_ms(action, runs):
    for _ in range(10):
        action()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1e3)
        time.sleep(0.002)  # Lets the next worker be forked, as between two turns of a model.
    return statistics.median(times)


def memory_kib(pid, field):
    path = f"/proc/{pid}/smaps_rollup" if field.startswith("Private") else f"/proc/{pid}/status"
    return sum(int(line.split()[1]) for line in Path(path).read_text().splitlines() if line.startswith(field))


def children(pid):
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        new = [int(child) for task in Path(f"/proc/{one}/task").iterdir() for child in (task / "children").read_text().split()]
        found += new
        todo += new
    return found


def run_rows(server, runs, row, has_pandas):
    """Runs of each language. Gives the medians in ms."""
    medians = {}
    for language, name, bar in (("python", "Python", "2.5 ms"), ("typescript", "TypeScript", "2 ms")):
        server.run("result = 1+1", language)
        medians[language] = median_ms(lambda language=language: server.run("result = 1+1", language), runs)
        row(f'execute_code("result = 1+1"), {name}, fresh worker', f"{medians[language]:.2f} ms", bar)
    if has_pandas:
        server.run(PANDAS)
        row("the same with pandas imported by the code", f"{median_ms(lambda: server.run(IMPORT_PANDAS), runs):.2f} ms", "5 ms")
        row("  a pandas frame made and summed", f"{median_ms(lambda: server.run(PANDAS), runs):.2f} ms", "")
    else:
        print("(not measured: the interpreter has no pandas)", file=sys.stderr)
    return medians


def load_rows(server, seconds, row):
    """Many clients at once, what they leave, and memory over many runs."""
    for language, name in (("python", "Python"), ("typescript", "TypeScript")):
        start = time.perf_counter()
        server.run_many("result = 1+1", language, lambda started: started >= 2000)
        row(f"runs per second, 64 at a time, {name}", f"{2000 / (time.perf_counter() - start):.0f}", "400")
    time.sleep(1)
    before, end = server.holdings(), time.perf_counter() + seconds
    languages = {"python": 0, "typescript": 0}
    for language in languages:
        until = end if language == "typescript" else end - seconds / 2
        languages[language] = server.run_many("result = 1+1", language, lambda _, until=until: time.perf_counter() > until)
    time.sleep(1)
    left = [after - earlier for earlier, after in zip(before, server.holdings())]
    row(f"64 clients for {seconds:.0f} s", f"{sum(languages.values())} runs, no error", "no error")
    row("  more processes, descriptors, mounts than before", ", ".join(map(str, left)), "0, 0, 0")
    for _ in range(100):
        server.run("result = 1+1")
    early = memory_kib(server.process.pid, "VmRSS")
    for number in range(900):
        server.run("result = 1+1", ("python", "typescript")[number % 2])
    row("memory of the host after 1,000 runs, over that after 100", f"{(memory_kib(server.process.pid, 'VmRSS') - early) / 1024:+.1f} MiB", "2 MB")


def compile_rows(mce, corpus, environment, row):
    document = corpus / "specs" / "github-api.json"
    if not document.exists():
        print(f"(not measured: {document} is not there)", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "mce.yaml").write_text(json.dumps({"servers": {"github": {"openapi": str(document)}}}))
        own = {**environment, "MCE_DATA_DIR": f"{folder}/data"}
        for what in ("compile GitHub's document (13 MB)", "the same, unchanged"):
            seconds, peak = [], []
            for number in range(5):
                if what.startswith("compile"):
                    subprocess.run([mce, "clean"], cwd=folder, env=own, check=True, capture_output=True)
                start = time.perf_counter()
                process = subprocess.Popen([mce, "compile", "--json"], cwd=folder, env=own, stdout=subprocess.DEVNULL)
                _, status, usage = os.wait4(process.pid, 0)
                seconds.append(time.perf_counter() - start)
                peak.append(usage.ru_maxrss / 1024)
                if status:
                    raise SystemExit("compile failed")
            row(what, f"{statistics.median(seconds) * 1e3:.0f} ms, {max(peak):.0f} MiB peak", "800 ms, 150 MB" if what.startswith("compile") else "50 ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mce", required=True, type=Path)
    parser.add_argument("--corpus", type=Path, default=Path(os.environ.get("MCE_TEST_CORPUS", HERE.parent.parent / "shared" / "corpus")))
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--python", default="python3")
    parser.add_argument("--deno", type=Path)
    parser.add_argument("--without-docker", action="store_true")
    args = parser.parse_args()
    mce = str(args.mce.resolve())
    api = Listener(("127.0.0.1", 0), Api)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    loads = lambda: "load {:.1f}, {:.1f}, {:.1f} (1, 5, 15 min) on {} processors".format(*os.getloadavg(), os.cpu_count())
    print(loads())
    print(f"{'what':58}{'measured':>28}{'bar':>18}")
    row = lambda what, value, bar="": print(f"{what:58}{value:>28}{bar:>18}", flush=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MCE_")}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "bench.json").write_text(json.dumps(DOCUMENT))
        (folder / "mce.yaml").write_text(json.dumps({"servers": {"bench": {"openapi": "./bench.json", "base_url": f"http://127.0.0.1:{api.server_port}"}}}))
        environment["MCE_DISCOVER"] = "false"
        environment["MCE_PYTHON"] = args.python
        has_pandas = not subprocess.run([args.python, "-c", "import pandas"], capture_output=True, check=False).returncode
        environment |= {"MCE_DATA_DIR": str(folder / "data"), "HOME": str(folder)} if "PYENV_ROOT" in environment else {"MCE_DATA_DIR": str(folder / "data")}
        subprocess.run([mce, "compile"], cwd=folder, env=environment, check=True, capture_output=True)
        starts = []
        for _ in range(11):
            server = Server(mce, folder, environment)
            starts.append(server.initialize_ms)
            server.close()
        row("start to `initialize` answer", f"{statistics.median(starts):.1f} ms", "30 ms")
        server = Server(mce, folder, environment)
        medians = run_rows(server, args.runs, row, has_pandas)
        connection = http.client.HTTPConnection("127.0.0.1", api.server_port)

        def bare():
            connection.request("GET", "/items/1")
            connection.getresponse().read()

        bare_ms = median_ms(bare, args.runs)
        with_calls, without = (median_ms(lambda code=code: server.run(code), 40) for code in (MANY_CALLS, NO_CALLS))
        row("one host call to a loopback API", f"{(with_calls - without) / CALLS:.2f} ms")
        row("  the bare HTTP request, by Python's http.client", f"{bare_ms:.2f} ms")
        row("  overhead of the call over it", f"{(with_calls - without) / CALLS - bare_ms:.2f} ms", "0.3 ms")
        load_rows(server, args.seconds, row)
        time.sleep(1)
        row("resident memory of the idle host", f"{memory_kib(server.process.pid, 'VmRSS') / 1024:.1f} MiB", "30 MB")
        private = sorted(memory_kib(pid, "Private") / 1024 for pid in children(server.process.pid))
        row("private memory of its children", ", ".join(f"{mib:.1f}" for mib in private) + " MiB", "4 MB each")
        server.close()
    compile_rows(mce, args.corpus, environment, row)
    peers.rows(args.deno, not args.without_docker, medians, row)
    api.shutdown()
    print(loads())


main()
