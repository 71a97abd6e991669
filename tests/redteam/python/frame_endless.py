# attempt: announce a frame of a permitted size and send it byte by byte without end
# layer: frame, limit
# expect: harmless
# after: ended in time; host memory steady; other runs work; no leftover process; next run works
import os
import select
import socket
import stat
import struct
import threading
import time

from demo.functions import get_item


def frame_descriptor():
    """The lowest descriptor that is a socket, or None."""
    for fd in range(256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                return fd
        except OSError:
            continue
    return None


def tap(fd, action):
    """Runs `action` with a man in the middle on `fd`; returns the bytes sent and the bytes received."""
    real = socket.socket(fileno=os.dup(fd))
    ours, theirs = socket.socketpair(socket.AF_UNIX, real.type)
    theirs.setblocking(os.get_blocking(fd))
    sent, received, done = bytearray(), bytearray(), threading.Event()

    def pump():
        while not done.is_set():
            for source in select.select([ours, real], [], [], 0.02)[0]:
                data = source.recv(1 << 20)
                if not data:
                    return
                (sent if source is ours else received).extend(data)
                (real if source is ours else ours).sendall(data)

    os.dup2(theirs.fileno(), fd)
    try:
        pumping = threading.Thread(target=pump, daemon=True)
        pumping.start()
        acting = threading.Thread(target=action, daemon=True)
        acting.start()
        acting.join(3)
        done.set()
        pumping.join(1)
    finally:
        os.dup2(real.fileno(), fd)
    return bytes(sent), bytes(received)


def learn():
    """How the guest frames one host call: (descriptor, kind of framing, body)."""
    fd, sent = frame_descriptor(), b""
    if fd is None:
        raise SystemExit("no frame socket among the descriptors")
    try:
        sent, _ = tap(fd, lambda: get_item(id="1"))
    except Exception:
        pass
    for kind, form in (("be32", ">I"), ("le32", "<I")):
        if len(sent) > 4 and 0 < struct.unpack_from(form, sent)[0] <= len(sent) - 4:
            return fd, kind, sent[4 : 4 + struct.unpack_from(form, sent)[0]]
    if sent:
        return fd, "line" if b"\n" in sent else "bare", sent.split(b"\n")[0]
    return fd, "line", b'{"id": 1, "type": "call", "function": "demo.get_item", "arguments": {"id": "1"}}'


def wrap(kind, body):
    """`body` as one frame of the kind that the guest itself uses."""
    if kind in ("line", "bare"):
        return body + b"\n" * (kind == "line")
    return struct.pack(">I" if kind == "be32" else "<I", len(body)) + body


def send(fd, data, seconds=3.0):
    """Writes raw bytes to the frame socket for at most `seconds`; returns how many went out."""
    end, view = time.monotonic() + seconds, memoryview(data)
    while view and time.monotonic() < end:
        if select.select([], [fd], [], 0.05)[1]:
            try:
                view = view[os.write(fd, view[: 1 << 16]) :]
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:
                break
    return len(data) - len(view)


def drain(fd, seconds=0.5):
    """What the host sends in that time."""
    answer, end = bytearray(), time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.05)[0]:
            try:
                part = os.read(fd, 1 << 16)
            except OSError:
                break
            if not part:
                break
            answer += part
    return bytes(answer)


fd, kind, body = learn()
send(fd, wrap(kind, b" " * (4 << 20))[:1024] if kind in ("be32", "le32") else b'{"filler": "')
while True:
    send(fd, b" ", 0.05)
    time.sleep(0.005)
