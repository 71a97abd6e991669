"""The judge of TypeSpec: `@typespec/spector` with the scenarios of `@typespec/http-specs`."""
import base64
import concurrent.futures
import json
import re
import subprocess
from pathlib import Path

import tools
import wire
from mce import Call
from openapi import Document
from spector.documents import written
from verdict import Verdict

# A file of the package, as `judge_folder` finds it there.
PNG = {"base64": "assets/image.png", "filename": "image.png", "content_type": "image/png"}
# Bodies that are in the text of a scenario and not in its mock.
BODIES = {
    "Payload_MultiPart_FormData_File_uploadFileSpecificContentType": {"file": PNG},
    "Payload_MultiPart_FormData_File_uploadFileRequiredFilename": {"file": PNG},
    "Payload_MultiPart_FormData_File_uploadFileArray": {"files": [PNG, PNG]},
    "Type_Model_Visibility_putReadOnlyModel": {},
    "Type_Model_Visibility_headModel": {},
    "Type_Model_Visibility_getModel": {},
}
EXPLAINED = {
    r"Parameters_Path_optional": "the emitted document has the path `/parameters/path/optional{name}`, without the slash that `{/name}` stands for",
    r"Payload_MultiPart_FormData_HttpParts_jsonArrayAndFileArray": "an array in one JSON part, where the emitted document says (by OpenAPI) one part for each item",
    r"Routes_PathParameters_PathExpansion_Explode_(array|record)": "`{/param*}` of RFC 6570, which OpenAPI cannot say",
    r"Type_Enum_Fixed_String_putUnknownValue": "a value outside of the enum, which is refused before it is sent",
}
# Folders at a time. The calls of one folder stay in order: of several to one mock the last counts.
JOBS = 4
HERE = Path(__file__).resolve().parent / "spector"
PACKAGES = [
    "@typespec/http-specs@0.1.0-alpha.33-dev.3",
    "@typespec/spector@0.1.0-alpha.24-dev.2",
    *[f"@typespec/{name}@1.11.0" for name in ("compiler", "http", "openapi", "openapi3")],
    *[f"@typespec/{name}@0.79.0" for name in ("rest", "versioning", "xml")],
    *[f"@typespec/{name}@0.81.0" for name in ("streams", "events", "sse")],
]


def run(mce, folder, version="3.1.0"):
    """A verdict on each scenario, by documents of one version of OpenAPI."""
    tools.install(folder, PACKAGES)
    ensure_commit(folder)
    port = tools.free_port()
    emitted = folder / f"documents-{version}"
    if not emitted.is_dir():
        tools.run_node(folder, HERE / "emit.mjs", emitted, version)
    scenarios = json.loads(tools.run_node(folder, HERE / "scenarios.mjs", f"http://localhost:{port}"))
    for name, document in written(scenarios).items():
        (emitted / name).mkdir(parents=True, exist_ok=True)
        (emitted / name / "openapi.json").write_text(json.dumps(document))
    package = folder / "node_modules/@typespec/http-specs"
    arguments = [folder.resolve() / "node_modules/@typespec/spector/cmd/cli.mjs", "serve", package.resolve() / "specs", "--port", port]
    arguments += ["--coverageFile", (folder / "coverage.json").resolve()]
    with tools.server(folder, arguments, port, folder / "server.log", "/.coverage") as origin:
        PNG["base64"] = base64.b64encode((package / PNG["base64"]).read_bytes()).decode()
        by_folder = {}
        for scenario in scenarios:
            by_folder.setdefault(scenario["folder"], []).append(scenario)
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            judged = pool.map(lambda item: judge_folder(mce, origin, emitted / item[0], item[1]), by_folder.items())
            verdicts = [verdict for verdicts in judged for verdict in verdicts]
        marks = {key: mark for report in tools.get_json(origin + "/.coverage") for key, mark in report["results"].items()}
    for verdict in verdicts:
        verdict.mark = marks.get(verdict.key, "unknown to the judge")
        verdict.is_passed = verdict.mark == "pass" and not verdict.notes
    return verdicts


def ensure_commit(folder):
    """The judge wants to tell which commit it is from, and ends where it finds none."""
    if subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True).returncode:
        subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
        identity = ["-c", "user.name=judge", "-c", "user.email=judge@localhost"]
        subprocess.run(["git", *identity, "commit", "--quiet", "--allow-empty", "--message", "judge"], cwd=folder, check=True)


def judge_folder(mce, origin, folder, scenarios):
    """Calls for the scenarios of one folder of specs, by document and by what the server is configured with."""
    verdicts = {s["name"]: Verdict(s["name"]) for s in scenarios}
    files = sorted(folder.glob("*.json"))
    documents = {path: Document(json.loads(path.read_text())) for path in files}
    groups = {}
    for scenario in scenarios:
        for api in scenario["apis"]:
            plan(origin, documents, scenario, api, verdicts[scenario["name"]], groups)
    for (path, server), calls in groups.items():
        _, outcomes = mce.run(path, json.loads(server), calls)
        for call, outcome in zip(calls, outcomes):
            verdicts[call.key].notes += compare(call, outcome)
    return list(verdicts.values())


def plan(origin, documents, scenario, api, verdict, groups):
    uri = re.sub(r"\[(.)\]|\\(.)", lambda m: m[1] or m[2], api["uri"])
    path = uri
    for name, value in api["pathParams"].items():
        path = path.replace(f":{name}", str(value))
    operation, texts = wire.find(documents.values(), api["method"], path)
    if operation is None and path.endswith("/nextPage"):
        # The address of a next page is no operation: programs fetch it.
        document = next(iter(documents))
        groups.setdefault((document, json.dumps({"base_url": origin})), []).append(Call(scenario["name"], origin + path))
        return
    if operation is None:
        verdict.notes.append(f"no operation in the document for {api['method'].upper()} {path}")
        return
    call = Call(scenario["name"], operation.name, wire.arguments(operation, api, texts), expectation(scenario, api))
    if scenario["name"] in BODIES:
        call.arguments["body"] = BODIES[scenario["name"]]
    document = next(file for file, document in documents.items() if document is operation.document)
    server = {"base_url": origin + operation.document.base_path} | credentials(operation, api)
    if "accept" in api["headers"] and len(operation.answers()) > 1:
        server["extra_headers"] = {"Accept": api["headers"]["accept"]}
    groups.setdefault((document, json.dumps(server)), []).append(call)


def expectation(scenario, api):
    answer = api["answer"]
    if answer["status"] >= 400:
        return {"status": answer["status"]}
    body = answer.get("body")
    if body and "text" in body and re.search(r"[/+]json$", body["contentType"]):
        return {"value": json.loads(body["text"])}
    return {}


def credentials(operation, api):
    """Secrets for the document's security schemes, from the headers that the mock expects."""
    schemes = operation.document.root.get("components", {}).get("securitySchemes", {})
    headers = {name.lower(): value for name, value in api["headers"].items()}
    out = {}
    for name, scheme in schemes.items():
        if scheme["type"] == "apiKey" and scheme["in"] == "header" and scheme["name"].lower() in headers:
            out[name] = headers[scheme["name"].lower()]
        elif scheme["type"] in ("http", "oauth2") and "authorization" in headers:
            out[name] = headers["authorization"].partition(" ")[2]
    return {"credentials": out} if out else {}


def compare(call, outcome):
    """What is wrong with an outcome apart from what the judge saw."""
    shown = json.dumps(call.arguments, ensure_ascii=False)[:200]
    if "error" in outcome:
        if outcome.get("status") == call.expect.get("status", 0):
            return []
        return [f"{call.operation} {shown}: {outcome['error']} {outcome.get('status') or ''}: {outcome.get('text', '')[:300]} {json.dumps(outcome.get('body'))[:300]}"]
    if "status" in call.expect:
        return [f"{call.operation} {shown}: expected status {call.expect['status']}"]
    if "value" in call.expect and outcome["value"] != call.expect["value"]:
        return [f"{call.operation} {shown}: came {json.dumps(outcome['value'])[:200]}, expected {json.dumps(call.expect['value'])[:200]}"]
    return []
