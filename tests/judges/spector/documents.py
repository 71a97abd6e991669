"""Documents for the specs that the emitter of OpenAPI refuses, written from what the mocks expect."""
import json


def written(scenarios):
    """Folder to document, for `routes`, `special-words` and `response-status-code-range`."""
    by_folder = {}
    for scenario in scenarios:
        by_folder.setdefault(scenario["folder"], []).extend(scenario["apis"])
    return {
        "routes": document(dict(routes())),
        "special-words": document({api["uri"]: {api["method"]: from_request(api)} for api in by_folder.get("special-words", [])}),
        "response-status-code-range": document({api["uri"]: {api["method"]: from_request(api)} for api in by_folder.get("response-status-code-range", [])}),
    }


def document(paths):
    return {"openapi": "3.1.0", "info": {"title": "written from mocks", "version": "1"}, "paths": paths}


def from_request(api):
    """An operation that takes what a mock expects."""
    operation = {"parameters": [parameter(name, "query") for name in api["query"]], "responses": {"default": {"description": ""}}}
    if api["body"]:
        schema = schema_of(json.loads(api["body"]["text"]))
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return operation


def schema_of(value):
    if isinstance(value, dict):
        return {"type": "object", "properties": {k: schema_of(v) for k, v in value.items()}, "required": list(value)}
    return {"type": "array", "items": schema_of(value[0])} if isinstance(value, list) else {"type": "string"}


KINDS = {
    "primitive": {"type": "string"},
    "array": {"type": "array", "items": {"type": "string"}},
    "record": {"type": "object", "additionalProperties": {"type": "integer"}},
}


def parameter(name, place, **more):
    return {"name": name, "in": place, "required": True, "schema": {"type": "string"}} | more


def get(*parameters):
    return {"get": {"parameters": list(parameters), "responses": {"204": {"description": ""}}}}


def routes():
    """RFC 6570 in the words of OpenAPI, which has no `{/x}` (a literal `/` and style simple stand for it)."""
    yield "/routes/fixed", get()
    yield "/routes/in-interface/fixed", get()
    for path in ("template-only", "explicit", "annotation-only"):
        yield f"/routes/path/{path}/{{param}}", get(parameter("param", "path"))
        yield f"/routes/query/{path}", get(parameter("param", "query"))
    for path in ("template", "annotation"):
        yield f"/routes/path/reserved-expansion/{path}/{{param}}", get(parameter("param", "path", allowReserved=True))
    for explode in (False, True):
        for kind, schema in KINDS.items():
            words = "explode" if explode else "standard", kind
            style = {"explode": explode, "schema": schema}
            for folder, mark in (("simple", ""), ("path", "/"), ("label", ""), ("matrix", "")):
                name = "simple" if folder == "path" else folder
                yield f"/routes/path/{folder}/{words[0]}/{words[1]}{mark}{{param}}", get(parameter("param", "path", style=name, **style))
            yield "/routes/query/query-expansion/" + "/".join(words), get(parameter("param", "query", style="form", **style))
            yield "/routes/query/query-continuation/" + "/".join(words) + "?fixed=true", get(parameter("param", "query", style="form", **style))
