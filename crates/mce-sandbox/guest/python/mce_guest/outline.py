"""What a program's text says about itself, without running it: what it is for, which inputs it has, which functions it uses.

An input is a top-level variable that is assigned once: to values that are written out, or not at all but with a type. Values that
are given for inputs are checked against these types here.
"""

import ast
import json

from .check import _Imports, _module_call
from .failures import Refused, did_you_mean, similar
from .program import _NESTED, assigned_names

_PLAIN = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "List": "array", "dict": "object", "Dict": "object"}
_BY_NAME = {"call_function", "acall_function", "call_mcp_tool"}
_OPEN = {"fetch", "afetch"}
_DEFAULT_BYTES = 2000
_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", type(None): "null"}
_MISSING = object()


def outline(tree):
    """A plain value: `about`, `inputs` (`name`, `schema`, `required`), `functions` by their references, and `open` if others may be used."""
    functions, is_open = _functions(tree)
    return {"about": ast.get_docstring(tree) or "", "inputs": list(_inputs(tree)), "functions": functions, "open": is_open}


def _inputs(tree):
    bindings = _bindings(tree)
    for statement in tree.body:
        annotation = None
        if isinstance(statement, ast.AnnAssign):
            target, annotation = statement.target, statement.annotation
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
        else:
            continue
        if not isinstance(target, ast.Name) or bindings.get(target.id) != 1 or target.id.startswith("_") or target.id == "result":
            continue
        is_required = statement.value is None
        value = _MISSING if is_required else _value(statement.value)
        # What is filled later begins empty.
        if not is_required and (value is _MISSING or annotation is None and value in ([], {})):
            continue
        schema = None if annotation is None else _of_annotation(annotation)
        if schema is None:
            schema = {} if is_required else _of_value(value)
        text = "" if is_required else json.dumps(value)
        if text and len(text) <= _DEFAULT_BYTES:
            # Readers of JSON round longer integers.
            key, told = ("default", value) if _has_short_integers(value) else ("description", f"by default {text}")
            schema[key] = told
        yield {"name": target.id, "schema": schema, "required": is_required}


def faults_of_inputs(tree, params, has_all):
    """What is wrong with the values that are given for a program's variables. `has_all`: none may be missing that the text does not give."""
    # What a program answers is not given to it.
    known = {name: statement for name, statement in assigned_names(tree).items() if name != "result"}
    schemas = {given["name"]: given for given in _inputs(tree)}
    found, meant = [], set()
    for name, value in params.items():
        if name not in known:
            listed = ", ".join(f"`{n}`" for n in list(known)[:30]) or "none"
            meant.add(similar(name, known))
            found.append(Refused(f"the program has no top-level variable `{name[:100]}`; it has: {listed}", hint=did_you_mean(name, known)))
        elif name in schemas:
            schema = schemas[name]["schema"]
            if schema.get("type") == "integer" and not isinstance(known[name], ast.AnnAssign):
                # Without an annotation a whole number may stand for any.
                schema = {"type": "number"}
            fault = _misfit(schema, value, name)
            found += [Refused(fault, known[name].lineno)] if fault else []
    missing = [name for name, given in schemas.items() if has_all and given["required"] and name not in params and name not in meant]
    if missing:
        listed = ", ".join(f"`{name}`" for name in missing)
        found.append(Refused(f"the program needs {listed}", known[missing[0]].lineno, "a variable that has a type and no value must be given one"))
    return found


def _misfit(schema, value, name):
    """What is wrong with a value, if anything."""
    kind = _KINDS[type(value)]
    if "anyOf" in schema:
        return None if any(_misfit(one, value, name) is None for one in schema["anyOf"]) else f"`{name}`: {_got(value, kind)} fits none of its types"
    if "enum" in schema:
        is_one = any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in schema["enum"])
        return None if is_one else f"`{name}`: expected one of {', '.join(json.dumps(one) for one in schema['enum'][:20])}, got {_got(value, kind)}"
    types = schema.get("type")
    types = [types] if isinstance(types, str) else types
    is_whole = kind == "number" and value.is_integer()
    if types and kind not in types and not (kind == "integer" and "number" in types) and not (is_whole and "integer" in types):
        return f"`{name}`: expected {' or '.join(types)}, got {_got(value, kind)}"
    items = schema.get("items") if kind == "array" else None
    return next((fault for index, item in enumerate(value) if (fault := _misfit(items, item, f"{name}[{index}]"))), None) if items else None


def _got(value, kind):
    if kind == "string":
        return f"the string `{value[:50]}`"
    return kind if kind == "null" else f"{'an' if kind[0] in 'aio' else 'a'} {kind}"


def _has_short_integers(value):
    if isinstance(value, (list, dict)):
        return all(_has_short_integers(inner) for inner in (value.values() if isinstance(value, dict) else value))
    return not isinstance(value, int) or -(1 << 63) <= value < 1 << 64


def _bindings(tree):
    """How often each name is bound at the top level, or by a function that says that it is."""
    counts, nodes = {}, list(tree.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, _NESTED):
            names = [name for inner in ast.walk(node) if isinstance(inner, ast.Global) for name in inner.names]
            names += [node.name] if hasattr(node, "name") else []
        elif isinstance(node, ast.comprehension):
            nodes += [node.iter, *node.ifs]
            continue
        else:
            names = [node.id] if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) else []
            nodes.extend(ast.iter_child_nodes(node))
        for name in names:
            counts[name] = counts.get(name, 0) + 1
    return counts


def _value(node):
    """The value that is written out, as JSON has it."""
    try:
        return json.loads(json.dumps(ast.literal_eval(node), allow_nan=False))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _MISSING


def _of_value(value):
    if isinstance(value, bool):
        return {"type": "boolean"}
    for kind, name in ((int, "integer"), (float, "number"), (str, "string"), (dict, "object")):
        if isinstance(value, kind):
            return {"type": name}
    if isinstance(value, list):
        items = [_of_value(item) for item in value]
        return {"type": "array", "items": items[0]} if items and all(item == items[0] for item in items) else {"type": "array"}
    return {}


def _of_annotation(node):
    """The schema of a type, if it is one of the plain ones; that of any value is empty."""
    if isinstance(node, ast.Constant):
        if node.value is None:
            return {"type": "null"}
        return _of_text(node.value) if isinstance(node.value, str) else None
    name = _last_name(node)
    if name in _PLAIN:
        return {"type": _PLAIN[name]}
    if name in ("Any", "object"):
        return {}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _any_of([node.left, node.right])
    if not isinstance(node, ast.Subscript):
        return None
    name, inner = _last_name(node.value), node.slice
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Literal":
        values = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, (str, int, bool))]
        return {"enum": values} if len(values) == len(parts) else None
    if name in ("list", "List"):
        items = _of_annotation(inner)
        return {"type": "array", "items": items} if items else {"type": "array"}
    if name in ("dict", "Dict"):
        return {"type": "object"}
    if name == "Optional":
        return _any_of([inner, ast.Constant(None)])
    if name == "Union":
        return _any_of(parts)
    return _of_annotation(parts[0]) if name in ("Final", "Annotated") else None


def _of_text(text):
    try:
        return _of_annotation(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        return None


def _any_of(nodes):
    schemas = [_of_annotation(node) for node in nodes]
    if None in schemas:
        return None
    if {} in schemas:
        return {}
    if all(list(schema) == ["type"] and isinstance(schema["type"], str) for schema in schemas):
        return {"type": [schema["type"] for schema in schemas]}
    return {"anyOf": schemas}


def _last_name(node):
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _functions(tree):
    imports = _Imports()
    imports.visit(tree)
    found = [f"{server}.{name}" for server, name, _, _ in imports.functions.values()]
    named, uses, is_open = 0, 0, False
    by_name = _BY_NAME | {alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names if alias.name in _BY_NAME}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            server, _, name = _module_call(node, imports.modules)
            if server:
                found.append(f"{server}.{name}")
        if isinstance(node, ast.Call) and _last_name(node.func) in by_name:
            first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg in ("name", "tool_name")), None)
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.append(first.value)
                named += 1
        if isinstance(node, (ast.Name, ast.Attribute)) and _last_name(node) in by_name:
            uses += 1
        imported = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        is_open |= "httpx" in imported or getattr(node, "module", None) == "httpx" or bool(_OPEN.intersection(imported))
        is_open |= isinstance(node, (ast.Name, ast.Attribute)) and _last_name(node) in ("getattr", "vars", *_OPEN)
    return list(dict.fromkeys(found)), is_open or uses > named
