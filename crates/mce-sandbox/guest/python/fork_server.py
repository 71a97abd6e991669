"""The fork server: imports once, then forks a sealed worker for each run. It reads only what the host writes.

On the control socket the host sends the configuration and, after the answer `R`, the seal plan, each as a length (u64) and
JSON; then one id (u64) with one descriptor for each worker that it wants. Answers are records of 16 bytes: kind, status,
id. `F` brings the worker's pid descriptor, `E` says why there is none, `X` how a worker ended (a wait status). Instead of `X`
stands `M` if it had nearly all the memory that it may have, and `C` if it had used its processor time.
"""

import ctypes
import errno
import gc
import json
import os
import resource
import select
import signal
import socket
import struct
import sys

CONTROL = 3
RECORD = struct.Struct("<B3xiQ")

# What programs import most; each costs a run its own time otherwise.
COMMON = """
asyncio base64 bisect calendar collections contextlib copy csv dataclasses datetime decimal difflib enum fractions functools
hashlib heapq html inspect io itertools json math operator pathlib pprint random re secrets statistics string struct
tempfile textwrap threading time traceback types typing unicodedata urllib.parse uuid zlib zoneinfo
""".split()


def main():
    """Serves until the host closes the control socket."""
    control = socket.socket(fileno=CONTROL)
    configuration = json.loads(_message(control))
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.append(here)
    # What lies below `/tmp` on the host lies below this folder here: each worker has a `/tmp` of its own.
    sys.path.extend(here + folder if folder.startswith("/tmp/") else folder for folder in configuration["folders"])
    for name in COMMON:
        try:
            __import__(name)
        except ImportError:
            continue
    from mce_guest import libraries, seal
    from mce_guest.worker import Worker

    worker = Worker(libraries.load() if configuration["has_data_libraries"] else ())

    control.sendall(RECORD.pack(ord("R"), 0, 0))
    # The memory limit in the plan starts from what is imported by now.
    plan = seal.Plan(_message(control))
    _settle_memory()
    limits = _Limits(configuration)
    workers = {}
    poll = select.poll()
    poll.register(CONTROL, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd != CONTROL:
                _report_end(control, poll, workers, limits, fd)
            elif not _fork(control, poll, workers, seal, plan, worker):
                return


def _settle_memory():
    """Whatever a worker touches of what is shared becomes memory of its own."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        # Free pieces are joined here once, not in each worker.
        trim(0)
    gc.disable()
    gc.freeze()


def _fork(control, poll, workers, seal, plan, worker):
    data, descriptors, _, _ = socket.recv_fds(control, 8, 1)
    if not data or not descriptors:
        return False
    (number,) = struct.unpack("<Q", data)
    pid = _fork_sealed(seal, plan, descriptors[0], worker)
    os.close(descriptors[0])
    if pid < 0:
        control.sendall(RECORD.pack(ord("E"), -pid, number))
        return True
    pidfd = os.pidfd_open(pid)
    workers[pidfd] = (number, pid)
    poll.register(pidfd, select.POLLIN)
    socket.send_fds(control, [RECORD.pack(ord("F"), 0, number)], [pidfd])
    return True


def _fork_sealed(seal, plan, frames, worker):
    """The worker's process id, or the negative number of the system's error. Does not return in the worker."""
    try:
        pid = plan.fork(frames)
    except seal.SealError as error:
        # This is the worker. It could not be locked in, so it must not live.
        os.write(2, f"{error}\n".encode())
        os._exit(71)
    except OSError as error:
        return -(error.errno or errno.EAGAIN)
    if pid == 0:
        worker.serve(CONTROL)
    return pid


class _Limits:
    """Tells which limit a worker had met when it ended."""

    def __init__(self, configuration):
        # The kernel counts what a worker shares with the fork server as its own. Memory may be short some time before the
        # limit, because not all that is taken is used.
        self._resident_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + configuration["memory_kib"] * 3 // 4
        self._cpu_seconds = configuration["cpu_seconds"] - 0.1

    def kind(self, status, usage):
        """The kind of the record."""
        seconds = usage.ru_utime + usage.ru_stime
        if seconds >= self._cpu_seconds:
            return ord("C")
        if usage.ru_maxrss >= self._resident_kib:
            return ord("M")
        # The kernel holds the limit by counting ticks, which on a loaded machine may be far from the time that was used.
        is_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        return ord("C" if is_killed and seconds >= self._cpu_seconds / 2 else "X")


def _report_end(control, poll, workers, limits, pidfd):
    number, pid = workers.pop(pidfd)
    poll.unregister(pidfd)
    os.close(pidfd)
    _, status, usage = os.wait4(pid, 0)
    control.sendall(RECORD.pack(limits.kind(status, usage), status, number))


def _message(control):
    (size,) = struct.unpack("<Q", _exactly(control, 8))
    return _exactly(control, size)


def _exactly(control, size):
    data = b""
    while len(data) < size:
        part = control.recv(size - len(data))
        if not part:
            raise SystemExit("the host closed the control socket")
        data += part
    return data


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main()
