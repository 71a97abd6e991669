"""The fork server of the tests: a program comes as text with a socket; a sealed worker runs it and answers over the socket."""

import ctypes
import errno
import json
import os
import signal
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import seal  # noqa: E402

REFUSED = ("EPERM", "EACCES", "ENOSYS")
ARM = os.uname().machine == "aarch64"
libc = ctypes.PyDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(x86, arm, *arguments):
    """One raw system call: its result, or the name of its error."""
    ctypes.set_errno(0)
    value = libc.syscall(ctypes.c_long(arm if ARM else x86), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    return value if value >= 0 else errno.errorcode.get(ctypes.get_errno(), "?")


def attempt(work, *arguments):
    """What a call returns, or the name of its error."""
    try:
        value = work(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    except (MemoryError, RuntimeError) as error:
        return type(error).__name__
    return value if isinstance(value, (int, str, list, dict, type(None))) else type(value).__name__


def work(frame, source):
    scope = {"attempt": attempt, "call": call, "frame": frame}
    try:
        exec(source, scope)
        answer = {"value": scope.get("result")}
    except BaseException as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    frame.send(json.dumps(answer).encode())


def main():
    control = socket.socket(fileno=seal.CONTROL_FD)
    control.send(json.dumps({"pid": os.getpid(), "uid": os.getuid(), "environment": dict(os.environ), "arguments": sys.argv}).encode())
    plan = seal.Plan(control.recv(1 << 20))
    control.send(b"{}")
    while True:
        source, fds, _, _ = socket.recv_fds(control, 1 << 20, 1)
        if not source:
            return
        pid = plan.fork(fds[0]) if source[:1] != b"@" else -1
        if pid == 0:
            work(socket.socket(fileno=seal.CONTROL_FD), source.decode())
            os._exit(0)
        if pid == -1:
            # The fork server itself is asked.
            work(socket.socket(fileno=fds[0]), source[1:].decode())
            continue
        os.close(fds[0])
        control.send(json.dumps({"pid": pid, "status": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}).encode())


main()
