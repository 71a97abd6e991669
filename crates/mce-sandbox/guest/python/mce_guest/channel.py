"""The worker's end of the frame socket: frames out, answers in, from any thread and from event loops.

A frame is a length (u32, little-endian) and that many bytes of JSON. Answers are matched to requests by id.
"""

import os
import select
import struct
import threading

READ_BYTES = 1 << 18


class ChannelClosed(BaseException):
    """The host has closed the socket: the run is over. No program is meant to catch it."""


class Channel:
    """One frame socket. Writing never waits without reading, so that neither side can block the other."""

    def __init__(self, loads):
        self._fd = None
        self._loads = loads
        self._buffer = bytearray()
        self._state = threading.Condition()
        self._writing = threading.Lock()
        self._is_reading = False
        self._next_id = 0
        self._answers = {}
        self._futures = {}
        self._messages = []

    def open(self, fd):
        """Begins with this socket. Until then, in the fork server, what is sent goes nowhere."""
        os.set_blocking(fd, False)
        self._fd = fd

    def send(self, body):
        """Writes one frame."""
        if self._fd is None:
            return
        view = memoryview(struct.pack("<I", len(body)) + body)
        with self._writing:
            while view:
                try:
                    view = view[os.write(self._fd, view) :]
                except BlockingIOError:
                    self._wait(is_writing=True)
                    self._read_once()

    def receive(self):
        """The next frame that answers no request."""
        while not self._messages:
            self._wait()
            self._read_once()
        return self._messages.pop(0)

    def request(self, make_body):
        """Sends a request and waits for its answer. `make_body` gets the id."""
        number = self._new_id()
        self.send(make_body(number))
        with self._state:
            while number not in self._answers:
                if self._is_reading:
                    self._state.wait()
                    continue
                self._is_reading = True
                self._state.release()
                try:
                    self._wait()
                    self._read_once()
                finally:
                    self._state.acquire()
                    self._is_reading = False
                    self._state.notify_all()
            return self._answers.pop(number)

    async def request_async(self, make_body, loop, name):
        """The same without blocking `loop`. `name` tells what it is for."""
        number = self._new_id()
        future = loop.create_future()
        self._futures[number] = (future, loop, name)
        if not any(other is loop for key, (_, other, _) in list(self._futures.items()) if key != number):
            loop.add_reader(self._fd, self._read_once)
        try:
            self.send(make_body(number))
            return await future
        finally:
            self._futures.pop(number, None)
            if not any(other is loop for _, other, _ in list(self._futures.values())):
                loop.remove_reader(self._fd)

    def under_way(self, loop):
        """Futures of `loop` for requests without an answer, and what they are for."""
        waiting = [(future, name) for future, other, name in list(self._futures.values()) if other is loop and not future.done()]
        return [future for future, _ in waiting], [name for _, name in waiting]

    def _new_id(self):
        with self._state:
            self._next_id += 1
            return self._next_id

    def _wait(self, is_writing=False):
        poll = select.poll()
        poll.register(self._fd, select.POLLIN | (select.POLLOUT if is_writing else 0))
        poll.poll()

    def _read_once(self):
        """Reads what is there, and hands out the answers in it."""
        with self._state:
            try:
                data = os.read(self._fd, READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                raise ChannelClosed("the host has closed the run")
            self._buffer += data
            start = 0
            while len(self._buffer) - start >= 4:
                (size,) = struct.unpack_from("<I", self._buffer, start)
                if len(self._buffer) - start - 4 < size:
                    break
                message = self._loads(bytes(self._buffer[start + 4 : start + 4 + size]))
                start += 4 + size
                self._deliver(message)
            del self._buffer[:start]
            self._state.notify_all()

    def _deliver(self, message):
        number = message.get("id")
        if number is None:
            self._messages.append(message)
        elif number in self._futures:
            future, loop, _ = self._futures[number]
            loop.call_soon_threadsafe(lambda: future.done() or future.set_result(message))
        elif 0 < number <= self._next_id:
            self._answers[number] = message
