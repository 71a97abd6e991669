"""One run: waits for the program, runs it, reports its value or its error, and ends the process."""

import builtins
import gc
import json
import os
import random
import sys
import threading

import mce

from . import check, failures, output, program, values
from .channel import Channel, ChannelClosed
from .host import Host
from .servers import Servers

_LAST_RESORT = b'{"op":"error","error":{"type":"exception","message":"the program ended, and its error cannot be described"}}'
_NO_MEMORY = b'{"op":"error","error":{"type":"memory","message":"the program needs more memory than its limit allows"}}'

# Kept from here, so that a program that replaces them in their modules harms only itself.
_loads = json.JSONDecoder().decode
_exit = os._exit


def serve(fd):
    """Never returns."""
    try:
        channel = Channel(fd, lambda data: _loads(data.decode()))
        provided = _prepare(channel)
        channel.send(b'{"op":"ready"}')
        message = channel.receive()
        body = _run(message, *provided)
        _finish(channel, body)
    except BaseException:
        # Without a result the host says that the worker ended without one.
        _exit(70)
    _exit(0)


def _prepare(channel):
    gc.enable()
    if hasattr(sys, "set_int_max_str_digits"):
        # Integers are exact of any size; time is bounded by the host.
        sys.set_int_max_str_digits(0)
    random.seed()
    output.capture(channel.send, values.encode_text)
    host = Host(channel)
    servers = Servers(host)
    servers.install()
    mce._host = host
    failures.server_names = host.servers
    builtins.exit = builtins.quit = sys.exit
    program.allow_nested_asyncio_run()
    provided = {name: getattr(mce, name) for name in mce.__all__ if name not in ("acall_function", "call_function", "parallel")}
    return servers, provided


def _run(message, servers, provided):
    """The frame that ends the run."""
    source = message["source"].removeprefix("\ufeff")
    limit = message["output_bytes"]
    lines = source.splitlines() if "\f" not in source and "\v" not in source else source.split("\n")
    try:
        tree = program.parse(source)
        check.check(tree, servers)
        value = program.run(tree, source, message["params"], provided)
        contents = []
        data = values.encode(value, limit, contents=contents)
        return _result(data, contents)
    except ChannelClosed:
        raise
    except values.TooLarge:
        hint = "return a summary, or only the fields that are needed"
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
