"""Arguments made from schemas: the required ones, by examples, enums, patterns, formats and bounds."""
import base64
import random
import re

try:
    from re import _parser as parser
except ImportError:  # Before Python 3.11.
    import sre_parse as parser

MAX_DEPTH = 8
FORMATS = {
    "date": "2024-02-29",
    "date-time": "2024-02-29T12:30:00Z",
    "time": "12:30:00Z",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "guid": "123e4567-e89b-42d3-a456-426614174000",
    "email": "ann@example.com",
    "uri": "https://example.com/a",
    "url": "https://example.com/a",
    "uri-reference": "/a",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "byte": "QQ==",
    "duration": "P1D",
    "binary": "data",
}


def arguments(operation):
    """Arguments of one call of an operation of Swagger 2.0 or OpenAPI 3."""
    document = operation.document
    out, form = {}, {}
    for parameter in operation.parameters:
        place = parameter["in"]
        is_needed = parameter.get("required") or place == "path"
        if not is_needed or operation.is_ignored(parameter):
            continue
        schema = parameter.get("schema") or next(iter(parameter.get("content", {}).values()), {}).get("schema") or parameter
        value = example_of(document, parameter, schema)
        if value is None:
            value = sample(document, schema)
        if place == "body":
            out["body"] = value
        elif place == "formData":
            form[parameter["name"]] = {"base64": "ZGF0YQ==", "filename": "data.bin"} if parameter.get("type") == "file" else value
        else:
            out[operation.named(parameter)] = "a" if value == "" and place == "path" else value
    if form:
        out["body"] = form
    request_body = document.resolve(operation.data.get("requestBody", {}))
    if request_body.get("content") and (request_body.get("required") or operation.method in ("post", "put", "patch")):
        out["body"] = body(document, request_body["content"])
    return out


def body(document, content):
    media = next((m for m in content if re.search(r"[/+]json\b", m)), next(iter(content)))
    schema = content[media].get("schema", {})
    if re.search(r"[/+]json\b", media) or media.startswith(("application/x-www-form-urlencoded", "multipart/")):
        return sample(document, schema)
    if media.startswith("text/") or "xml" in media:
        return "text"
    return {"base64": base64.b64encode(b"data").decode()}


def example_of(document, parameter, schema):
    """An example of the document, if it has the type that the schema wants."""
    named = [document.resolve(e).get("value") for e in (parameter.get("examples") or {}).values()] if isinstance(parameter.get("examples"), dict) else []
    value = parameter.get("example", parameter.get("x-example", next(iter(named), None)))
    return value if value is not None and fits(document, schema, value) else None


def fits(document, schema, value):
    kinds = document.kinds(schema)
    schema = document.resolve(schema)
    if schema.get("enum") and value not in schema["enum"]:
        return False
    if isinstance(value, str):
        return ("string" in kinds or not kinds) and not ("pattern" in schema and not re.search(schema["pattern"], value)) and "format" not in schema
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, int):
        return bool(kinds & {"integer", "number"})
    return False


def sample(document, schema, depth=0):
    schema = whole(document, schema)
    for key in ("const", "default"):
        if key in schema and schema[key] is not None and (key == "const" or fits(document, schema, schema[key])):
            return schema[key]
    if schema.get("enum"):
        return next((v for v in schema["enum"] if v is not None), None)
    if "example" in schema and fits(document, schema, schema["example"]):
        return schema["example"]
    for choice in ("oneOf", "anyOf"):
        if schema.get(choice):
            rest = {k: v for k, v in schema.items() if k not in ("oneOf", "anyOf")}
            chosen = next((c for c in schema[choice] if document.kinds(c) != {"null"}), {})
            return sample(document, {"allOf": [rest, chosen]}, depth + 1) if depth < MAX_DEPTH else None
    kinds = document.kinds(schema) - {"null"}
    kind = next((k for k in ("object", "array", "string", "integer", "number", "boolean") if k in kinds), None)
    if kind is None:
        kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
    return MAKERS[kind](document, schema, depth)


def whole(document, schema):
    """A schema with its references and `allOf` merged in."""
    schema = document.resolve(schema) if isinstance(schema, dict) else {}
    out = {k: v for k, v in schema.items() if k != "allOf"}
    for part in schema.get("allOf", []):
        part = whole(document, part)
        merged = {**part, **out}
        merged["properties"] = {**part.get("properties", {}), **out.get("properties", {})}
        merged["required"] = list({*part.get("required", []), *out.get("required", [])})
        out = {k: v for k, v in merged.items() if v or k not in ("properties", "required")}
    return out


def make_object(document, schema, depth):
    required = schema.get("required") if isinstance(schema.get("required"), list) else []
    out = {}
    for name in sorted(required):
        member = schema.get("properties", {}).get(name, {})
        if depth < MAX_DEPTH and not document.resolve(member).get("readOnly"):
            out[name] = sample(document, member, depth + 1)
    for number in range(schema.get("minProperties", 0) - len(out)):
        spare = next((n for n in schema.get("properties", {}) if n not in out), f"key{number}")
        out[spare] = sample(document, schema.get("properties", {}).get(spare) or schema.get("additionalProperties") or {}, depth + 1)
    return out


def make_array(document, schema, depth):
    count = schema.get("minItems", 0) or (1 if depth < 3 else 0)
    return [sample(document, schema.get("items", {}), depth + 1) for _ in range(count)] if depth < MAX_DEPTH else []


def make_string(_document, schema, _depth):
    if schema.get("pattern"):
        return from_pattern(schema["pattern"])
    if schema.get("format") in FORMATS:
        return FORMATS[schema["format"]]
    return ("text" * 300)[: max(schema.get("minLength", 0), min(4, schema.get("maxLength", 4)))]


def make_number(_document, schema, _depth):
    low, high = schema.get("minimum"), schema.get("maximum")
    exclusive = schema.get("exclusiveMinimum")
    if exclusive is True:
        low = (low or 0) + 1
    elif exclusive is not None and exclusive is not False:
        low = exclusive + 1
    value = 1 if low is None else max(low, 1)
    return min(value, high) if high is not None else value


MAKERS = {
    "object": make_object,
    "array": make_array,
    "string": make_string,
    "integer": make_number,
    "number": make_number,
    "boolean": lambda *_: True,
}


def from_pattern(pattern):
    """A text that a regular expression matches, if it uses nothing but what is usual."""
    source = random.Random(7)
    try:
        text = "".join(pieces(parser.parse(pattern), source))
    except (re.error, KeyError, ValueError):
        return "text"
    return text if re.search(pattern, text) else "text"


def pieces(tree, source):
    for kind, value in tree:
        kind = str(kind)
        if kind == "LITERAL":
            yield chr(value)
        elif kind == "NOT_LITERAL":
            yield "a" if value != ord("a") else "b"
        elif kind == "ANY":
            yield "a"
        elif kind == "IN":
            yield one_of(value)
        elif kind == "BRANCH":
            yield from pieces(value[1][0], source)
        elif kind == "SUBPATTERN":
            yield from pieces(value[3], source)
        elif kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            low, high, inner = value
            for _ in range(max(low, min(1, high))):
                yield from pieces(inner, source)
        elif kind == "ASSERT_NOT" or kind == "ASSERT" or kind == "AT":
            continue
        else:
            raise ValueError(kind)


def one_of(choices):
    """A character of a class."""
    allowed = [c for c in map(chr, [*range(97, 123), *range(48, 58), *range(65, 91), *range(32, 127)]) if in_class(choices, c)]
    return allowed[0]


def in_class(choices, character):
    is_negated, found = False, False
    for kind, value in choices:
        kind = str(kind)
        if kind == "NEGATE":
            is_negated = True
        elif kind == "LITERAL":
            found |= chr(value) == character
        elif kind == "RANGE":
            found |= value[0] <= ord(character) <= value[1]
        elif kind == "CATEGORY":
            name = str(value)
            test = character.isdigit() if "DIGIT" in name else character.isspace() if "SPACE" in name else character.isalnum() or character == "_"
            found |= test != ("NOT_" in name)
    return found != is_negated
