"""The judge Prism: a mock that checks each request against the document, for documents of middle size."""
import concurrent.futures
import json
import os
from pathlib import Path

import samples
import tools
from mce import Call
from openapi import Document, is_repeated_token
from verdict import Verdict

HERE = Path(__file__).resolve().parent
PACKAGES = ["@stoplight/prism-cli@5.14.2"]
DOCUMENTS = [
    "openapi-core-petstore-v3.yaml",
    "slack-v2.json",
    "netlify.json",
    "box.json",
    "airflow.yaml",
    "notion-mcp.json",
    "twilio-verify-v2.json",
    "jupyter-server.yaml",
    "docker-engine-latest.yaml",
    "apisguru-spacetraders.io.json",
    "adyen-LegalEntityService-v4.yaml",
    "xero-assets.yaml",
]

EXPLAINED = {
    r"box.json POST /oauth2/revoke": "Prism reads only fields that are declared, and the document requires one that is not",
    r"box.json POST /files/(\{file_id\}/)?content": "Prism takes a JSON part of multipart for a string",
    r"airflow.yaml GET /api/v2/(dagSources/.*|config.*|dags/.*/logs/.*)": "Prism holds the Accept field against a parameter `accept`, which OpenAPI says shall be ignored",
    r"slack-v2.json .* \(token in the query\)": "the document wants the bearer token in the URL as well, where secrets do not belong; it is sent as `Authorization` alone",
    r"twilio-verify-v2.json POST .*/Webhooks": "Prism takes a repeated form field that came once for a string",
    r"(jupyter-server.yaml GET /api/spec.yaml|docker-engine-latest.yaml GET /events)": "Prism cannot write the answer of its own mock",
}
# Each start of Prism keeps one processor busy for seconds.
JOBS = 2


def corpus():
    """The folder of other people's documents."""
    return Path(os.environ.get("MCE_TEST_CORPUS") or HERE.parents[2] / "shared/corpus")


def run(mce, folder):
    """A verdict on each operation of the documents."""
    specs = corpus() / "specs"
    if not specs.is_dir():
        raise tools.ToolError(f"there is no corpus at {specs}; MCE_TEST_CORPUS names its folder")
    tools.install(folder, PACKAGES)
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        judged = pool.map(lambda name: judge(mce, folder, specs / name), DOCUMENTS)
        return [verdict for verdicts in judged for verdict in verdicts]


def judge(mce, folder, file):
    root = json.loads(tools.run_node(folder, HERE / "prism/json.mjs", file.resolve()))
    document = Document(root)
    calls = [Call(f"{file.name} {o.name}{mark(o)}", o.name, samples.arguments(o)) for o in document.operations]
    port = tools.free_port()
    cli = folder.resolve() / "node_modules/@stoplight/prism-cli/dist/index.js"
    with tools.server(folder, [cli, "mock", "--host", "127.0.0.1", "--port", port, file.resolve()], port, folder / f"{file.name}.log", "/", 180) as origin:
        secrets = {name: credential(scheme) for name, scheme in document.schemes().items()}
        server = {"base_url": origin} | ({"credentials": secrets} if secrets else {}) | extra_headers(document)
        _, outcomes = mce.run(file, server, calls)
    return [verdict(operation, call, outcome) for operation, call, outcome in zip(document.operations, calls, outcomes)]


def mark(operation):
    """Tells apart operations that Prism must refuse."""
    is_in_query = any(p["in"] == "query" and p.get("required") and is_repeated_token(p) for p in operation.parameters)
    return " (token in the query)" if is_in_query else ""


def extra_headers(document):
    """A token that the document repeats as a field of its own, which `mce.yaml` can say."""
    names = {p["name"] for o in document.operations for p in o.parameters if p["in"] == "header" and is_repeated_token(p)}
    return {"extra_headers": {name: "s3cr3t-t0ken" for name in names}} if names else {}


def credential(scheme):
    is_basic = scheme.get("type") == "basic" or str(scheme.get("scheme", "")).lower() == "basic"
    return {"username": "ann", "password": "s3cr3t-w0rd"} if is_basic else "s3cr3t-t0ken"


def verdict(operation, call, outcome):
    """Passed if Prism took the request. Where an operation declares no success, its mock answers with an error."""
    if "error" not in outcome:
        return Verdict(call.key, True)
    declared = {str(code)[0] for code in operation.data.get("responses", {})}
    status = outcome.get("status")
    if outcome["error"] == "api" and not declared & {"2", "3", "d"} and status not in (400, 401, 415, 422):
        return Verdict(call.key, True, "declares no success")
    shown = f"{json.dumps(call.arguments)[:300]}: {outcome['error']} {status or ''}: {outcome.get('text', '')[:700]}"
    return Verdict(call.key, False, "", [shown])
