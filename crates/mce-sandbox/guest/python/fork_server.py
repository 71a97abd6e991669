"""The fork server: imports once, then forks a sealed worker for each run. It reads only what the host writes.

On the control socket the host first sends a length (u64) and the configuration as JSON, then a record (u64 id) with one
descriptor for each worker that it wants. Answers are records of 16 bytes: kind, id, status. `F` brings the worker's pid
descriptor, `X` says how a worker ended (a wait status), `R` that the server is ready.
"""

import gc
import json
import os
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
    (size,) = struct.unpack("<Q", _exactly(control, 8))
    configuration = json.loads(_exactly(control, size))
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    sys.path.extend(configuration["libraries"])
    for name in COMMON + configuration["preload"]:
        try:
            __import__(name)
        except ImportError:
            continue
    from mce_guest import seal, worker

    plan = seal.Plan(json.dumps(configuration["plan"]))
    # The collector of a worker must not touch what is shared.
    gc.collect()
    gc.disable()
    gc.freeze()
    control.sendall(RECORD.pack(ord("R"), 0, 0))
    workers = {}
    poll = select.poll()
    poll.register(CONTROL, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd != CONTROL:
                _report_end(control, poll, workers, fd)
            elif not _fork(control, poll, workers, plan, worker):
                return


def _fork(control, poll, workers, plan, worker):
    data, descriptors, _, _ = socket.recv_fds(control, 8, 1)
    if not data or not descriptors:
        return False
    (number,) = struct.unpack("<Q", data)
    pid = plan.fork(descriptors[0])
    if pid == 0:
        worker.serve(descriptors[0])
    os.close(descriptors[0])
    pidfd = os.pidfd_open(pid)
    workers[pidfd] = (number, pid)
    poll.register(pidfd, select.POLLIN)
    socket.send_fds(control, [RECORD.pack(ord("F"), 0, number)], [pidfd])
    return True


def _report_end(control, poll, workers, pidfd):
    number, pid = workers.pop(pidfd)
    poll.unregister(pidfd)
    os.close(pidfd)
    _, status = os.waitpid(pid, 0)
    control.sendall(RECORD.pack(ord("X"), status, number))


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
