"""Carries out a seal plan: the system calls by which a worker locks itself in. The plan is made by `mce-jail`.

The fork server makes a `Plan` once, after all its imports, and calls `fork` for each worker. Nothing here reads what a
program wrote. Python 3.10 or newer, standard library only.
"""

import base64
import ctypes
import json
import os

CONTROL_FD = 3
PROC_FD = 4
CLONE_NEWPID = 0x20000000
PR_SET_DUMPABLE = 4

_libc = ctypes.CDLL(None, use_errno=True)
_system_call = _libc.syscall
_system_call.restype = ctypes.c_long


class SealError(OSError):
    """A step of the plan failed. The process must end: it is not locked in."""


class Plan:
    """A seal plan in the form in which it is carried out fastest."""

    def __init__(self, text):
        plan = json.loads(text)
        self._own_pids = None
        if plan["isolates_pids"]:
            # Opened once: each `fork` needs it to come back to the fork server's own namespace.
            self._own_pids = os.open("self/ns/pid", os.O_RDONLY | os.O_CLOEXEC, dir_fd=PROC_FD)
        # Other processes of the same user must not trace the fork server.
        _check(_libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "refuse to be traced")
        self._keep = []
        self._steps = [self._prepare(step) for step in plan["steps"]]

    def fork(self, frame_fd):
        """Forks a worker whose only socket is `frame_fd`, moved to descriptor 3.

        Returns the worker's process id in the fork server and 0 in the worker, which is then locked in. Raises
        `SealError` in a worker that could not be locked in, and `OSError` in the fork server.
        """
        if self._own_pids is None:
            pid = os.fork()
        else:
            _check(_libc.unshare(CLONE_NEWPID), "unshare the PID namespace")
            try:
                pid = os.fork()
            except BaseException:
                self._return_to_own_pids()
                raise
            if pid:
                self._return_to_own_pids()
        if pid == 0:
            os.dup2(frame_fd, CONTROL_FD, inheritable=False)
            self.apply()
        return pid

    def apply(self):
        """Locks the calling process in. The descriptors 0 and 3 stay open; 1 and 2 lead to nowhere."""
        results = []
        for name, number, arguments, late, is_fatal in self._steps:
            if late:
                arguments = self._fill(arguments, late, results)
            value = _system_call(number, *arguments)
            if value < 0 and is_fatal:
                code = ctypes.get_errno()
                raise SealError(code, f"failed to {name}: {os.strerror(code)}")
            results.append(value)

    def _return_to_own_pids(self):
        _check(_libc.setns(self._own_pids, CLONE_NEWPID), "return to the own PID namespace")

    def _prepare(self, step):
        late, arguments = [], []
        for index, argument in enumerate(step["arguments"]):
            ((kind, value),) = argument.items()
            if kind == "number":
                arguments.append(ctypes.c_long(value))
            elif kind == "result":
                arguments.append(ctypes.c_long(0))
                late.append(("argument", index, value))
            elif kind == "buffer":
                arguments.append(ctypes.c_void_p(self._buffer(value, late)))
            else:
                raise ValueError(f"unknown argument {kind}")
        return step["name"], ctypes.c_long(step["number"]), arguments, late, step["is_fatal"]

    def _buffer(self, buffer, late):
        data = base64.b64decode(buffer["bytes"])
        memory = ctypes.create_string_buffer(data, len(data))
        self._keep.append(memory)
        start = ctypes.addressof(memory)
        for patch in buffer.get("patches", ()):
            place, size, value = start + patch["offset"], patch["size"], patch["value"]
            if patch["offset"] + size > len(data):
                raise ValueError("a patch lies outside its buffer")
            if value == "own_pid":
                late.append(("own_pid", (place, size), None))
            elif "result" in value:
                late.append(("result", (place, size), value["result"]))
            else:
                _write(place, size, self._buffer(value["pointer"], late))
        return start

    @staticmethod
    def _fill(arguments, late, results):
        arguments = list(arguments)
        for kind, place, value in late:
            if kind == "argument":
                arguments[place] = ctypes.c_long(results[value])
            elif kind == "result":
                _write(*place, results[value])
            else:
                _write(*place, os.getpid())
        return arguments


def _write(place, size, value):
    (ctypes.c_int32 if size == 4 else ctypes.c_int64).from_address(place).value = value


def _check(value, what):
    if value < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"failed to {what}: {os.strerror(code)}")
