"""Finds the operation and the arguments of a call from the request that must come of it."""
import json
import re
import urllib.parse

from openapi import is_ignored_header


def find(documents, method, path):
    """The operation with the most literal text in its path that a request belongs to, with the texts of its variables."""
    found = []
    for document in documents:
        for operation in document.operations:
            template = document.base_path + operation.path.partition("?")[0]
            match = re.fullmatch(pattern(operation, template), path) or re.fullmatch(pattern(operation, template.rstrip("/")), path)
            if operation.method == method and match:
                literal = len(re.sub(r"\{[^}]*\}", "", template))
                found.append((literal, operation, match.groupdict()))
    if not found:
        return None, {}
    _, operation, groups = max(found, key=lambda item: item[0])
    names = variables(operation.path)
    return operation, {names[int(key[1:])]: text for key, text in groups.items()}


def variables(template):
    return re.findall(r"\{([^}]*)\}", template)


def pattern(operation, template):
    parts = re.split(r"\{[^}]*\}", template)
    wide = [any(p.get("allowReserved") for p in operation.parameters if p["name"] == name) for name in variables(template)]
    out = re.escape(parts[0])
    for index, part in enumerate(parts[1:]):
        out += f"(?P<v{index}>{'.+?' if wide[index] else '[^/]+?'})" + re.escape(part)
    return out


def arguments(operation, request, path_texts):
    """Arguments from what is expected: path, query, headers, body."""
    out = {}
    query = dict(request["query"])
    headers = {name.lower(): value for name, value in request["headers"].items()}
    fixed = dict(urllib.parse.parse_qsl(operation.path.partition("?")[2]))
    own = {p["name"] for p in operation.parameters}
    for parameter in operation.parameters:
        name, place = parameter["name"], parameter["in"]
        if place == "path":
            value = read(operation, parameter, path_texts.get(name))
        elif place == "query" and "object" in kinds(operation, parameter) and parameter.get("explode", True):
            value = {k: scalar({"integer"}, v) for k, v in query.items() if k not in own | set(fixed)}
        elif place == "query":
            value = read(operation, parameter, query.get(name))
        elif place == "header" and not is_ignored_header(parameter):
            value = read(operation, parameter, headers.get(name.lower()))
        else:
            continue
        if value is not None:
            out[operation.named(parameter)] = value
    if request.get("body") and operation.content():
        out["body"] = body(operation, request["body"])
    return out


def kinds(operation, parameter):
    schema = parameter.get("schema") or next(iter(parameter.get("content", {}).values()), {}).get("schema", {})
    return operation.document.kinds(schema)


def read(operation, parameter, text):
    """The value of a text that stands in a path, query or header."""
    if text is None:
        return None
    types = kinds(operation, parameter)
    if parameter["in"] == "path":
        text = urllib.parse.unquote(text)
    style = parameter.get("style", "form" if parameter["in"] == "query" else "simple")
    explode = parameter.get("explode", style == "form")
    if "array" in types:
        items = operation.document.resolve(operation.document.resolve(parameter.get("schema", {})).get("items", {}))
        values = text if isinstance(text, list) else split(style, explode, parameter["name"], str(text))
        return [scalar(operation.document.kinds(items), value) for value in values]
    if "object" in types:
        pieces = split(style, explode, "", str(text).removeprefix(f";{parameter['name']}=") if not explode else str(text))
        pairs = [piece.split("=", 1) for piece in pieces] if explode else zip(pieces[::2], pieces[1::2])
        return {name: scalar({"integer"}, value) for name, value in pairs}
    if style == "label" and isinstance(text, str):
        text = text.removeprefix(".")
    elif style == "matrix" and isinstance(text, str):
        text = text.removeprefix(f";{parameter['name']}=")
    return scalar(types, text)


def split(style, explode, name, text):
    if style == "label":
        return text.removeprefix(".").split("." if explode else ",")
    if style == "matrix":
        return [t.removeprefix(f"{name}=") for t in text[1:].split(";")] if explode else text.removeprefix(f";{name}=").split(",")
    return text.split({"spaceDelimited": " ", "pipeDelimited": "|"}.get(style, ","))


def scalar(types, value):
    """A text as the type that is wanted; what is no text stays as it is."""
    if not isinstance(value, str):
        return value if not isinstance(value, (int, float)) or isinstance(value, bool) or types & {"integer", "number"} or not types else str(value)
    if "boolean" in types and value in ("true", "false"):
        return value == "true"
    if types & {"integer", "number"}:
        try:
            return json.loads(value)
        except ValueError:
            pass
    return value


def body(operation, expected):
    media = expected["contentType"].partition(";")[0].strip()
    if media.startswith("multipart/"):
        return multipart(operation, expected)
    if "base64" in expected:
        return {"base64": expected["base64"], "content_type": media}
    schema = operation.document.resolve(next(iter(operation.content().values())).get("schema", {}))
    if re.search(r"[/+]json$", media) and schema.get("format") == "binary":
        return {"text": expected["text"], "content_type": media}
    if re.search(r"[/+]json$", media):
        return json.loads(expected["text"])
    types = operation.document.kinds(schema)
    return expected["text"] if "/xml" in media or media.startswith("text/") or "string" in types else {"text": expected["text"]}


def multipart(operation, expected):
    schema = operation.document.resolve(next(iter(operation.content().values())).get("schema", {}))
    properties = schema.get("properties", {})
    is_list = lambda name: "array" in operation.document.kinds(properties.get(name))
    out = {}
    for name, value in expected["parts"].items():
        types = operation.document.kinds(properties.get(name))
        out[name] = str(value) if types == {"string"} else value
    for file in expected["files"]:
        value = {"base64": file["base64"], "filename": file["filename"], "content_type": file["type"]}
        if is_list(file["name"]):
            out.setdefault(file["name"], []).append(value)
        else:
            out[file["name"]] = value
    return out
