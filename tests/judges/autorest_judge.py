"""The judge of AutoRest: `@microsoft.azure/autorest.testserver`, which counts a key for each request that is right."""
import concurrent.futures
import json
import urllib.request

import tools
from autorest.calls import BASE_PATHS, CALLS, SERVERS
from mce import Call
from verdict import Verdict

PACKAGES = ["@microsoft.azure/autorest.testserver@3.3.51"]
# `azure` and `dpg` are for clients that are generated with AutoRest's extensions (polling, next links, grouping).
CATEGORIES = ("vanilla", "optional")
JOBS = 4
METHODS = ("get", "put", "post", "delete", "options", "head", "patch")


EXPLAINED = {
    r"HttpRetry.*": "the judge counts tries in a cookie, and no cookies are kept between calls",
    r"UrlPaths(String|Byte)Empty": "an empty path segment would be another resource; it is refused",
    r"UrlQueriesArrayCsvEmpty": "an empty array is left out of a query; the judge wants `arrayQuery=`",
    r"putComplex(Array|Dictionary)Valid": "null among strings, which the document does not allow; it is refused",
    r"RequestWithSecrets": "the judge wants a query parameter and a body that the document does not have",
    r"PassMergePatchObject": "the judge wants 14 bytes: a space after the colon of the JSON",
    r"HeaderParameterProtectedKey": "a parameter `Content-Type`, which OpenAPI says shall be ignored",
    r"Multiapi(DifferentCalls.*|PostTestFourApiVersionThreePDF)": "the judge takes the calls and does not count them",
}


def run(mce, folder):
    """A verdict on each key of the judge's categories."""
    tools.install(folder, PACKAGES)
    package = (folder / "node_modules/@microsoft.azure/autorest.testserver").resolve()
    failed = folder / "failed-calls.txt"
    port = tools.free_port()
    arguments = [package / "dist/cli/cli.js", "run", f"--port={port}", f"--coverageDirectory={(folder / 'coverage').resolve()}"]
    with tools.server(folder, arguments, port, folder / "server.log", "/report") as origin:
        documents = {file.stem: json.loads(file.read_text("utf-8-sig")) for file in sorted((package / "swagger").glob("*.json"))}
        plans = {name: plan(origin, name, document) for name, document in documents.items()}
        urllib.request.urlopen(urllib.request.Request(origin + "/report/clear", method="POST")).read()
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            failures = dict(pool.map(lambda item: judge(mce, origin, package / "swagger", *item, plans[item[0]]), documents.items()))
        verdicts = []
        for category in CATEGORIES:
            for key, count in tools.get_json(f"{origin}/report/{category}").items():
                verdicts.append(Verdict(key, count > 0, f"{category}; calls that failed are in {failed}"))
    failed.write_text("".join(line for lines in failures.values() for line in lines))
    return verdicts


def judge(mce, origin, folder, name, document, calls):
    """Makes the calls of one document; gives lines on those that failed, which do not say what key they are for."""
    server = {"base_url": origin + base_path(name, document), **SERVERS.get(name, {})}
    _, outcomes = mce.run(folder / f"{name}.json", server, calls)
    failed = [(call, outcome) for call, outcome in zip(calls, outcomes) if "error" in outcome]
    return name, [f"{name} {c.operation} {json.dumps(c.arguments)[:300]}: {o.get('text', '')[:400]}\n" for c, o in failed]


def base_path(name, document):
    return BASE_PATHS.get(name, document.get("basePath", "").rstrip("/"))


def plan(origin, name, document):
    """Calls for the operations of a document: with what `CALLS` says, else with what the document and the judge themselves say."""
    calls = []
    for path, item in document.get("paths", {}).items():
        for method in METHODS:
            if method in item:
                operation = item[method]
                parameters = [resolve(document, p) for p in [*item.get("parameters", []), *operation.get("parameters", [])]]
                label = f"{method.upper()} {path}"
                given = CALLS.get(f"{name} {label}", CALLS.get(label))
                if given is None:
                    given = [derived(origin, document, path, item, method, parameters)]
                # A program that gets an error which may pass tries again.
                given = given * 2 if path.startswith("/http/retry/") else given
                calls += [Call(name, label, arguments) for arguments in given]
    return calls


def resolve(document, node):
    while "$ref" in node:
        target = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        node = target
    return node


def derived(origin, document, path, item, method, parameters):
    """Constants, and as a body what a GET of the same path answers."""
    out = {}
    for parameter in parameters:
        if parameter["in"] == "body":
            value = same_as_answer(origin, document, path) if "get" in item else None
            if value is not None:
                out["body"] = value
        elif len(parameter.get("enum", [])) == 1:
            out[parameter["name"]] = parameter["enum"][0]
        elif parameter.get("required") and parameter.get("enum"):
            out[parameter["name"]] = parameter["enum"][0]
    return out


def same_as_answer(origin, document, path):
    if "{" in path:
        return None
    try:
        with urllib.request.urlopen(origin + document.get("basePath", "").rstrip("/") + path, timeout=20) as answer:
            text, media = answer.read().decode(), answer.headers.get_content_type()
    except (OSError, ValueError):
        return None
    if media.endswith("xml"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return None
