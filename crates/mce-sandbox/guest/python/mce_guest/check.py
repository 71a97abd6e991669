"""Checks imports and calls of a program against the catalog before it starts: then nothing has happened yet.

It refuses only what is certain: names that are bound once, at import, and arguments that are written out.
"""

import ast
import sys

from .failures import ArgumentError, CallError, Refused
from .servers import arguments_of, check_literal


def check(tree, servers):
    """Raises Refused for a function, an argument or a literal that does not exist."""
    imports = _Imports()
    try:
        imports.visit(tree)
    except RecursionError:
        # A very deep tree is not checked beforehand; each call is checked when it is made.
        return
    if not imports.functions and not imports.modules:
        return
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    wanted = {}
    for server, name, node in imports.functions.values():
        wanted.setdefault(server, {})[name] = node
    used = []
    for call in calls:
        server, name = _module_call(call.func, imports.modules)
        if server and not name.startswith("_"):
            used.append((call, server, name))
            wanted.setdefault(server, {}).setdefault(name, None if server in imports.guarded else call.func)
    for server in {*wanted, *imports.modules.values()} & sys.stdlib_module_names:
        servers.insert(server)
    stubs = {server: _stubs(servers, server, names) for server, names in wanted.items()}
    for call in calls:
        called = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr in ("with_headers", "with_content") else call.func
        if isinstance(called, ast.Name) and called.id in imports.functions and called.id not in imports.rebound:
            server, name, _ = imports.functions[called.id]
            _check_call(call, stubs[server].get(name))
    for call, server, name in used:
        _check_call(call, stubs[server].get(name))


def _stubs(servers, server, names):
    try:
        known, unknown = servers.stubs(server, list(names))
    except CallError:
        # No such server, or it cannot be asked now: the import itself says so, with all it knows.
        return {}
    for name, node in names.items():
        if name not in known and node is not None:
            hint = unknown.get(name) or None
            raise Refused(f"server `{server}` has no function `{name[:100]}`", node.lineno, hint, f"{server}.{name}"[:200])
    return known


def _check_call(call, stub):
    if stub is None:
        return
    is_open = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
    try:
        if not is_open:
            given = arguments_of(stub, call.args, {k.arg: k.value for k in call.keywords})
        else:
            names = {p["name"] for p in stub["parameters"]}
            given = {k.arg: k.value for k in call.keywords if k.arg}
            arguments_of({**stub, "parameters": [{**p, "required": False} for p in stub["parameters"]]}, [], given)
            given = {name: value for name, value in given.items() if name in names}
        for parameter in stub["parameters"]:
            value = given.get(parameter["name"])
            if isinstance(value, ast.Constant):
                check_literal(stub["function"], parameter, value.value)
    except ArgumentError as error:
        raise Refused(error.message, call.lineno, error.hint, error.function) from None


def _module_call(function, modules):
    """(server, name) of `alias.name(...)` or `server.functions.name(...)`, else ("", "")."""
    if not isinstance(function, ast.Attribute):
        return "", ""
    path, node = [], function.value
    while isinstance(node, ast.Attribute):
        path.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        path.insert(0, node.id)
        return modules.get(".".join(path), ""), function.attr
    return "", ""


class _Imports(ast.NodeVisitor):
    """Names that stand for functions and modules of servers."""

    def __init__(self):
        self.functions = {}
        self.modules = {}
        self.guarded = set()
        self.rebound = set()
        self._is_guarded = False

    def visit_ImportFrom(self, node):
        server, _, part = (node.module or "").partition(".")
        if node.level:
            return
        for alias in node.names:
            bound = alias.asname or alias.name
            if part in ("functions", "aio") and alias.name != "*":
                if bound in self.functions and self.functions[bound][:2] != (server, alias.name):
                    self.rebound.add(bound)
                if not self._is_guarded:
                    self.functions[bound] = (server, alias.name, node)
            elif not part and alias.name in ("functions", "aio") and server not in sys.stdlib_module_names:
                self._add_module(bound, server)

    def visit_Import(self, node):
        for alias in node.names:
            server, _, part = alias.name.partition(".")
            if part in ("functions", "aio"):
                self._add_module(alias.asname or alias.name, server)

    def _add_module(self, path, server):
        self.modules[path] = server
        if self._is_guarded:
            self.guarded.add(server)

    def visit_Try(self, node):
        was, self._is_guarded = self._is_guarded, self._is_guarded or bool(node.handlers)
        for statement in node.body:
            self.visit(statement)
        self._is_guarded = was
        for statement in [*node.handlers, *node.orelse, *node.finalbody]:
            self.visit(statement)

    visit_TryStar = visit_Try

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load):
            self.rebound.add(node.id)

    def visit_arg(self, node):
        self.rebound.add(node.arg)

    def _visit_definition(self, node):
        self.rebound.add(node.name)
        self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _visit_definition
