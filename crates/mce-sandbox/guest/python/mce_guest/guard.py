"""Advice on what cannot work in a jail, before a program has done anything. It keeps nothing in: the jail does that.

The text is parsed, never searched: names in comments and strings, methods of other objects and names that the program binds
itself are none of what is meant. Whatever stands in a `try` with a handler, or below an `if`, is left alone.
"""

import ast

from .failures import FETCH_HINT, Refused

_PROCESSES = "programs start no other programs; do it in Python, or call a function of a server"
_ASKING = "nobody is there to answer: take a top-level variable, which `params` of `run_cached_code` can replace"
_ENVIRONMENT = "programs have an empty environment; credentials are added by the host, where functions are called"

# What is called -> advice. A name that ends with a dot stands for all names below it.
_PATTERNS = {
    "asyncio.create_subprocess_exec": _PROCESSES,
    "asyncio.create_subprocess_shell": _PROCESSES,
    "asyncio.open_connection": FETCH_HINT,
    "aiohttp.ClientSession": FETCH_HINT,
    "concurrent.futures.ProcessPoolExecutor": _PROCESSES,
    "ftplib.FTP": FETCH_HINT,
    "ftplib.FTP_TLS": FETCH_HINT,
    "http.client.HTTPConnection": FETCH_HINT,
    "http.client.HTTPSConnection": FETCH_HINT,
    "imaplib.IMAP4": FETCH_HINT,
    "imaplib.IMAP4_SSL": FETCH_HINT,
    "input": _ASKING,
    "multiprocessing.Pool": _PROCESSES,
    "multiprocessing.Process": _PROCESSES,
    "os.execl": _PROCESSES,
    "os.execv": _PROCESSES,
    "os.execve": _PROCESSES,
    "os.execvp": _PROCESSES,
    "os.fork": _PROCESSES,
    "os.popen": _PROCESSES,
    "os.posix_spawn": _PROCESSES,
    "os.spawnl": _PROCESSES,
    "os.spawnv": _PROCESSES,
    "os.system": _PROCESSES,
    "pty.spawn": _PROCESSES,
    "requests.delete": FETCH_HINT,
    "requests.get": FETCH_HINT,
    "requests.head": FETCH_HINT,
    "requests.options": FETCH_HINT,
    "requests.patch": FETCH_HINT,
    "requests.post": FETCH_HINT,
    "requests.put": FETCH_HINT,
    "requests.request": FETCH_HINT,
    "requests.Session": FETCH_HINT,
    "smtplib.SMTP": FETCH_HINT,
    "smtplib.SMTP_SSL": FETCH_HINT,
    "socket.create_connection": FETCH_HINT,
    "socket.create_server": FETCH_HINT,
    "socket.socket": FETCH_HINT,
    "subprocess.": _PROCESSES,
    "urllib.request.urlopen": FETCH_HINT,
    "urllib.request.urlretrieve": FETCH_HINT,
    "urllib3.PoolManager": FETCH_HINT,
    "xmlrpc.client.ServerProxy": FETCH_HINT,
}
# Members of `subprocess` that start nothing.
_HARMLESS = {"subprocess.CalledProcessError", "subprocess.TimeoutExpired", "subprocess.list2cmdline"}


def guard(tree):
    """What cannot work, as a list of Refused."""
    names = _Names()
    names.visit(tree)
    uses = _Uses({name: path for name, path in names.paths.items() if name not in names.bound}, names.bound)
    uses.visit(tree)
    return uses.found


class _Names(ast.NodeVisitor):
    """What imported names stand for, and names that the program binds itself."""

    def __init__(self):
        self.paths = {}
        self.bound = set()

    def visit_Import(self, node):
        for alias in node.names:
            first = alias.name.partition(".")[0]
            self._bind(alias.asname or first, alias.name if alias.asname else first)

    def visit_ImportFrom(self, node):
        for alias in node.names:
            self._bind(alias.asname or alias.name, "" if node.level else f"{node.module}.{alias.name}")

    def _bind(self, name, path):
        if self.paths.setdefault(name, path) != path:
            self.bound.add(name)

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load):
            self.bound.add(node.id)

    def visit_arg(self, node):
        self.bound.add(node.arg)

    def _visit_definition(self, node):
        self.bound.add(node.name)
        self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _visit_definition

    def visit_ExceptHandler(self, node):
        self.bound.add(node.name)
        self.generic_visit(node)


class _Uses(ast.NodeVisitor):
    """Calls of what cannot work."""

    def __init__(self, paths, bound):
        self.paths = paths
        self.bound = bound
        self.found = []

    def visit_Try(self, node):
        if not node.handlers:
            self.generic_visit(node)
            return
        for statement in [*node.handlers, *node.orelse, *node.finalbody]:
            self.visit(statement)

    visit_TryStar = visit_Try

    def visit_If(self, node):
        if _is_main(node.test):
            self.generic_visit(node)
        else:
            self.visit(node.test)

    def visit_Call(self, node):
        path = self._path(node.func)
        advice = _PATTERNS.get(path) or _PATTERNS.get(path.partition(".")[0] + ".")
        if advice and path not in _HARMLESS and not (path == "input" and node.func.id in self.bound):
            self.found.append(Refused(f"`{path}` cannot work in a program", node.lineno, advice, type="policy"))
        self.generic_visit(node)

    def visit_Subscript(self, node):
        is_read = isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Constant)
        if is_read and self._path(node.value) == "os.environ":
            self.found.append(Refused(f"`os.environ[{node.slice.value!r}]` is not there", node.lineno, _ENVIRONMENT, type="policy"))
        self.generic_visit(node)

    def _path(self, node):
        """The dotted path that an expression stands for, or an empty text."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        if node.id in self.paths:
            return ".".join([self.paths[node.id], *parts])
        return node.id if node.id == "input" and not parts else ""


def _is_main(test):
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"
