"""Requests to the host: calls of functions, descriptions, searches. One object for each worker."""

import asyncio
import base64

from . import fetching, values
from .failures import ArgumentError, CallError, from_host

ARGUMENT_BYTES = 8 << 20
SAVE_BYTES = 16 << 20
FETCH_BYTES = 1 << 20
HEADERS = 200


class Host:
    """What a program may ask for."""

    def __init__(self, channel):
        self.channel = channel
        self._servers = None

    def call(self, function, naming, arguments, with_headers=False, page=None):
        """Calls a function and waits."""
        told = _result(self.channel.request(_call_body(function, naming, arguments, with_headers, page)))
        return fetching.answer(told) if with_headers else told

    async def call_async(self, function, naming, arguments, with_headers=False, page=None):
        """Calls a function without blocking the running loop."""
        body = _call_body(function, naming, arguments, with_headers, page)
        told = _result(await self.channel.request_async(body, asyncio.get_running_loop(), function))
        return fetching.answer(told) if with_headers else told

    def fetch(self, url, method, headers, body, json_value):
        """Sends a request to an allowed host, and gives a `Response`."""
        return fetching.response(self.send(*fetching.request(url, method, headers, body, json_value)))

    async def fetch_async(self, url, method, headers, body, json_value):
        """The same without blocking the running loop."""
        return fetching.response(await self.send_async(*fetching.request(url, method, headers, body, json_value)))

    def send(self, method, url, headers, body, follow_redirects=True):
        """Sends a request as it is: `{"status", "url", "headers", "body"}`."""
        return _result(self.channel.request(_fetch_body(method, url, headers, body, follow_redirects)))

    async def send_async(self, method, url, headers, body, follow_redirects=True):
        """The same without blocking the running loop."""
        request = _fetch_body(method, url, headers, body, follow_redirects)
        return _result(await self.channel.request_async(request, asyncio.get_running_loop(), "fetch"))

    def describe(self, server, names):
        """Stubs of functions: `{"functions": [...], "unknown": [[name, hint], ...]}`."""
        fields = b'"op":"describe","server":%s,"names":%s' % (_json(server), _json(names))
        return _result(self.channel.request(lambda number: b'{"id":%d,%s}' % (number, fields)))

    def check(self, calls):
        """What is certainly wrong with arguments that the text writes out: a list of texts for each call."""
        calls = [{"function": function, "arguments": arguments, "unknown": unknown} for function, arguments, unknown in calls]
        try:
            text = _json(calls)
        except (values.ValueProblem, values.TooLarge):
            return []
        return _result(self.channel.request(lambda number: b'{"id":%d,"op":"check","calls":%s}' % (number, text)))

    def save(self, value):
        """Keeps a value; gives its id."""
        try:
            text = values.encode(value, SAVE_BYTES, "value")
        except values.ValueProblem as problem:
            raise ArgumentError(str(problem), hint=problem.hint) from None
        except values.TooLarge:
            raise ArgumentError(f"the value is larger than {SAVE_BYTES} bytes", hint="save what is needed later only, or save it in parts") from None
        return _result(self.channel.request(lambda number: b'{"id":%d,"op":"save","value":%s}' % (number, text)))

    def load(self, handle):
        """The value under an id."""
        if not isinstance(handle, str):
            raise ArgumentError("the id of a value is a text")
        text = _json(handle)
        return _result(self.channel.request(lambda number: b'{"id":%d,"op":"load","handle":%s}' % (number, text)))

    def told(self, servers):
        """Takes the names of all servers from the host, if it tells them."""
        self._servers = servers

    def servers(self):
        """The names of all servers."""
        if self._servers is None:
            listed = _result(self.channel.request(lambda number: b'{"id":%d,"op":"servers"}' % number))
            self._servers = [entry if isinstance(entry, str) else entry["name"] for entry in listed]
        return self._servers

    async def ask_async(self, request):
        """The answer of the client's language model."""
        try:
            text = values.encode(request, ARGUMENT_BYTES, "messages")
        except values.TooLarge:
            raise ArgumentError(f"the messages are larger than {ARGUMENT_BYTES} bytes", hint="send only what the model needs") from None
        body = lambda number: b'{"id":%d,"op":"ask","arguments":%s}' % (number, text)
        return _result(await self.channel.request_async(body, asyncio.get_running_loop(), "llm"))

    async def search_async(self, query, by, server, limit):
        """Functions that match."""
        if not isinstance(query, str) or not (server is None or isinstance(server, str)):
            raise ArgumentError("the words of a search and the name of a server are texts")
        if not (limit is None or type(limit) is int and 0 < limit < 1 << 31):
            raise ArgumentError("the limit of a search is a whole number from 1")
        fields = b'"op":"search","query":%s,"by":%s,"server":%s,"limit":%s' % (_json(query), _json(by), _json(server), _json(limit))
        answer = await self.channel.request_async(lambda number: b'{"id":%d,%s}' % (number, fields), asyncio.get_running_loop(), "search_tools")
        return _result(answer)


def _call_body(function, naming, arguments, with_headers, page):
    if not isinstance(function, str):
        raise ArgumentError(f"the name of a function is a text, not `{type(function).__name__}`")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise ArgumentError("arguments are given as one dict", function=function[:200], hint='write `{"name": value}`')
    for name, value in arguments.items():
        # As null it would not be what was given, but nothing at all.
        if isinstance(value, float) and value - value != 0:
            text = f"`{str(name)[:100]}` is `{value}`, a number that JSON does not have"
            raise ArgumentError(text, function=function[:200], hint="leave it out, or give a finite number")
    try:
        text = values.encode(arguments, ARGUMENT_BYTES, "arguments")
    except values.ValueProblem as problem:
        raise ArgumentError(str(problem), function=function[:200], hint=problem.hint) from None
    except values.TooLarge:
        raise ArgumentError(f"the arguments are larger than {ARGUMENT_BYTES} bytes", function=function[:200]) from None
    fields = b'"op":"call","function":%s,"naming":"%s","arguments":%s' % (_json(function), naming.encode(), text)
    if with_headers:
        fields += b',"with_headers":true'
    if page is not None:
        fields += b',"page":' + _json(page)
    return lambda number: b'{"id":%d,%s}' % (number, fields)


def _fetch_body(method, url, headers, body, follow_redirects):
    fields = b'"op":"fetch","method":%s,"url":%s,"headers":%s' % tuple(_fetch_json(part) for part in (method, url, headers))
    if len(headers) > HEADERS:
        raise ArgumentError(f"a request has at most {HEADERS} header fields")
    if body is not None:
        if len(body) > fetching.BODY_BYTES:
            raise ArgumentError(f"the body is larger than {fetching.BODY_BYTES} bytes")
        fields += b',"body":"%s"' % base64.b64encode(body)
    if not follow_redirects:
        fields += b',"follow_redirects":false'
    return lambda number: b'{"id":%d,%s}' % (number, fields)


def _fetch_json(value):
    try:
        return values.encode(value, FETCH_BYTES, "request")
    except values.TooLarge:
        raise ArgumentError(f"the URL and the header fields are larger than {FETCH_BYTES} bytes") from None


def _json(value):
    return values.encode(value, ARGUMENT_BYTES, "argument")


def _result(answer):
    if "failure" in answer:
        raise from_host(answer["failure"])
    if "bytes" in answer:
        return base64.b64decode(answer["bytes"])
    if "value" not in answer:
        raise CallError("the host's answer has no value")
    return answer["value"]
