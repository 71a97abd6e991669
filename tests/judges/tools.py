"""Judges from npm: installing them into a folder of tools, and running their servers on loopback."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

# The judges bind all interfaces, and not all of them can be told otherwise.
LOOPBACK = """
const net = require("node:net");
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  const callback = rest.find((value) => typeof value === "function");
  return listen.call(this, typeof port === "object" ? port.port : port, "127.0.0.1", callback);
};
"""


class ToolError(Exception):
    """A judge cannot be installed or started."""


def install(folder, packages):
    """Installs exact versions of npm packages, unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / "installed.json"
    if mark.is_file() and json.loads(mark.read_text()) == packages:
        return folder
    (folder / "package.json").write_text('{"private": true}\n')
    # Development versions name peers that their own packages do not fit.
    command = ["npm", "install", "--no-audit", "--no-fund", "--legacy-peer-deps", "--ignore-scripts", *packages]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"npm: {error}") from error
    if done.returncode:
        raise ToolError("npm install failed: " + done.stderr.strip()[-800:])
    mark.write_text(json.dumps(packages))
    return folder


def run_node(folder, script, *arguments):
    """What a script of ours prints. It is copied into the tools' folder, where `import` finds the packages."""
    copy = folder / script.name
    put(copy, script.read_text())
    done = subprocess.run(["node", copy.name, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise ToolError(f"{script.name} failed: " + done.stderr.strip()[-2000:])
    return done.stdout


def put(file, text):
    """Writes a file whole or not at all: others may read it at the same time."""
    with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as new:
        new.write(text)
    os.replace(new.name, file)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def server(folder, arguments, port, log, ready, wait_s=120):
    """Runs a Node program until the block ends; `ready` is a path that it answers when it has started."""
    hook = folder / "loopback.cjs"
    put(hook, LOOPBACK)
    with open(log, "wb") as out:
        command = ["node", "--require", str(hook.resolve()), *map(str, arguments)]
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        try:
            wait_until_ready(process, f"http://127.0.0.1:{port}{ready}", log, wait_s)
            yield f"http://127.0.0.1:{port}"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until_ready(process, url, log, wait_s):
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            get(url)
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise ToolError(f"the server did not start: {Path(log).read_text(errors='replace')[-1500:]}")


def get(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read()


def get_json(url):
    return json.loads(get(url))
