"""The judge Prism: a mock that checks each request against the document, for documents of middle size."""
import json
import os
from pathlib import Path

import samples
import tools
from mce import Call
from openapi import Document
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
    r"twilio-verify-v2.json POST .*/Webhooks": "Prism takes a repeated form field that came once for a string",
    r"(jupyter-server.yaml GET /api/spec.yaml|docker-engine-latest.yaml GET /events)": "Prism cannot write the answer of its own mock",
}


def corpus():
    """The folder of other people's documents."""
    return Path(os.environ.get("MCE_TEST_CORPUS") or HERE.parents[2] / "shared/corpus")


def run(mce, folder):
    """A verdict on each operation of the documents."""
    specs = corpus() / "specs"
    if not specs.is_dir():
        raise tools.ToolError(f"there is no corpus at {specs}; MCE_TEST_CORPUS names its folder")
    tools.install(folder, PACKAGES)
    verdicts = []
    for name in DOCUMENTS:
        verdicts += judge(mce, folder, specs / name)
    return verdicts


def judge(mce, folder, file):
    root = json.loads(tools.run_node(folder, HERE / "prism/json.mjs", file.resolve()))
    document = Document(root)
    calls = [Call(f"{file.name} {o.name}", o.name, samples.arguments(o)) for o in document.operations]
    port = tools.free_port()
    cli = folder.resolve() / "node_modules/@stoplight/prism-cli/dist/index.js"
    with tools.server(folder, [cli, "mock", "--host", "127.0.0.1", "--port", port, file.resolve()], port, folder / "server.log", "/", 180) as origin:
        secrets = {name: credential(scheme) for name, scheme in document.schemes().items()}
        server = {"base_url": origin} | ({"credentials": secrets} if secrets else {})
        compiled, outcomes = mce.run(file, server, calls)
    return [verdict(operation, call, outcome) for operation, call, outcome in zip(document.operations, calls, outcomes)]


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
