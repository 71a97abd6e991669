#!/usr/bin/env python3
"""Measures what it costs to reach MCP servers through the binary, and prints a table. Standard library only; Linux.
Nothing is asserted.

usage: mcp.py --mce PATH [--servers DIR] [--runs N]

DIR (target/test-mcp) is what `scripts/install-mcp-servers` installs. A call of `echo` of the reference server, over stdio and
over streamable HTTP: by a client that speaks to it directly, and by a program of one run through us; 100 one after the other
and 100 at once. Medians of N rounds (15), direct and through us in turn. Then the tokens (o200k) of all servers' `tools/list`
against ours; js-tiktoken, which has the ranks, comes from npm.
"""
import argparse
import concurrent.futures
import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from lines import INITIALIZE, PATIENCE_S, Lines
from run import Server

CALLS = 100
HERE = Path(__file__).resolve().parent
ECHO = {"name": "echo", "arguments": {"message": "hi"}}
IN_TURN = f"""
from up.functions import echo
import time
echo(message="hi")
start = time.perf_counter()
for _ in range({CALLS}):
    echo(message="hi")
result = time.perf_counter() - start
"""
AT_ONCE = f"""
import asyncio, time
from up.aio import echo
async def main():
    await echo(message="hi")
    start = time.perf_counter()
    await asyncio.gather(*[echo(message="hi") for _ in range({CALLS})])
    return time.perf_counter() - start
"""


class Direct(Lines):
    """The server itself, over stdio."""

    def call(self):
        self.request("tools/call", ECHO)

    def at_once(self):
        for future in [self.ask("tools/call", ECHO) for _ in range(CALLS)]:
            future.result(PATIENCE_S)


class Http:
    """The same over streamable HTTP: a connection for each thread, kept."""

    def __init__(self, port):
        self.port, self.session, self.local = port, None, threading.local()
        self.request("initialize", INITIALIZE)
        self.request(None, {})
        self.pool = concurrent.futures.ThreadPoolExecutor(16)

    def request(self, method, params):
        if not hasattr(self.local, "connection"):
            self.local.connection = http.client.HTTPConnection("127.0.0.1", self.port)
        message = {"jsonrpc": "2.0", "method": "notifications/initialized"} if method is None else {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
        if self.session:
            headers["mcp-session-id"] = self.session
        self.local.connection.request("POST", "/mcp", json.dumps(message), headers)
        answer = self.local.connection.getresponse()
        self.session = answer.headers.get("mcp-session-id", self.session)
        text = answer.read().decode()
        if answer.status >= 400:
            raise SystemExit(f"{answer.status}: {text}")
        return text

    def call(self):
        self.request("tools/call", ECHO)

    def at_once(self):
        for future in [self.pool.submit(self.call) for _ in range(CALLS)]:
            future.result(PATIENCE_S)


def one_after_the_other(direct):
    for _ in range(CALLS):
        direct.call()


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def through(mce, folder, entry):
    folder.mkdir()
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"up": entry}}))
    return Server(mce, folder, environment(folder))


def environment(folder):
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "MCE_DATA_DIR": str(folder / "data")}


def measure(name, direct, ours, runs):
    ways = (("one after the other", lambda: one_after_the_other(direct), IN_TURN), ("at once", direct.at_once, AT_ONCE))
    for words, work, code in ways:
        times = {"direct": [], "ours": []}
        for _ in range(runs + 1):
            times["direct"].append(seconds(work))
            times["ours"].append(ours.run(code)["data"])
        # The first is a warm-up.
        alone, through_us = (statistics.median(times[who][1:]) / CALLS * 1e3 for who in ("direct", "ours"))
        row(f"{name}, {CALLS} calls {words}: a call directly", f"{alone:.2f} ms")
        row("  the same from a program through us", f"{through_us:.2f} ms")
        row("  more than directly", f"{through_us - alone:+.2f} ms")


def row(what, value):
    print(f"{what:<76}{value:>12}", flush=True)


@contextlib.contextmanager
def everything_over_http(program):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(["node", program, "streamableHttp"], env={**os.environ, "PORT": str(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()


def entries(servers, work):
    def node(program, *args):
        return {"command": "node", "args": [str(servers / "node_modules" / program), *args]}

    def official(name, *args):
        return node(f"@modelcontextprotocol/server-{name}/dist/index.js", *args)

    def python(name, *args, environment="python"):
        return {"command": str(servers / environment / "bin" / name), "args": list(args)}

    subprocess.run(["git", "init", "-q", str(work)], check=True)
    return {
        "everything": official("everything", "stdio"),
        "filesystem": official("filesystem", str(work)),
        "memory": official("memory"),
        "sequential-thinking": official("sequential-thinking"),
        "playwright": node("@playwright/mcp/cli.js", "--headless", "--no-sandbox", "--isolated"),
        "git": python("mcp-server-git", "--repository", str(work)),
        "time": python("mcp-server-time"),
        "fetch": python("mcp-server-fetch"),
        "sqlite": python("mcp-server-sqlite", "--db-path", str(work / "db.sqlite"), environment="old-python"),
    }


def tokens(texts, folder):
    """Of each text, counted by js-tiktoken."""
    subprocess.run(["npm", "install", "--silent", "--prefix", str(folder), "js-tiktoken@1"], check=True, stdout=subprocess.DEVNULL)
    script = "const {getEncoding}=require('js-tiktoken');const e=getEncoding('o200k_base');" "let t='';process.stdin.on('data',d=>t+=d).on('end',()=>console.log(JSON.stringify(JSON.parse(t).map(x=>e.encode(x).length))))"
    done = subprocess.run(["node", "-e", script], cwd=folder, input=json.dumps(texts), text=True, capture_output=True, check=True)
    return json.loads(done.stdout)


def compact(tools):
    return json.dumps({"tools": tools}, separators=(",", ":"), ensure_ascii=False)


def measure_tokens(mce, servers, folder):
    work = folder / "work"
    work.mkdir(parents=True)
    configured = entries(servers, work)
    listed = {}
    for name, entry in configured.items():
        direct = Direct([entry["command"], *entry["args"]])
        listed[name] = direct.request("tools/list", {})["tools"]
        direct.close()
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": configured}))
    ours = Server(mce, folder, environment(folder))
    own = ours.request("tools/list", {})["tools"]
    ours.close()
    counts = tokens([*map(compact, listed.values()), compact(own)], folder / "tokens")
    for (name, tools), count in zip(listed.items(), counts):
        row(f"`tools/list` of {name} ({len(tools)} tools)", f"{count:,} tokens")
    row(f"all of them ({sum(map(len, listed.values()))} tools)", f"{sum(counts[:-1]):,} tokens")
    row(f"ours ({len(own)} tools), which reach them all", f"{counts[-1]:,} tokens")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mce", required=True)
    parser.add_argument("--servers", type=Path, default=HERE.parent / "target/test-mcp")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    mce, servers = os.path.abspath(options.mce), options.servers.resolve()
    program = str(servers / "node_modules/@modelcontextprotocol/server-everything/dist/index.js")
    print("load %.1f, %.1f, %.1f (1, 5, 15 min) on %d processors" % (*os.getloadavg(), os.cpu_count()))
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        direct = Direct(["node", program, "stdio"])
        ours = through(mce, folder / "stdio", {"command": "node", "args": [program, "stdio"]})
        measure("stdio", direct, ours, options.runs)
        direct.close(), ours.close()
        with everything_over_http(program) as port:
            ours = through(mce, folder / "http", {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"})
            measure("streamable HTTP", Http(port), ours, options.runs)
            ours.close()
        measure_tokens(mce, servers, folder / "tokens")
    print("load %.1f, %.1f, %.1f (1, 5, 15 min) on %d processors" % (*os.getloadavg(), os.cpu_count()))


if __name__ == "__main__":
    main()
