"""Requests of a program's own: what is asked of the host, and the answer as the program gets it."""

import base64
import codecs
import dataclasses
import json

from . import values
from .failures import ApiError, ArgumentError

BODY_BYTES = 6 << 20


class Headers(dict):
    """Header fields by name, in any case. Fields that came several times are joined with commas."""

    def __init__(self, pairs=()):
        super().__init__()
        for name, value in pairs:
            key = name.lower()
            self[key] = f"{self[key]}, {value}" if key in self else value

    def __getitem__(self, name):
        return super().__getitem__(_key(name))

    def __contains__(self, name):
        return super().__contains__(_key(name))

    def get(self, name, default=None):
        """The field, or `default`."""
        return super().get(_key(name), default)


@dataclasses.dataclass(frozen=True)
class Response:
    """The answer to `fetch`, whatever its status."""

    status: int
    url: str
    headers: Headers
    content: bytes = dataclasses.field(repr=False)

    @property
    def ok(self):
        """Whether the status is 200 to 299."""
        return 200 <= self.status < 300

    @property
    def text(self):
        """The content as text, in the charset that the answer names, else UTF-8."""
        _, _, charset = self.headers.get("content-type", "").lower().partition("charset=")
        try:
            codec = codecs.lookup(charset.partition(";")[0].strip(' "') or "utf-8")
            return self.content.decode(codec.name, "replace")
        except (LookupError, ValueError):
            return self.content.decode("utf-8", "replace")

    def json(self):
        """The content as JSON. Raises ValueError."""
        return json.loads(self.content)

    def raise_for_status(self):
        """The answer itself, or ApiError for a status from 400."""
        if self.status >= 400:
            raise ApiError(f"the host answered {self.status}", status=self.status, body=self.text)
        return self


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a function gave, with the status and the telling header fields of the API's answer."""

    value: object
    status: int
    headers: Headers


@dataclasses.dataclass(frozen=True)
class ToolAnswer:
    """What a tool gave, and all the blocks of its answer."""

    value: object
    content: list


def request(url, method, headers, body, json_value):
    """The arguments of `Host.fetch`. Raises ArgumentError."""
    if not isinstance(url, str) or not isinstance(method, str):
        raise ArgumentError("`fetch` takes a URL and a method as texts", hint='write `fetch("https://...", method="POST")`')
    fields = pairs(headers or {})
    if json_value is not None:
        if body is not None:
            raise ArgumentError("`fetch` takes `body` or `json`, not both")
        body = _json_body(json_value)
        if all(name.lower() != "content-type" for name, _ in fields):
            fields.append(("content-type", "application/json"))
    return method, url, fields, _bytes(body)


def pairs(headers):
    """Header fields as a list of names and values."""
    items = headers.items() if hasattr(headers, "items") else headers
    try:
        return [(_text(name), _text(value)) for name, value in items]
    except (TypeError, ValueError):
        raise ArgumentError("header fields are a dict of texts, or a list of pairs") from None


def response(answer):
    """The object for what the host answered."""
    return Response(answer["status"], answer["url"], Headers(answer["headers"]), base64.b64decode(answer["body"]))


def answer(told):
    """The object for what the host answered to a call with headers."""
    value = told["value"] if "value" in told else base64.b64decode(told["base64"])
    if "content" in told:
        return ToolAnswer(value, told["content"])
    return Answer(value, told["status"], Headers(told["headers"]))


def _key(name):
    return name.lower() if isinstance(name, str) else name


def _text(value):
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("latin-1")
    if isinstance(value, str) or type(value) in (int, float):
        return str(value)
    raise TypeError


def _bytes(body):
    if isinstance(body, str):
        body = values.clean_text(body).encode()
    if not isinstance(body, (bytes, bytearray, memoryview, type(None))):
        raise ArgumentError("`body` is text or bytes", hint="give plain data as `json=`")
    return None if body is None else bytes(body)


def _json_body(value):
    try:
        return values.encode(value, BODY_BYTES, "json")
    except values.ValueProblem as problem:
        raise ArgumentError(str(problem), hint=problem.hint) from None
    except values.TooLarge:
        raise ArgumentError(f"the body is larger than {BODY_BYTES} bytes") from None
