"""What a program's text writes out, as JSON."""

import ast
import math

_MAX_DEPTH = 30
# By these a text changes names without naming them.
_INDIRECT = {"__dict__", "__main__", "eval", "exec", "globals", "locals", "setattr", "vars"}


class Writer:
    """Reads nodes as JSON, as far as they are written out. `constants` are names with the nodes that they stand for."""

    def __init__(self, constants):
        self.constants = constants
        # JSON Pointers (RFC 6901): of what is not known, and of objects and lists that may have more than is written.
        self.unknown = []

    def read(self, node, path, depth=0):
        """The value of a node, or None where it is not known."""
        if isinstance(node, ast.Name):
            node = self.constants.get(node.id, node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            number = node.operand.value
            if type(number) in (int, float) and _is_json(number):
                return -number
        elif isinstance(node, ast.Constant) and _is_json(node.value):
            return node.value
        elif depth < _MAX_DEPTH and isinstance(node, (ast.List, ast.Tuple)):
            return self._list(node, path, depth)
        elif depth < _MAX_DEPTH and isinstance(node, ast.Dict) and all(key is None or _is_name(key) for key in node.keys):
            return self._object(node, path, depth)
        self.unknown.append(path)
        return None

    def _list(self, node, path, depth):
        items = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                # Nobody knows the places of what follows.
                self.unknown.append(path)
                break
            items.append(self.read(item, f"{path}/{len(items)}", depth + 1))
        return items

    def _object(self, node, path, depth):
        members = {}
        for key, value in zip(node.keys, node.values):
            if key is None:
                # It may replace what stands before it.
                self.unknown += [path, *(f"{path}/{pointer(name)}" for name in members)]
                members = dict.fromkeys(members)
            else:
                members[key.value] = self.read(value, f"{path}/{pointer(key.value)}", depth + 1)
        return members


def constants(values, tree, inputs):
    """Of names that are bound once, those that are read once: nobody changes what they stand for."""
    read = {}
    for node in ast.walk(tree):
        if _INDIRECT & {getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "name", None)}:
            return {}
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read[node.id] = read.get(node.id, 0) + 1
    return {name: node for name, node in values.items() if read.get(name) == 1 and name not in inputs}


def pointer(name):
    """A name as a part of a JSON Pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def _is_name(key):
    return isinstance(key, ast.Constant) and type(key.value) is str and _is_json(key.value)


def _is_json(value):
    """It is the same in JSON."""
    if type(value) is str:
        return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) is bool or type(value) is int and abs(value) < 2**63
