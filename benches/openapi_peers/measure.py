"""Runs one process and tells its time and memory."""
import contextlib
import os
import resource
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

# So that a program that needs all memory does not end others.
MAX_MIB = 8192


@dataclass
class Cost:
    status: int
    stopped: str  # why it was ended, or nothing
    wall_s: float
    cpu_s: float  # with its children
    peak_mib: float  # of its largest process


def run(command, folder, limit_s):
    """Ends it after `limit_s` seconds of CPU time, which other load hardly changes. Standard output and error go into files of these names in `folder`."""
    with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, env=environment(folder), preexec_fn=lambda: limit(limit_s)
        )
        ended, stopped = threading.Event(), []
        guard = threading.Thread(target=watch, args=(process.pid, ended, stopped), daemon=True)
        guard.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start
        ended.set()
        guard.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            stopped.append(f"not finished after {limit_s} s of CPU time")
    return Cost(process.returncode, "".join(stopped[:1]), wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def environment(folder):
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "NO_COLOR": "1", "COLUMNS": "1000", "MCE_DATA_DIR": str(folder / "data")}


def watch(pid, ended, stopped):
    """Ends the process when it has too much memory."""
    while not ended.wait(0.2):
        if resident_mib(pid) > MAX_MIB:
            stopped.append(f"ended at {MAX_MIB:,} MiB")
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


def resident_mib(pid):
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def limit(seconds):
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
