"""`print` and friends: each line leaves the worker at once, so that it survives whatever ends the worker."""

import codecs
import io
import sys

PIECE_BYTES = 1 << 15


class _LogStream(io.RawIOBase):
    """Bytes written become log frames."""

    def __init__(self, send, encode):
        self._send = send
        self._encode = encode
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self):
        return True

    def write(self, data):
        view = memoryview(data).cast("B")
        for start in range(0, len(view), PIECE_BYTES):
            text = self._decoder.decode(view[start : start + PIECE_BYTES])
            if text:
                self._send(b'{"op":"log","text":%s}' % self._encode(text).encode())
        return len(view)


def _replace(error):
    # The encoder takes bytes only here; pairs of surrogates become the character that they mean.
    halves = error.object[error.start : error.end]
    return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode(), error.end


def capture(send, encode):
    """Puts log frames in place of both streams. `encode` makes JSON text of a string."""
    codecs.register_error("mce-replace", _replace)
    for name in ("stdout", "stderr"):
        raw = io.BufferedWriter(_LogStream(send, encode), 1 << 16)
        stream = io.TextIOWrapper(raw, encoding="utf-8", errors="mce-replace", line_buffering=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def flush():
    """Sends what is left of both streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
