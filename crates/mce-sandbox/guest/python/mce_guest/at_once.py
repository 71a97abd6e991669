"""Calls of `call_mcp_tool` without `await`, as programs written for other products have them: where a coroutine would be of no use,
the call gives its value at once."""

import ast

TOOL_CALL = "call_mcp_tool"
# What takes values, not coroutines.
_TAKE_VALUES = {"print", "str", "repr", "len", "loads", "dumps"}
# What takes coroutines, or keeps them for one that does.
_TAKE_COROUTINES = {
    "add", "append", "as_completed", "create_task", "ensure_future", "gather", "insert", "isawaitable", "iscoroutine", "parallel", "put",
    "put_nowait", "run", "run_coroutine_threadsafe", "run_until_complete", "shield", "wait", "wait_for",
}  # fmt: skip
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def give_values_at_once(tree):
    """Rewrites such calls in a program's syntax tree."""
    # Not by recursion: a long sum is a deep tree.
    nodes = list(ast.walk(tree))
    if _is_redefined(nodes):
        return
    awaited = None
    for node in nodes:
        for call in _useless_as_coroutines(node):
            _rewrite(call)
        name, call = _assigned(node)
        if call is not None:
            awaited = _used_as_coroutines(nodes) if awaited is None else awaited
            if name not in awaited:
                _rewrite(call)


def _is_call(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == TOOL_CALL


def _rewrite(call):
    call.func = ast.copy_location(ast.Attribute(call.func, "at_once", ast.Load()), call.func)


def _is_redefined(nodes):
    for node in nodes:
        if isinstance(node, _NESTED) and node.name == TOOL_CALL:
            return True
        if isinstance(node, ast.Name) and node.id == TOOL_CALL and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.arg) and node.arg == TOOL_CALL:
            return True
    return False


def _useless_as_coroutines(node):
    if isinstance(node, (ast.Expr, ast.Attribute, ast.Subscript, ast.FormattedValue)):
        candidates = [node.value]
    elif isinstance(node, (ast.For, ast.comprehension)):
        candidates = [node.iter]
    elif isinstance(node, ast.Call) and _function_name(node) in _TAKE_VALUES:
        candidates = node.args
    else:
        candidates = []
    return [candidate for candidate in candidates if _is_call(candidate)]


def _function_name(call):
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", None)


def _assigned(node):
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and _is_call(node.value):
        return node.targets[0].id, node.value
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None and _is_call(node.value):
        return node.target.id, node.value
    return None, None


def _used_as_coroutines(nodes):
    """Variables that are awaited, put into lists, or given to something that awaits."""
    found = set()
    for node in nodes:
        if isinstance(node, (ast.Await, ast.Starred)):
            used = [node.value]
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            used = node.elts
        elif isinstance(node, ast.Call) and _function_name(node) in _TAKE_COROUTINES:
            used = [*node.args, *[keyword.value for keyword in node.keywords]]
        else:
            used = []
        found.update(item.id for item in used if isinstance(item, ast.Name))
    return found
