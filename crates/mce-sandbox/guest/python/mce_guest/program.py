"""The program contract: what a program's value is, how its named inputs are replaced, how it is run.

The value is that of `main()` if the program defines it, else `result`, else the last expression. All rewriting happens
on the syntax tree, with the positions of the program's own text; inputs are looked up as objects, never written as text.
"""

import ast
import asyncio
import inspect
import linecache
import sys
import threading
import types

from .at_once import TOOL_CALL, give_values_at_once
from .failures import FILE

_LAST, _PARAMS, _CALLED, _ENTERED = "__mce_last__", "__mce_params__", "__mce_called__", "__mce_entered__"
_TREE_DEPTH = 2500
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def parse(source):
    """The syntax tree of a program. Raises SyntaxError."""
    try:
        return compiled(source, ast.PyCF_ONLY_AST)
    except (SyntaxError, ValueError) as error:
        if getattr(error, "filename", None) == FILE:
            raise
        # A zero byte, which has no position, and is a ValueError in older versions.
        line = source.count("\n", 0, max(source.find("\0"), 0)) + 1
        raise SyntaxError(str(error), (FILE, line, 1, None)) from error


def compiled(text, flags=0):
    """The code of a text or a tree. Raises SyntaxError."""
    limit = sys.getrecursionlimit()
    # The tree of a sum is as deep as the sum is long; the native stack has room for that.
    sys.setrecursionlimit(max(limit, _TREE_DEPTH))
    try:
        return compile(text, FILE, "exec", flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (RecursionError, MemoryError) as error:
        raise SyntaxError("the text is nested too deep", (FILE, 1, 1, None)) from error
    finally:
        sys.setrecursionlimit(limit)


def run(tree, source, params, provided):
    """Runs a program and returns its value. `provided` are the names that it finds defined."""
    if TOOL_CALL in source:
        give_values_at_once(tree)
    has_main = _prepare(tree, params)
    code = compiled(tree)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    linecache.cache[FILE] = (len(source), None, source.splitlines(True), FILE)
    recorder = _Recorder()
    space = vars(module)
    space.update(provided)
    space.update({_PARAMS: params, _CALLED: recorder.wrap, _ENTERED: recorder.enter, _LAST: None})
    try:
        _execute(code, space)
        value = _value(has_main, space, recorder)
    except SystemExit as error:
        # `sys.exit()` and `sys.exit(0)` are a way to end, not a fault.
        if error.code is not None and not (type(error.code) is int and error.code == 0):
            raise
        value = space.get("result")
    return value


def assigned_names(tree):
    """Top-level variables that the text assigns, in order, each with the first statement that does."""
    names = {}
    for statement in _statements(tree.body):
        for name in _targets(statement):
            names.setdefault(name, statement)
    return names


def _prepare(tree, params):
    """Rewrites the tree for its run. True if the program defines `main`."""
    _replace_in(tree.body, set(params))
    definitions = [s for s in tree.body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)) and s.name == "main"]
    has_main = bool(definitions)
    if has_main:
        _record_calls_of_main(tree)
    for definition in definitions:
        _record_entry(definition)
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = tree.body[-1]
        tree.body[-1] = ast.copy_location(ast.Assign([_name(_LAST, ast.Store(), last)], last.value), last)
    return has_main


def _record_calls_of_main(tree):
    """Rewrites calls of `main` outside functions, so that it is known what it gave."""
    # Not by recursion: a long sum is a deep tree.
    nodes = list(tree.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, _NESTED):
            continue
        nodes.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "main":
            wrapped = ast.Call(_name(_CALLED, ast.Load(), node.func), [node.func], [])
            node.func = ast.copy_location(wrapped, node.func)


def _record_entry(definition):
    """Makes a function tell when its body begins, whoever called it and under whatever name."""
    first = definition.body[0]
    has_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    entered = ast.copy_location(ast.Call(_name(_ENTERED, ast.Load(), first), [], []), first)
    definition.body.insert(1 if has_text else 0, ast.copy_location(ast.Expr(entered), first))


class _Recorder:
    """Keeps whether `main` has run, and what the last call of it outside functions gave."""

    def __init__(self):
        self.is_called = False
        self.is_entered = False
        self.value = None

    def enter(self):
        self.is_entered = True

    def wrap(self, function):
        def main(*args, **kwargs):
            self.is_called = True
            self.value = function(*args, **kwargs)
            if inspect.iscoroutine(self.value):
                self.value = self._record(self.value)
            return self.value

        return main

    async def _record(self, coroutine):
        self.value = await coroutine
        return self.value


def _value(has_main, space, recorder):
    if has_main and callable(space.get("main")):
        if not recorder.is_called and not recorder.is_entered:
            value = _finish(space["main"]())
        elif "result" in space:
            value = space["result"]
        else:
            value = recorder.value if recorder.is_called else space.get(_LAST)
    elif "result" in space:
        value = space["result"]
    else:
        value = space.get(_LAST)
    return _finish(value)


def _execute(code, space):
    if not code.co_flags & inspect.CO_COROUTINE:
        exec(code, space)
        return
    _finish(eval(code, space))


def _finish(value):
    """Awaits a coroutine or task; anything else is the value itself."""
    if not (inspect.iscoroutine(value) or isinstance(type(value), type) and issubclass(type(value), asyncio.Future)):
        return value
    if inspect.iscoroutine(value) and inspect.getcoroutinestate(value) == inspect.CORO_CLOSED:
        return None
    return run_in_loop(value)


_loop = None


def run_in_loop(awaitable):
    """Runs it to its end in the program's own loop, which stays open so that its tasks live on."""
    return _own_loop().run_until_complete(awaitable)


def _own_loop():
    global _loop
    if _loop is None or _loop.is_closed():
        _loop = asyncio.new_event_loop()
        asyncio.set_event_loop(_loop)
    return _loop


def finish_calls(channel):
    """Waits for calls that tasks in the program's own loop have begun and nobody has waited for, and says so."""
    if _loop is None or _loop.is_closed() or _loop.is_running() or not asyncio.all_tasks(_loop):
        return
    # Tasks that were only just made begin.
    _loop.run_until_complete(asyncio.sleep(0))
    futures, names = channel.under_way(_loop)
    if futures:
        count = "a call" if len(futures) == 1 else f"{len(futures)} calls"
        listed = ", ".join(f"`{name[:100]}`" for name in list(dict.fromkeys(names))[:5])
        print(f"note: the program ended before {count} of {listed} had an answer; put `await` before calls", file=sys.stderr)
    while futures:
        _loop.run_until_complete(asyncio.wait(futures))
        _loop.run_until_complete(asyncio.sleep(0))
        futures, _ = channel.under_way(_loop)


def forget_loop():
    """Closes the loop: a worker must not share it with others."""
    global _loop
    if _loop is not None:
        _loop.close()
    _loop = None
    asyncio.set_event_loop(None)
    linecache.cache.pop(FILE, None)


def provide_loop():
    """`asyncio.get_event_loop()` outside of coroutines gives the program's own loop, as it did in older versions of Python."""
    plain = asyncio.get_event_loop

    def get_event_loop():
        try:
            return plain()
        except RuntimeError:
            if threading.current_thread() is not threading.main_thread():
                raise
            return _own_loop()

    asyncio.get_event_loop = get_event_loop


def allow_nested_asyncio_run():
    """`asyncio.run` below a running loop gets a loop of its own in a thread, instead of an error."""
    plain = asyncio.run

    def run_anywhere(main, **options):
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return plain(main, **options)
        outcome = []

        def inside():
            try:
                outcome.extend((True, plain(main, **options)))
            except BaseException as error:
                outcome.extend((False, error))

        thread = threading.Thread(target=inside)
        thread.start()
        thread.join()
        if outcome[0]:
            return outcome[1]
        raise outcome[1]

    asyncio.run = run_anywhere


def _replace_in(body, waiting):
    index = 0
    while index < len(body) and waiting:
        statement = body[index]
        index += 1
        for inner in _blocks(statement):
            _replace_in(inner, waiting)
        names = [name for name in _targets(statement) if name in waiting]
        if not names:
            continue
        # Only the first assignment is an input; later ones compute from it.
        waiting.difference_update(names)
        single = isinstance(statement, ast.AnnAssign) or (
            isinstance(statement, ast.Assign) and all(isinstance(target, ast.Name) for target in statement.targets)
        )
        if single and len(set(_targets(statement))) == 1:
            statement.value = _param(names[0], statement)
            continue
        for name in names:
            body.insert(index, ast.copy_location(ast.Assign([_name(name, ast.Store(), statement)], _param(name, statement)), statement))
            index += 1


def _statements(body):
    for statement in body:
        yield statement
        for inner in _blocks(statement):
            yield from _statements(inner)


def _blocks(statement):
    """The bodies of a compound statement that is no scope of its own."""
    if isinstance(statement, _NESTED):
        return
    for field in ("body", "orelse", "finalbody"):
        inner = getattr(statement, field, None)
        if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
            yield inner
    for handler in getattr(statement, "handlers", []):
        yield handler.body


def _targets(statement):
    """Names that the statement itself assigns."""
    if isinstance(statement, ast.Assign):
        targets = list(statement.targets)
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        targets = []
    found = []
    while targets:
        target = targets.pop(0)
        if isinstance(target, ast.Name):
            found.append(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            targets[:0] = target.elts
        elif isinstance(target, ast.Starred):
            targets.insert(0, target.value)
    return found


def _param(name, where):
    key = ast.copy_location(ast.Constant(name), where)
    return ast.copy_location(ast.Subscript(_name(_PARAMS, ast.Load(), where), key, ast.Load()), where)


def _name(name, context, where):
    return ast.copy_location(ast.Name(name, context), where)
