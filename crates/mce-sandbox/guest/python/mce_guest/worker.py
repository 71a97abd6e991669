"""One run: waits for the program, runs it, reports its value or its error, and ends the process."""

import builtins
import gc
import json
import os
import sys
import threading

import mce

from . import check, failures, outline, output, program, values
from .channel import Channel, ChannelClosed
from .host import Host
from .httpx_transport import HttpxImports
from .servers import Servers

_LAST_RESORT = b'{"op":"error","error":{"type":"exception","message":"the program ended, and its error cannot be described"}}'
_NO_MEMORY = b'{"op":"error","error":{"type":"memory","message":"the program needs more memory than its limit allows"}}'

_TO_BE_IMPORTED = ("acall_function", "afetch", "call_function", "fetch", "load", "parallel", "save")
_REHEARSAL = (
    "x = {'a': [1, 2.5, 'x', None, True]}\nprint(x)\nresult = x",
    "import json\ndef main():\n    return [y for y in range(3)]",
    "nme = 1\nname",
    "import asyncio\nawait asyncio.sleep(0)",
)

# Kept from here, so that a program that replaces them in their modules harms only itself.
_loads = json.JSONDecoder().decode
_exit = os._exit


class Worker:
    """All that a worker needs, made in the fork server so that each worker finds it ready."""

    def __init__(self, rehearsal):
        """`rehearsal` are programs to go through beside the usual ones."""
        if hasattr(sys, "set_int_max_str_digits"):
            # Integers are exact of any size; time is bounded by the host.
            sys.set_int_max_str_digits(0)
        self._channel = Channel(lambda data: _loads(data.decode()))
        self._servers = Servers(Host(self._channel))
        self._servers.install()
        HttpxImports(self._servers.host).install()
        output.capture(self._channel.send, values.encode_text)
        mce._host = self._servers.host
        failures.server_names = mce._host.servers
        failures.helper_names = _TO_BE_IMPORTED
        builtins.exit = builtins.quit = sys.exit
        program.allow_nested_asyncio_run()
        program.provide_loop()
        self._provided = {name: getattr(mce, name) for name in mce.__all__ if name not in _TO_BE_IMPORTED}
        main = sys.modules["__main__"]
        for _ in range(20):
            self._rehearse(_REHEARSAL)
        self._rehearse(rehearsal)
        program.forget_loop()
        sys.modules["__main__"] = main

    def serve(self, fd):
        """One run on the frame socket `fd`. Never returns."""
        try:
            gc.enable()
            # Memory that a run writes to is copied from the fork server's now, not while somebody waits.
            self._rehearse(_REHEARSAL[:1])
            self._channel.open(fd)
            self._channel.send(b'{"op":"ready"}')
            message = self._channel.receive()
            self._servers.host.told(message.get("servers"))
            _finish(self._channel, _run(message, self._servers, self._provided))
        except BaseException:
            # Without a result the host says that the worker ended without one.
            _exit(70)
        _exit(0)

    def _rehearse(self, sources):
        """Goes through runs without a host: what the interpreter makes on first use is then made once, not in each worker."""
        for source in sources:
            _run({"source": source, "params": {}, "output_bytes": 1000, "has_traceback": False, "has_guard": True}, self._servers, self._provided)


def _run(message, servers, provided):
    """The frame that ends the run."""
    source = message["source"].removeprefix("\ufeff")
    limit = message["output_bytes"]
    lines = source.splitlines() if "\f" not in source and "\v" not in source else source.split("\n")
    try:
        tree = program.parse(source)
        if message.get("has_outline"):
            program.compiled(tree)
            if message.get("has_check"):
                check.check(tree, servers, message["has_guard"])
            return _result(values.encode(outline.outline(tree), limit), [])
        if message["params"] or message.get("has_all"):
            failures.refuse(outline.faults_of_inputs(tree, message["params"], message.get("has_all")))
        check.check(tree, servers, message["has_guard"], message["params"])
        value = program.run(tree, source, message["params"], provided)
        program.finish_calls(servers.host.channel)
        contents = []
        data = values.encode(value, limit, contents=contents)
        return _result(data, contents)
    except ChannelClosed:
        raise
    except values.TooLarge:
        hint = "return a summary, or only the fields that are needed; `save(value)` keeps up to 16 MiB for a later run"
        text = f"the program's value is larger than {limit} bytes"
        return _error({"type": "output", "message": text, "hint": hint})
    except BaseException as error:
        _quiet()
        try:
            return _error(failures.describe(error, lines, message["has_traceback"]))
        except MemoryError:
            return _NO_MEMORY
        except BaseException:
            return _LAST_RESORT


def _result(data, contents):
    images = [{"mime_type": kind, "base64": values.base64.b64encode(image).decode()} for kind, image in contents]
    return b'{"op":"result","value":%s,"contents":%s}' % (data, values._encode(images).encode())


def _error(described):
    return b'{"op":"error","error":%s}' % values.encode(described, 1 << 20)


def _finish(channel, body):
    _quiet()
    for attempt in (output.flush, lambda: channel.send(body)):
        try:
            attempt()
        except ChannelClosed:
            return
        except BaseException:
            # A hook that the program left behind may raise once.
            _quiet()
            attempt()


def _quiet():
    """Takes away the hooks by which a program watches the code that runs after it."""
    for hook in (sys.settrace, sys.setprofile, threading.settrace, threading.setprofile):
        try:
            hook(None)
        except BaseException:
            continue
