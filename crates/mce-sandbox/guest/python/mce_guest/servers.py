"""`<server>.functions` and `<server>.aio`: modules that appear on import and ask the host only for what is used."""

import importlib
import importlib.machinery
import inspect
import keyword
import sys
import types

from .failures import ArgumentError, CallError, did_you_mean, similar

_PARTS = ("functions", "aio")


class OfType:
    """A value of which a program's text tells the type alone, by its name in JSON."""

    def __init__(self, name):
        self.name = name


# Types in JSON. Whatever else is given is known only when the program runs.
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


def arguments_of(stub, args, kwargs):
    """The named arguments of a call, in the order of the signature. Raises ArgumentError."""
    for message, hint, _ in faults_of(stub, args, kwargs):
        raise ArgumentError(message, function=stub["function"], hint=hint)
    return {**dict(zip([p["name"] for p in stub["parameters"]], args)), **kwargs}


def faults_of(stub, args, kwargs, is_open=False, is_written=False):
    """What is wrong with the arguments of a call: (message, hint, name) of each, with the name of an argument whose value is
    wrong. An open call may have further arguments. Types are
    looked at only where they are written in the text: the host looks at those of values."""
    parameters = stub["parameters"]
    names = [p["name"] for p in parameters]
    function = stub["function"]
    if len(args) > len(names):
        plural = "argument" if len(names) == 1 else "arguments"
        yield f"`{function}` takes {len(names)} {plural}, not {len(args)}", stub["signature"], None
        return
    given, meant = dict(zip(names, args)), set()
    for name, value in kwargs.items():
        if name not in names and not stub.get("open"):
            meant.add(similar(name, names))
            hint = did_you_mean(name, names) or f"its arguments: {', '.join(f'`{n}`' for n in names) or 'none'}"
            yield f"`{function}` has no argument `{name}`", hint, None
        elif name in given:
            yield f"`{function}` got `{name}` twice", None, None
        else:
            given[name] = value
    missing = [p["name"] for p in parameters if p["required"] and p["name"] not in given and p["name"] not in meant]
    if missing and not is_open:
        listed = ", ".join(f"`{name}`" for name in missing)
        yield f"`{function}` needs {listed}", stub["signature"], None
    for parameter in parameters:
        if parameter["name"] in given:
            value = given[parameter["name"]]
            fault = _wrong_literal(function, parameter, value) or is_written and _wrong_type(parameter, value)
            if fault:
                yield *fault, parameter["name"]


def _wrong_literal(function, parameter, value):
    """A text, number or truth value that is none of the argument's few known ones."""
    literals = parameter.get("literals")
    if not literals or type(value) not in (str, int, bool) or value in literals:
        return None
    listed = ", ".join(repr(literal) for literal in literals[:20])
    hint = (did_you_mean(value, literals) if type(value) is str else None) or f"one of: {listed}"
    return f"`{parameter['name']}` of `{function}` cannot be {value!r:.100}", hint


def _wrong_type(parameter, value):
    """A value of a type that is none of the argument's."""
    types = parameter.get("types")
    kind = value.name if isinstance(value, OfType) else _TYPES.get(type(value))
    is_number = kind == "integer" and "number" in types or "integer" in types and type(value) is float and value.is_integer() if types else True
    if kind is None or is_number or kind in types:
        return None
    got = f"the string `{value[:50]}`" if type(value) is str else f"{'an' if kind[0] in 'aio' else 'a'} {kind}"
    return f"`{parameter['name']}`: expected {' or '.join(types)}, got {got}", None


class Servers:
    """Finds server modules, and makes their functions from what the host describes."""

    def __init__(self, host):
        self.host = host
        self._stubs = {}
        self._complete = set()

    def install(self):
        """Behind the standard library, before everything else."""
        sys.meta_path.insert(len(sys.meta_path) - 1, self)

    def find_spec(self, name, path=None, target=None):
        """Called by the import system."""
        server, _, part = name.partition(".")
        if server in sys.stdlib_module_names or server in ("mce", "mce_guest") or (part and part not in _PARTS):
            return None
        try:
            if server not in self.host.servers():
                return None
        except CallError:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin="the host", is_package=not part)

    def create_module(self, spec):
        """Called by the import system."""
        server, _, part = spec.name.partition(".")
        return _FunctionsModule(self, server, part) if part else types.ModuleType(spec.name, f"Functions of the server `{server}`.")

    def exec_module(self, module):
        """Called by the import system."""
        server, _, part = module.__name__.partition(".")
        if not part:
            module.__getattr__ = lambda name: self._part_of(server, name)

    def insert(self, server):
        """Makes the modules of a server that has the name of a standard module, which itself stays as it is."""
        if server in self.host.servers():
            for part in _PARTS:
                sys.modules.setdefault(f"{server}.{part}", _FunctionsModule(self, server, part))

    def stubs(self, server, names):
        """Stubs by name, and the unknown names with their hints. Asks the host for what is not yet known."""
        known = self._stubs.setdefault(server, {})
        missing = [name for name in names if name not in known]
        if not names and server not in self._complete or missing:
            described = self.host.describe(server, missing)
            for stub in described["functions"]:
                known[stub["name"]] = stub
            if not names:
                self._complete.add(server)
            return known, {name: hint for name, hint in described["unknown"]}
        return known, {}

    def function(self, server, name, is_async):
        """A callable, or an AttributeError with a hint."""
        stubs, unknown = self.stubs(server, [name])
        if name not in stubs:
            error = AttributeError(f"server `{server}` has no function `{name[:100]}`")
            error.hint = unknown.get(name) or None
            raise error
        return _make_function(self.host, stubs[name], server, is_async)

    def _part_of(self, server, name):
        if name in _PARTS:
            return importlib.import_module(f"{server}.{name}")
        if name.startswith("__"):
            raise AttributeError(name)
        return self.function(server, name, False)


class _FunctionsModule(types.ModuleType):
    """Functions of one server, made when they are looked up."""

    def __init__(self, servers, server, part):
        super().__init__(f"{server}.{part}", f"Functions of the server `{server}`.")
        self.__dict__["_find"] = lambda name: servers.function(server, name, part == "aio")
        self.__dict__["_names"] = lambda: sorted(servers.stubs(server, [])[0])

    def __getattr__(self, name):
        if name == "__all__":
            return self._names()
        if name.startswith("__"):
            raise AttributeError(f"module `{self.__name__}` has no attribute `{name}`")
        function = self._find(name)
        self.__dict__[name] = function
        return function

    def __dir__(self):
        return self._names()


def _make_function(host, stub, server, is_async):
    if is_async:

        async def function(*args, **kwargs):
            return await host.call_async(stub["function"], "language", arguments_of(stub, args, kwargs))

        async def with_headers(*args, **kwargs):
            return await host.call_async(stub["function"], "language", arguments_of(stub, args, kwargs), True)

        async def page(arguments, address):
            return await host.call_async(stub["function"], "language", arguments_of(stub, (), arguments), True, address)

    else:

        def function(*args, **kwargs):
            return host.call(stub["function"], "language", arguments_of(stub, args, kwargs))

        def with_headers(*args, **kwargs):
            return host.call(stub["function"], "language", arguments_of(stub, args, kwargs), True)

        def page(arguments, address):
            return host.call(stub["function"], "language", arguments_of(stub, (), arguments), True, address)

    # Gives `value`, `status` and `headers`: links to further pages, rate limits, places. Of a tool: `value` and `content`.
    function.with_headers = function.with_content = with_headers
    # What `paginate` needs. A page has an address of its own if its arguments do not say all.
    function.page = page
    function.parameters = stub["parameters"]
    function.pagination = stub.get("pagination")
    function.__name__ = function.__qualname__ = stub["name"]
    function.__module__ = f"{server}.aio" if is_async else f"{server}.functions"
    function.__doc__ = stub["signature"]
    function.__signature__ = _signature(stub)
    return function


def _signature(stub):
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        inspect.Parameter(p["name"], kind, default=inspect.Parameter.empty if p["required"] else None)
        for p in sorted(stub["parameters"], key=lambda p: not p["required"])
        if p["name"].isidentifier() and not keyword.iskeyword(p["name"])
    ]
    return inspect.Signature(parameters)
