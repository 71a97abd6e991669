"""Reads an OpenAPI document only as far as a caller needs who knows what the request must look like on the wire."""
import json
import re
import urllib.parse
from dataclasses import dataclass

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")


@dataclass
class Operation:
    """One operation with what its path item says merged in."""

    document: "Document"
    name: str  # `METHOD /path`, as the document writes it
    method: str
    path: str
    parameters: list
    data: dict

    def named(self, parameter):
        """The argument of a parameter: its own name, with the place where the name occurs in several."""
        same = [p for p in self.parameters if p["name"] == parameter["name"] and not is_ignored_header(p)]
        is_first = len(same) == 1 or parameter["in"] == "path"
        clashes = parameter["name"] == "body" and "requestBody" in self.data
        return parameter["name"] if is_first and not clashes else f"{parameter['name']} ({parameter['in']})"

    def is_ignored(self, parameter):
        """Whether the parameter is no argument: ignored by the rules, or filled in from credentials."""
        needed = self.data.get("security", self.document.root.get("security", []))
        keys = [self.document.schemes().get(name, {}) for alternative in needed for name in alternative]
        if is_ignored_header(parameter) or is_repeated_token(parameter) and keys:
            return True
        return any(k.get("name") == parameter["name"] and k.get("in") == parameter["in"] for k in keys)

    def content(self):
        return self.document.resolve(self.data.get("requestBody", {})).get("content", {})

    def answers(self):
        """The media types of all answers that are no errors."""
        responses = [self.document.resolve(r) for code, r in self.data["responses"].items() if code[0] in "2d"]
        return {media for response in responses for media in response.get("content", {})}


class Document:
    def __init__(self, root):
        self.root = root
        self.base_path = base_path(root)
        self.operations = [self.operation(m, path, item) for path, item in root.get("paths", {}).items() for m in METHODS if m in item]

    def operation(self, method, path, item):
        data = item[method]
        merged = {}
        for parameter in [*item.get("parameters", []), *data.get("parameters", [])]:
            parameter = self.resolve(parameter)
            merged[parameter["name"], parameter["in"]] = parameter
        return Operation(self, f"{method.upper()} {path}", method, path, list(merged.values()), data)

    def schemes(self):
        """The security schemes by name."""
        return self.root.get("securityDefinitions") or self.root.get("components", {}).get("securitySchemes", {})

    def resolve(self, node):
        for _ in range(20):
            if not (isinstance(node, dict) and "$ref" in node):
                break
            target = self.root
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[urllib.parse.unquote(part).replace("~1", "/").replace("~0", "~")]
            node = target
        return node

    def kinds(self, schema):
        """The JSON types that a schema may have."""
        schema = self.resolve(schema or {})
        found = {schema["type"]} if isinstance(schema.get("type"), str) else set(schema.get("type", []))
        for part in [*schema.get("allOf", []), *schema.get("anyOf", []), *schema.get("oneOf", [])]:
            found |= self.kinds(part)
        return found


def base_path(root):
    """The path of the first server, with its variables' defaults; what stands for the origin is left out."""
    server = (root.get("servers") or [{"url": ""}])[0]
    version = root["info"]["version"]  # Variables without a default here are the version of the API.
    defaults = {name: variable.get("default") or version for name, variable in server.get("variables", {}).items()}
    url = re.sub(r"\{(\w+)\}", lambda m: "" if m[1] == "endpoint" else defaults.get(m[1], ""), server["url"])
    return re.sub(r"^https?://[^/]*", "", url).rstrip("/")


def is_repeated_token(parameter):
    """Whether it repeats the token that `Authorization` has."""
    is_token = parameter["name"].lower() == "token" and "authentication token" in parameter.get("description", "").lower()
    return is_token and parameter["in"] in ("header", "query")


def is_ignored_header(parameter):
    """Parameters that OpenAPI says shall be ignored."""
    return parameter["in"] == "header" and parameter["name"].lower() in ("accept", "content-type", "authorization")
