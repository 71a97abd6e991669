"""`httpx` in programs: its requests go through the host. Nothing here is imported unless a program imports `httpx`."""

import base64
import importlib.machinery
import sys

from .failures import CallError

# The connection is the host's. `accept-encoding` too: answers come decompressed.
_OF_THE_CONNECTION = ("accept-encoding", "connection", "content-length", "transfer-encoding")


class HttpxImports:
    """Changes `httpx` when it is imported, or now if it is already."""

    def __init__(self, host):
        self._host = host

    def install(self):
        """Before the finders of libraries."""
        if "httpx" in sys.modules:
            _connect(sys.modules["httpx"], self._host)
        else:
            sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        """Called by the import system."""
        spec = importlib.machinery.PathFinder.find_spec(name) if name == "httpx" else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            _connect(module, self._host)

        spec.loader.exec_module = exec_module
        return spec


def _connect(httpx, host):
    """Puts the host in the place of the network, in all clients."""
    if not hasattr(httpx, "AsyncHTTPTransport"):
        # Something else by that name.
        return

    def handle_request(self, request):
        body = request.read()
        try:
            return _response(httpx, host.send(*_request(request, body), follow_redirects=False))
        except CallError as error:
            _raise(httpx, error, request)

    async def handle_async_request(self, request):
        body = await request.aread()
        try:
            return _response(httpx, await host.send_async(*_request(request, body), follow_redirects=False))
        except CallError as error:
            _raise(httpx, error, request)

    def nothing(self, *args, **kwargs):
        return None

    async def nothing_async(self, *args, **kwargs):
        return None

    def itself(self):
        return self

    async def itself_async(self):
        return self

    transport, async_transport = httpx.HTTPTransport, httpx.AsyncHTTPTransport
    transport.__init__ = async_transport.__init__ = nothing
    transport.handle_request, async_transport.handle_async_request = handle_request, handle_async_request
    transport.close, async_transport.aclose = nothing, nothing_async
    transport.__enter__, async_transport.__aenter__ = itself, itself_async
    transport.__exit__, async_transport.__aexit__ = nothing, nothing_async


def _request(request, body):
    url = request.url.copy_with(username="", password="") if request.url.userinfo else request.url
    named = url.netloc.decode("ascii").lower()
    fields = []
    for name, value in request.headers.raw:
        name, value = name.decode("latin-1"), value.decode("latin-1")
        is_own_host = name.lower() == "host" and value.lower() == named
        if name.lower() not in _OF_THE_CONNECTION and not is_own_host:
            fields.append((name, value))
    return request.method, str(url), fields, body or None


def _response(httpx, answer):
    content = httpx.ByteStream(base64.b64decode(answer["body"]))
    headers = [(name, value) for name, value in answer["headers"]]
    return httpx.Response(answer["status"], headers=headers, stream=content, extensions={"http_version": b"HTTP/1.1"})


def _raise(httpx, error, request):
    """Raises what `httpx` does for it; what is refused stays what it is."""
    kind = {"timeout": httpx.ReadTimeout, "api": httpx.ConnectError}.get(error.type)
    if kind is None:
        raise error
    raised = kind(error.message, request=request)
    raised.hint = error.hint
    raise raised from error
