"""Checks a program against the catalog before it starts: then nothing has happened yet.

It refuses only what is certain: names that are bound once, at import, and arguments that are written out. All that is found is
told at once.
"""

import ast
import builtins
import sys

from .failures import CallError, Refused, refuse, similar
from .guard import guard
from .servers import OfType, faults_of
from .written import Writer, constants, pointer

# Calls whose arguments the host looks at.
_WRITTEN_CALLS = 100


def check(tree, servers, has_guard=False, inputs=()):
    """Raises Refused for a function, an argument, a literal or a field that does not exist, and for what cannot work here."""
    try:
        imports = _Imports()
        imports.visit(tree)
        found = guard(tree) if has_guard else []
        if imports.functions or imports.modules or imports.stars:
            found += _faults(tree, imports, servers, inputs)
    except RecursionError:
        # A very deep tree is not checked beforehand; each call is checked when it is made.
        return
    refuse(found)


def _faults(tree, imports, servers, inputs):
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls += [paged for call in calls if (paged := _paged(call, imports))]
    wanted = {}
    for server, name, _, node in imports.functions.values():
        wanted.setdefault(server, {})[name] = node
    of_modules = {}
    for call in calls:
        server, part, name = _module_call(call.func, imports.modules)
        if server and not name.startswith("_"):
            of_modules[call] = server, part, name
            wanted.setdefault(server, {}).setdefault(name, None if server in imports.guarded else call.func)
    for server in {*wanted, *(server for server, _ in imports.modules.values())} & sys.stdlib_module_names:
        servers.insert(server)
    if len(imports.stars) == 1:
        # Of what is called and nobody else defines, what the server has is meant.
        [(server, part)] = imports.stars
        for call in calls:
            name = getattr(call.func, "id", None)
            if name and name not in imports.rebound and name not in imports.functions and not hasattr(builtins, name):
                imports.functions[name] = server, name, part, None
                wanted.setdefault(server, {}).setdefault(name, None)
    found, stubs = [], {}
    for server, names in wanted.items():
        stubs[server] = _stubs(servers, server, names, found)
    known, written, single = {}, [], _single_values(tree)
    writer = Writer(constants(single, tree, inputs))
    for call in calls:
        called = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr in ("with_headers", "with_content") else call.func
        if call in of_modules:
            server, part, name = of_modules[call]
        elif isinstance(called, ast.Name) and called.id in imports.functions and called.id not in imports.rebound:
            server, name, part, _ = imports.functions[called.id]
        else:
            continue
        stub = stubs[server].get(name)
        if stub is not None:
            faults = _call_faults(call, stub)
            found += [fault for _, fault in faults]
            written.append((call, stub, _written(call, stub, {name for name, _ in faults}, writer)))
            known[call] = stub, part == "aio", called is not call.func
    return found + _Uses(tree, known, single).found + _host_faults(servers.host, written)


def _paged(call, imports):
    """The first call that `paginate(function, {...})` makes."""
    is_paged = isinstance(call.func, ast.Name) and call.func.id in imports.paginators and call.func.id not in imports.rebound
    match call.args if is_paged else ():
        case [function, ast.Dict(keys, values)] if all(isinstance(key, ast.Constant) and type(key.value) is str for key in keys):
            arguments = [ast.keyword(key.value, value) for key, value in zip(keys, values)]
            return ast.copy_location(ast.Call(function, [], arguments), call)
    return None


def _stubs(servers, server, names, found):
    try:
        known, unknown = servers.stubs(server, list(names))
    except CallError:
        # No such server, or it cannot be asked now: the import itself says so, with all it knows.
        return {}
    for name, node in names.items():
        if name not in known and node is not None:
            hint = unknown.get(name) or None
            found.append(Refused(f"server `{server}` has no function `{name[:100]}`", node.lineno, hint, f"{server}.{name}"[:200]))
    return known


def _is_open(call):
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


def _call_faults(call, stub):
    """What is wrong with a call, each with the argument that it is about, if it is about the value of one."""
    is_open = _is_open(call)
    args = [] if is_open else [_literal(node) for node in call.args]
    kwargs = {k.arg: _literal(k.value) for k in call.keywords if k.arg}
    faults = faults_of(stub, args, kwargs, is_open, True)
    return [(name, Refused(message, call.lineno, hint, stub["function"])) for message, hint, name in faults]


def _written(call, stub, faulty, writer):
    """The arguments of a call that are written out and not yet found wrong, and the pointers of what is not known in them."""
    names = [p["name"] for p in stub["parameters"]]
    nodes = {} if _is_open(call) else dict(zip(names, call.args))
    nodes.update((k.arg, k.value) for k in call.keywords if k.arg in names)
    writer.unknown, arguments = [], {}
    for name, node in nodes.items():
        path = f"/{pointer(name)}"
        value = None if name in faulty else writer.read(node, path)
        if value is not None:
            arguments[name] = value
    return arguments, writer.unknown


def _host_faults(host, written):
    """What the host, which has the schemas, finds wrong with arguments that are written out."""
    written = [(call, stub, arguments, unknown) for call, stub, (arguments, unknown) in written if arguments][:_WRITTEN_CALLS]
    if not written:
        return []
    try:
        found = host.check([(stub["function"], arguments, unknown) for _, stub, arguments, unknown in written])
    except CallError:
        # Each call is checked when it is made.
        return []
    return [Refused(text, call.lineno, None, stub["function"]) for (call, stub, *_), texts in zip(written, found) for text in texts]


def _literal(node):
    """The value that is written out, as far as it is; else the node itself, of which nothing is known."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        number = node.operand.value
        return -number if type(number) in (int, float) else node
    if isinstance(node, ast.Constant):
        return node.value
    for kind, nodes in (("array", (ast.List, ast.ListComp, ast.Tuple)), ("object", (ast.Dict, ast.DictComp)), ("string", ast.JoinedStr)):
        if isinstance(node, nodes):
            return OfType(kind)
    return node


def _module_call(function, modules):
    """(server, part, name) of `alias.name(...)` or `server.functions.name(...)`, else ("", "", "")."""
    if not isinstance(function, ast.Attribute):
        return "", "", ""
    path, node = [], function.value
    while isinstance(node, ast.Attribute):
        path.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        path.insert(0, node.id)
        return *modules.get(".".join(path), ("", "")), function.attr
    return "", "", ""


class _Guarded(ast.NodeVisitor):
    """Knows whether it is in a `try` with a handler, where nothing is certain."""

    _is_guarded = False

    def visit_Try(self, node):
        was, self._is_guarded = self._is_guarded, self._is_guarded or bool(node.handlers)
        for statement in node.body:
            self.visit(statement)
        self._is_guarded = was
        for statement in [*node.handlers, *node.orelse, *node.finalbody]:
            self.visit(statement)

    visit_TryStar = visit_Try


class _Uses(_Guarded):
    """How the values of known calls are used: awaited or not, and by which fields."""

    def __init__(self, tree, known, names):
        self.known = known
        self.found = []
        self.names = names
        self.visit(tree)

    def _tell(self, node, message, hint, stub):
        if not self._is_guarded:
            self.found.append(Refused(message, node.lineno, hint, stub["function"]))

    def _value_of(self, node):
        """The stub whose value an expression is, and whether that must still be awaited."""
        if isinstance(node, ast.Name):
            node = self.names.get(node.id)
        is_awaited = isinstance(node, ast.Await)
        call = node.value if is_awaited else node
        stub, is_aio, is_whole = self.known.get(call, (None, False, False))
        if stub is None or is_whole or is_awaited and not is_aio:
            return None, False
        return stub, is_aio and not is_awaited

    def visit_Await(self, node):
        stub, is_aio, _ = self.known.get(node.value, (None, True, False))
        if stub and not is_aio:
            server = stub["function"].partition(".")[0]
            hint = f"leave out `await`, or import it from `{server}.aio`"
            self._tell(node, f"`{stub['function']}` of `{server}.functions` gives its value at once", hint, stub)
        self.generic_visit(node)

    def visit_Expr(self, node):
        stub, is_aio, _ = self.known.get(node.value, (None, False, False))
        is_last = node is self.last
        if stub and is_aio and not is_last:
            self._tell(node, f"`{stub['function']}` of `aio` is called and never awaited", "put `await` before the call", stub)
        self.generic_visit(node)

    def visit_Module(self, node):
        self.last = node.body[-1] if node.body else None
        self.generic_visit(node)

    def visit_For(self, node):
        stub, is_coroutine = self._value_of(node.iter)
        if stub and is_coroutine:
            self._tell(node.iter, f"the value of `{stub['function']}` is used before it is awaited", "put `await` before the call", stub)
        self.generic_visit(node)

    def visit_Subscript(self, node):
        stub, is_coroutine = self._value_of(node.value)
        if stub and is_coroutine:
            self._tell(node, f"the value of `{stub['function']}` is used before it is awaited", "put `await` before the call", stub)
        elif stub and isinstance(node.slice, ast.Constant) and isinstance(node.ctx, ast.Load):
            self._check_key(node, stub, node.slice.value)
        self.generic_visit(node)

    def _check_key(self, node, stub, key):
        result = stub.get("result")
        if not result or result["list"] or type(key) is not str or key in result["fields"]:
            return
        # Answers may have more fields than documents say: only what looks like a slip is certain enough.
        close = _slip(key, result["fields"])
        if close:
            hint = f"did you mean `{close}`? (what the document lacks can be had by `.get({key!r})`)"
            self._tell(node, f"the value of `{stub['function']}` has no `{key}`", hint, stub)

    def visit_Attribute(self, node):
        stub, is_coroutine = self._value_of(node.value)
        result = stub.get("result") if stub else None
        if stub and is_coroutine:
            if node.attr not in ("send", "throw", "close"):
                self._tell(node, f"the value of `{stub['function']}` is used before it is awaited", "put `await` before the call", stub)
        elif result and not any(hasattr(kind, node.attr) for kind in (dict, list, str)):
            close = node.attr if node.attr in result["fields"] else _slip(node.attr, result["fields"]) or node.attr
            hint = "it is a list of plain data: write `[0][name]`" if result["list"] else f"answers are plain data: write `[{close!r}]`"
            self._tell(node, f"the value of `{stub['function']}` has no attribute `{node.attr}`", hint, stub)
        self.generic_visit(node)


def _slip(key, fields):
    """The field that is meant by a name that differs by case, underscores or a letter."""
    plain = {field.replace("_", "").replace("-", "").lower(): field for field in fields}
    close = plain.get(key.replace("_", "").replace("-", "").lower())
    if close is None and len(key) > 3:
        close = similar(key, fields)
        if close is not None and (abs(len(close) - len(key)) > 1 or _differences(key, close) > 1):
            close = None
    return close


def _differences(left, right):
    """Letters by which two names differ at most, counted from both ends."""
    shorter = min(len(left), len(right))
    start = next((i for i in range(shorter) if left[i] != right[i]), shorter)
    end = next((i for i in range(shorter - start) if left[-1 - i] != right[-1 - i]), shorter - start)
    return max(len(left), len(right)) - start - end


def _single_values(tree):
    """Names that are bound once in the whole text, by an assignment, with what is assigned."""
    values, bound = {}, {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound[node.id] = bound.get(node.id, 0) + 1
        elif isinstance(node, ast.arg):
            bound[node.arg] = 2
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound[node.name] = 2
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            bound.update(dict.fromkeys(node.names, 2))
        elif isinstance(node, ast.alias):
            bound[node.asname or node.name] = 2
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            bound[node.name] = 2
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            values[node.targets[0].id] = node.value
    return {name: value for name, value in values.items() if bound.get(name) == 1}


class _Imports(_Guarded):
    """Names that stand for functions and modules of servers."""

    def __init__(self):
        self.functions = {}
        self.modules = {}
        # Names of `paginate`.
        self.paginators = set()
        # Servers of which all functions are imported.
        self.stars = []
        self.guarded = set()
        self.rebound = set()

    def visit_ImportFrom(self, node):
        server, _, part = (node.module or "").partition(".")
        if node.level:
            return
        for alias in node.names:
            bound = alias.asname or alias.name
            if node.module == "mce" and alias.name in ("paginate", "apaginate"):
                self.paginators.add(bound)
            elif part in ("functions", "aio") and alias.name == "*":
                self.stars.append((server, part))
            elif part in ("functions", "aio"):
                if bound in self.functions and self.functions[bound][:3] != (server, alias.name, part):
                    self.rebound.add(bound)
                if not self._is_guarded:
                    self.functions[bound] = (server, alias.name, part, node)
            elif not part and alias.name in ("functions", "aio") and server not in sys.stdlib_module_names:
                self._add_module(bound, server, alias.name)

    def visit_If(self, node):
        # What only type checkers read.
        name = node.test.attr if isinstance(node.test, ast.Attribute) else getattr(node.test, "id", "")
        for statement in node.orelse if name == "TYPE_CHECKING" else [node.test, *node.body, *node.orelse]:
            self.visit(statement)

    def visit_Import(self, node):
        for alias in node.names:
            server, _, part = alias.name.partition(".")
            if part in ("functions", "aio"):
                self._add_module(alias.asname or alias.name, server, part)

    def _add_module(self, path, server, part):
        self.modules[path] = server, part
        if self._is_guarded:
            self.guarded.add(server)

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load):
            self.rebound.add(node.id)

    def visit_arg(self, node):
        self.rebound.add(node.arg)

    def _visit_definition(self, node):
        self.rebound.add(node.name)
        self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _visit_definition
