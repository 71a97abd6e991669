"""Values of a program become JSON by these rules.

- Integers are exact, of any size. `nan` and infinities are null. Decimals and fractions are texts, complex numbers too.
- Dates and times are ISO 8601 texts, durations seconds. UUIDs, paths and other simple named things are texts.
- Bytes are `{"base64": ...}`. Sets are lists, sorted. Tuples and iterators are lists; named tuples are objects.
- Dataclasses, pydantic models, simple namespaces and mappings are objects; keys become texts.
- Enum members are their values. Exceptions are `{"error": "Type: text"}`.
- numpy and pandas values are numbers, lists, and lists of rows. Figures and images become content blocks.
- Lone surrogates become U+FFFD. Anything else is an error that says where in the value it is.

No method of a hostile object is trusted for size: what is produced is counted while it is produced.
"""

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import io
import ipaddress
import json
import pathlib
import re
import types
import uuid
from collections import abc

DEPTH = 100
CONTENT_BYTES = 8 << 20

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")).encode

_TEXTS = (
    uuid.UUID,
    pathlib.PurePath,
    decimal.Decimal,
    fractions.Fraction,
    complex,
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    ipaddress.IPv4Network,
    ipaddress.IPv6Network,
)
_ITERATORS = (range, abc.Iterator, abc.KeysView, abc.ValuesView, abc.ItemsView, collections.deque)


class ValueProblem(Exception):
    """A value has no JSON form."""

    def __init__(self, message, hint=None):
        super().__init__(message)
        self.hint = hint


class TooLarge(Exception):
    """A value needs more bytes than it may."""


def clean_text(text):
    """The text without lone surrogates; pairs of them become the character that they mean."""
    if text.isascii():
        return text
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encode_text(text):
    """JSON text of a string."""
    return _encode(clean_text(text))


def encode(value, limit_bytes, name="result", contents=None):
    """JSON text of a value, in UTF-8. `contents` collects (MIME type, bytes); without it images are refused.

    Raises ValueProblem, TooLarge, and whatever the value's own code raises.
    """
    plain = _Plain(limit_bytes, contents).convert(value, name, 0)
    data = _encode(plain).encode()
    if len(data) > limit_bytes:
        raise TooLarge
    return data


class _Plain:
    """One conversion to plain lists, dicts, texts and numbers."""

    def __init__(self, limit_bytes, contents):
        self._left = limit_bytes
        self._contents = contents
        self._path = set()

    def convert(self, value, where, depth):
        kind = type(value)
        if kind is str:
            self._spend(len(value))
            return clean_text(value)
        if value is None or kind is bool:
            self._spend(2)
            return value
        if kind is int:
            self._spend(1 + value.bit_length() // 4)
            return value
        if kind is float:
            self._spend(2)
            return value if value - value == 0 else None
        if depth >= DEPTH:
            raise ValueProblem(f"the value is nested deeper than {DEPTH} levels at `{_short(where)}`", "return a flatter value")
        if id(value) in self._path:
            raise ValueProblem(f"the value contains itself at `{_short(where)}`", "return a value without cycles")
        self._path.add(id(value))
        try:
            if kind is dict:
                return self._object(value.items(), where, depth)
            if kind is list or kind is tuple:
                return self._list(value, where, depth)
            return self._other(value, kind, where, depth)
        finally:
            self._path.discard(id(value))

    def _spend(self, count):
        # A lower bound: each value has a separator beside its own text.
        self._left -= count + 1
        if self._left < 0:
            raise TooLarge

    def _object(self, items, where, depth):
        self._spend(1)
        plain = {}
        for key, value in items:
            name = key if type(key) is str else self._key(key, where)
            self._spend(len(name) + 2)
            plain[clean_text(name)] = self.convert(value, f"{where}.{name}" if len(where) < 200 else where, depth + 1)
        return plain

    def _list(self, values, where, depth):
        self._spend(1)
        place = where if len(where) < 200 else ""
        return [self.convert(value, f"{place}[{index}]" if place else where, depth + 1) for index, value in enumerate(values)]

    def _key(self, key, where):
        plain = self.convert(key, where, DEPTH - 2)
        if isinstance(plain, str):
            return plain
        return _encode(plain)

    def _other(self, value, kind, where, depth):
        """Subclasses and library types. `type` cannot lie, unlike `__class__`."""
        if issubclass(kind, enum.Enum):
            return self.convert(value.value, where, depth + 1)
        for base, exact in ((bool, bool), (int, int.__int__), (float, float.__float__)):
            if issubclass(kind, base) and not _is_of(kind, "numpy"):
                return self.convert(exact(value), where, depth)
        if issubclass(kind, str):
            return self.convert(str.__getitem__(value, slice(None)), where, depth)
        if issubclass(kind, (bytes, bytearray, memoryview)):
            return self._bytes(value)
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return self._object(zip(kind._fields, tuple.__iter__(value)), where, depth)
        for base in (list, tuple):
            if issubclass(kind, base):
                return self._list(base.__iter__(value), where, depth)
        if issubclass(kind, dict):
            items = collections.OrderedDict.items if issubclass(kind, collections.OrderedDict) else dict.items
            return self._object(items(value), where, depth)
        if issubclass(kind, (set, frozenset)):
            base = set if issubclass(kind, set) else frozenset
            return self._sorted(self._list(base.__iter__(value), where, depth))
        return self._named(value, kind, where, depth)

    def _named(self, value, kind, where, depth):
        if issubclass(kind, (datetime.datetime, datetime.date, datetime.time)):
            text = value.isoformat()
            return None if text == "NaT" else self.convert(text, where, depth)
        if issubclass(kind, datetime.timedelta):
            return value.total_seconds()
        if issubclass(kind, decimal.Decimal) and not value.is_finite():
            return None
        if issubclass(kind, _TEXTS):
            return self.convert(str(value), where, depth)
        if issubclass(kind, re.Pattern):
            return self.convert(value.pattern, where, depth + 1)
        for library, convert in _LIBRARIES.items():
            if _is_of(kind, library):
                plain = convert(self, value, where, depth)
                if plain is not NotImplemented:
                    return plain
        if callable(getattr(kind, "model_dump", None)):
            return self.convert(value.model_dump(), where, depth + 1)
        if dataclasses.is_dataclass(kind):
            return self._object(((f.name, getattr(value, f.name)) for f in dataclasses.fields(kind)), where, depth)
        if issubclass(kind, types.SimpleNamespace):
            return self._object(vars(value).items(), where, depth)
        if issubclass(kind, (abc.Mapping, types.MappingProxyType)):
            return self._object(((key, value[key]) for key in value), where, depth)
        if issubclass(kind, _ITERATORS):
            return self._list(value, where, depth)
        if issubclass(kind, BaseException):
            return {"error": self.convert(f"{kind.__name__}: {value}"[:2000], where, depth + 1)}
        if issubclass(kind, abc.Awaitable):
            raise ValueProblem(f"`{_short(where)}` was never awaited", "put `await` before the call, or use the function from `<server>.functions`")
        raise ValueProblem(
            f"`{_short(where)}` is of type `{_short(kind.__name__)}`, which has no JSON form",
            "return plain data: dict, list, str, int, float, bool or None",
        )

    def _bytes(self, value):
        data = bytes(value)
        self._spend(len(data) * 4 // 3 + 12)
        return {"base64": base64.b64encode(data).decode()}

    def _sorted(self, values):
        try:
            return sorted(values)
        except TypeError:
            return sorted(values, key=_encode)

    def _numpy(self, value, where, depth):
        if hasattr(value, "tolist"):
            self._spend(2 * getattr(value, "size", 1))
            plain = value.tolist()
            # A scalar without a counterpart gives itself.
            return NotImplemented if type(plain) is type(value) else self.convert(plain, where, depth + 1)
        return NotImplemented

    def _pandas(self, value, where, depth):
        name = type(value).__name__
        self._spend(2 * getattr(value, "size", 1) if isinstance(getattr(value, "size", 1), int) else 1)
        if name in ("NAType", "NaTType"):
            return None
        if name == "DataFrame":
            if type(value.index).__name__ != "RangeIndex":
                value = value.reset_index()
            return self.convert(value.to_dict(orient="records"), where, depth + 1)
        if name == "Series" and type(value.index).__name__ != "RangeIndex":
            return self.convert(value.to_dict(), where, depth + 1)
        if hasattr(value, "tolist"):
            return self.convert(value.tolist(), where, depth + 1)
        if name in ("Period", "Interval"):
            return self.convert(str(value), where, depth + 1)
        return NotImplemented

    def _polars(self, value, where, depth):
        for method in ("to_dicts", "to_list"):
            if hasattr(value, method):
                return self.convert(getattr(value, method)(), where, depth + 1)
        return NotImplemented

    def _matplotlib(self, value, where, depth):
        figure = value if hasattr(value, "savefig") else getattr(value, "figure", None)
        return self._image(where, lambda file: figure.savefig(file, format="png")) if figure is not None else NotImplemented

    def _pillow(self, value, where, depth):
        return self._image(where, lambda file: value.save(file, format="PNG")) if hasattr(value, "save") else NotImplemented

    def _image(self, where, write):
        if self._contents is None:
            raise ValueProblem(f"`{_short(where)}` is an image, which no function takes")
        file = io.BytesIO()
        write(file)
        self._contents.append(("image/png", file.getvalue()))
        if sum(len(data) for _, data in self._contents) > CONTENT_BYTES:
            raise TooLarge
        return f"image {len(self._contents)}"


_LIBRARIES = {
    "numpy": _Plain._numpy,
    "pandas": _Plain._pandas,
    "polars": _Plain._polars,
    "matplotlib": _Plain._matplotlib,
    "PIL": _Plain._pillow,
}


def _is_of(kind, library):
    return any(str(getattr(base, "__module__", "")).partition(".")[0] == library for base in kind.__mro__)


def _short(text):
    return text if len(text) <= 120 else text[:117] + "..."
