"""Runs the binary `mce`: compiles one document and makes many calls of its functions in one program."""
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

# Calls one after the other; a failure is an outcome like a value. What JSON cannot hold is shown by the program's result.
PROGRAM = """
import json
import mce

def outcome(operation, arguments):
    try:
        if operation.startswith("http"):
            return {"value": mce.fetch(operation).text}
        return {"value": mce.call_function("judged:" + operation, arguments)}
    except Exception as error:
        kind = getattr(error, "type", type(error).__name__)
        return {"error": kind, "status": getattr(error, "status", None), "body": getattr(error, "body", None), "text": str(error)}

def main():
    return [outcome(operation, arguments) for operation, arguments in json.loads(CALLS)]
"""


@dataclass
class Call:
    """One call by the document's own names, for one key or scenario of a judge. A URL as operation is fetched."""

    key: str
    operation: str
    arguments: dict = field(default_factory=dict)
    expect: dict = field(default_factory=dict)  # `status` of an error that is right, `value` that must come


class Mce:
    """The binary, with a folder of its own for each document."""

    def __init__(self, binary):
        self.binary = os.path.abspath(shutil.which(binary) or binary)

    def run(self, document, server, calls, secrets=None):
        """What compiling said, and an outcome for each call. `server` is what `mce.yaml` says besides the document."""
        work = Path(tempfile.mkdtemp(prefix="mce-judges-"))
        try:
            config = {"servers": {"judged": {"openapi": str(Path(document).resolve()), **server}}}
            (work / "mce.yaml").write_text(json.dumps(config))
            compiled = self.start(work, "compile", "--json")
            if compiled.returncode:
                return {"error": compiled.stderr[-2000:]}, [{"error": "compile", "text": compiled.stderr[-300:]} for _ in calls]
            outcomes = self.calls(work, calls) if calls else []
            return json.loads(compiled.stdout), outcomes
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def calls(self, work, calls):
        pairs = json.dumps([[call.operation, call.arguments] for call in calls])
        (work / "program.py").write_text(f"CALLS = {pairs!r}\n{PROGRAM}")
        done = self.start(work, "exec", "program.py", "--json")
        try:
            return json.loads(done.stdout)["data"]
        except (ValueError, KeyError, TypeError):
            return [{"error": "exec", "text": (done.stdout + done.stderr)[-600:]} for _ in calls]

    def start(self, work, *arguments):
        limits = {"EXECUTION_TIMEOUT_SECONDS": 300, "MAX_OUTPUT_SIZE_BYTES": 1 << 25, "MAX_CODE_SIZE_BYTES": 1 << 20, "MAX_HOST_CALLS": 10000}
        env = {"PATH": os.environ["PATH"], "HOME": str(work), "MCE_DATA_DIR": str(work / "data"), "MCE_WARM_POOL_SIZE": "1", "MCE_ALLOWED_DOMAINS": "127.0.0.1",
               # Each scenario is judged by what it sends for itself.
               "MCE_RETRIES": "0", "MCE_BREAKER_FAILURES": "0"}
        env |= {f"MCE_{name}": str(value) for name, value in limits.items()}
        command = [self.binary, *arguments]
        return subprocess.run(command, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
