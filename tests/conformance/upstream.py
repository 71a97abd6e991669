"""The MCP server behind `mce serve` in the server half of the official conformance suite: what its scenarios ask for, over
stdio. Its argument is its era: `legacy` (2025-11-25, with `initialize`) or `modern` (2026-07-28)."""

import base64
import json
import re
import sys
import threading
import time

ERA = sys.argv[1]
PREFIX = "io.modelcontextprotocol/"
PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
WAV = base64.b64encode(b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0\x80>\0\0\2\0\x10\0data\0\0\0\0").decode()
LOCK = threading.Lock()
WAITING = {}
LISTENING = []
CAPABILITIES = {"tools": {"listChanged": True}, "prompts": {"listChanged": True}, "completions": {}, "logging": {},
                "resources": {"subscribe": True, "listChanged": True}}
EXTRA_TOOLS, EXTRA_PROMPTS = [], []


def out(message):
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


class Refused(Exception):
    def __init__(self, code, message, data=None):
        self.error = {"code": code, "message": message, **({"data": data} if data else {})}


class InputRequired(Exception):
    def __init__(self, requests, state):
        self.result = {"resultType": "input_required", "inputRequests": requests, "requestState": state}


class Call:
    """A request, and the client behind it."""

    def __init__(self, params):
        self.params = params
        self.meta = params.get("_meta") or {}
        self.arguments = params.get("arguments") or {}
        self.given = {}
        if "requestState" in params:
            try:
                self.given = json.loads(base64.b64decode(params["requestState"], validate=True))
            except ValueError:
                raise Refused(-32602, "the state was changed") from None
        self.given.update(params.get("inputResponses") or {})

    def ask(self, requests):
        """Answers to `{key: (method, params)}`, by key."""
        wanted = {key: {"method": method, "params": params} for key, (method, params) in requests.items() if key not in self.given}
        if wanted and ERA == "modern":
            raise InputRequired(wanted, base64.b64encode(json.dumps(self.given).encode()).decode())
        for key, request in wanted.items():
            self.given[key] = self.request(request)
        return [self.given[key] for key in requests]

    def request(self, request):
        number = f"s{len(WAITING)}-{time.monotonic_ns()}"
        WAITING[number] = box = {"done": threading.Event()}
        out({"id": number, **request})
        box["done"].wait(60)
        if "result" not in box["message"]:
            raise Refused(-32603, box["message"].get("error", {}).get("message", "no answer"))
        return box["message"]["result"]

    def log(self, text):
        if ERA == "legacy" or PREFIX + "logLevel" in self.meta:
            out({"method": "notifications/message", "params": {"level": "info", "data": text}})

    def progress(self, value):
        if "progressToken" in self.meta:
            out({"method": "notifications/progress", "params": {"progressToken": self.meta["progressToken"], "progress": value, "total": 100}})


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def elicitation(message, properties, required=()):
    return "elicitation/create", {"message": message, "requestedSchema": {"type": "object", "properties": properties, "required": list(required)}}


def sampling(prompt, tokens=100):
    return "sampling/createMessage", {"messages": [{"role": "user", "content": {"type": "text", "text": prompt}}], "maxTokens": tokens}


def said(answer):
    content = answer.get("content", {})
    return (content[0] if isinstance(content, list) else content).get("text", "")


def logging(call):
    call.log("Tool execution started")
    time.sleep(0.05)
    call.log("Tool processing data")
    time.sleep(0.05)
    call.log("Tool execution completed")
    return text("done")


def progress(call):
    for value in (0, 50, 100):
        call.progress(value)
        time.sleep(0.05)
    return text("done")


def elicit(call):
    properties = {"username": {"type": "string", "description": "User's response"}, "email": {"type": "string", "description": "User's email address"}}
    (answer,) = call.ask({"user": elicitation(call.arguments.get("message", ""), properties, ["username", "email"])})
    return text(f"User response: action={answer.get('action')}, content={json.dumps(answer.get('content'))}")


def completed(answer):
    return text(f"Elicitation completed: action={answer.get('action')}, content={json.dumps(answer.get('content'))}")


def defaults(call):
    return completed(*call.ask({"defaults": elicitation("Please review", {
        "name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5}, "verified": {"type": "boolean", "default": True},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}})}))


def enums(call):
    titled = lambda words: [{"const": f"value{n}", "title": f"{word} {words}"} for n, word in enumerate(("First", "Second", "Third"), 1)]
    options = ["option1", "option2", "option3"]
    return completed(*call.ask({"enums": elicitation("Please choose", {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}}})}))


def name_of(answer):
    return (answer.get("content") or {}).get("name", "nobody")


NAME = elicitation("What is your name?", {"name": {"type": "string"}}, ["name"])


def several(call):
    name, greeting, roots = call.ask({"user_name": NAME, "greeting": sampling("Generate a greeting", 50), "client_roots": ("roots/list", {})})
    return text(f"{said(greeting)} {name_of(name)}, {len(roots.get('roots', []))} roots")


def rounds(call):
    (name,) = call.ask({"step1": elicitation("Step 1: What is your name?", {"name": {"type": "string"}}, ["name"])})
    (color,) = call.ask({"step2": elicitation("Step 2: What is your favorite color?", {"color": {"type": "string"}}, ["color"])})
    return text(f"{name_of(name)} likes {(color.get('content') or {}).get('color')}")


def confirm(call):
    call.ask({"confirm": elicitation("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])})
    return text("state-ok")


def changed(kind, extra):
    def change(_call):
        extra.append(f"test_added_{len(extra)}")
        for number, filters in LISTENING or [(None, {f"{kind}ListChanged": True})]:
            if filters.get(f"{kind}ListChanged"):
                meta = {"_meta": {PREFIX + "subscriptionId": number}} if number is not None else {}
                out({"method": f"notifications/{kind}/list_changed", "params": meta})
        return text("changed")
    return change


SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                   "phone": {"type": "string"}, "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": False}
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
EMBEDDED = {"type": "resource", "resource": {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource content."}}
MIXED = {"type": "resource", "resource": {"uri": "test://mixed-content-resource", "mimeType": "application/json", "text": '{"test":"data","value":123}'}}
one = lambda name, **more: {"type": "object", "properties": {name: {"type": "string", **more}}, "required": [name]}
TOOLS = {
    "test_simple_text": lambda call: text("This is a simple text response for testing."),
    "test_image_content": lambda call: {"content": [IMAGE]},
    "test_audio_content": lambda call: {"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]},
    "test_embedded_resource": lambda call: {"content": [EMBEDDED]},
    "test_multiple_content_types": lambda call: {"content": [{"type": "text", "text": "Multiple content types test:"}, IMAGE, MIXED]},
    "test_tool_with_logging": logging,
    "test_logging_tool": logging,
    "test_error_handling": lambda call: {**text("This tool intentionally returns an error for testing"), "isError": True},
    "test_tool_with_progress": progress,
    "test_sampling": lambda call: text(f"LLM response: {said(*call.ask({'llm': sampling(call.arguments.get('prompt', ''))}))}"),
    "test_elicitation": elicit,
    "test_streaming_elicitation": elicit,
    "test_missing_capability": lambda call: text(said(*call.ask({"llm": sampling("Hello")}))),
    "test_elicitation_sep1034_defaults": defaults,
    "test_elicitation_sep1330_enums": enums,
    "json_schema_2020_12_tool": lambda call: text("ok"),
    "test_custom_header": lambda call: text("ok"),
    "test_reconnection": lambda call: text("ok"),
    "test_trigger_tool_change": changed("tools", EXTRA_TOOLS),
    "test_trigger_prompt_change": changed("prompts", EXTRA_PROMPTS),
    "test_input_required_result_elicitation": lambda call: text(f"Hello, {name_of(*call.ask({'user_name': NAME}))}!"),
    "test_input_required_result_sampling": lambda call: text(said(*call.ask({"capital_question": sampling("What is the capital of France?")}))),
    "test_input_required_result_list_roots": lambda call: text(json.dumps(call.ask({"client_roots": ("roots/list", {})})[0].get("roots"))),
    "test_input_required_result_request_state": confirm,
    "test_input_required_result_multiple_inputs": several,
    "test_input_required_result_multi_round": rounds,
    "test_input_required_result_tampered_state": confirm,
    "test_input_required_result_capabilities": lambda call: text(f"{call.ask({'user_name': NAME})[0].get('action')}"),
}
SCHEMAS = {"test_sampling": one("prompt"), "test_elicitation": one("message"), "json_schema_2020_12_tool": SCHEMA,
           "test_custom_header": one("region", **{"x-mcp-header": "Region"})}
message = lambda content: {"role": "user", "content": content}
PROMPTS = {
    "test_simple_prompt": ([], lambda call: [message({"type": "text", "text": "This is a simple prompt for testing."})]),
    "test_prompt_with_arguments": (["arg1", "arg2"], lambda call: [message({"type": "text",
        "text": f"Prompt with arguments: arg1='{call.arguments.get('arg1')}', arg2='{call.arguments.get('arg2')}'"})]),
    "test_prompt_with_embedded_resource": (["resourceUri"], lambda call: [
        message({"type": "resource", "resource": {"uri": call.arguments.get("resourceUri"), "mimeType": "text/plain", "text": "Embedded resource content for testing."}}),
        message({"type": "text", "text": "Please process the embedded resource above."})]),
    "test_prompt_with_image": ([], lambda call: [message(IMAGE), message({"type": "text", "text": "Please analyze the image above."})]),
    "test_input_required_result_prompt": ([], lambda call: [message({"type": "text", "text": json.dumps(
        call.ask({"user_context": elicitation("What context should the prompt use?", {"context": {"type": "string"}}, ["context"])}))})]),
}
RESOURCES = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched."},
}


def tools():
    return [{"name": name, "description": f"Fixture {name}.", "inputSchema": SCHEMAS.get(name, {"type": "object", "properties": {}})}
            for name in [*TOOLS, *EXTRA_TOOLS]]


def prompts():
    listed = [(name, arguments) for name, (arguments, _) in PROMPTS.items()] + [(name, []) for name in EXTRA_PROMPTS]
    return [{"name": name, "description": f"Fixture {name}.", "arguments": [{"name": one, "description": one, "required": True} for one in arguments]}
            for name, arguments in listed]


def read(uri):
    found = RESOURCES.get(uri)
    template = re.fullmatch(r"test://template/([^/]+)/data", uri)
    if template:
        data = {"id": template[1], "templateTest": True, "data": f"Data for ID: {template[1]}"}
        found = {"mimeType": "application/json", "text": json.dumps(data)}
    if not found:
        raise Refused(-32602 if ERA == "modern" else -32002, "Resource not found", {"uri": uri})
    return {"contents": [{"uri": uri, **found}]}


def answer(method, params):
    if method == "initialize" and ERA == "legacy":
        return {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": {"name": "fixture", "version": "1"}}
    if method == "server/discover" and ERA == "modern":
        return {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES, "ttlMs": 0, "cacheScope": "private",
                "_meta": {PREFIX + "serverInfo": {"name": "fixture", "version": "1"}}}
    if method == "tools/call":
        tool = TOOLS.get(params["name"])
        if not tool:
            raise Refused(-32602, f"Unknown tool: {params['name']}")
        return tool(Call(params))
    if method == "prompts/get":
        if params["name"] not in PROMPTS:
            raise Refused(-32602, f"Unknown prompt: {params['name']}")
        return {"messages": PROMPTS[params["name"]][1](Call(params))}
    lists = {
        "tools/list": lambda: {"tools": tools()},
        "prompts/list": lambda: {"prompts": prompts()},
        "resources/list": lambda: {"resources": [{"uri": uri, "name": uri[7:], "description": uri, "mimeType": one["mimeType"]} for uri, one in RESOURCES.items()]},
        "resources/templates/list": lambda: {"resourceTemplates": [{"uriTemplate": "test://template/{id}/data", "name": "template",
                                                                    "description": "A template.", "mimeType": "application/json"}]},
        "resources/read": lambda: read(params["uri"]),
        "completion/complete": lambda: {"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": False}},
    }
    if ERA == "legacy":
        lists.update(dict.fromkeys(("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"), dict))
    if method not in lists:
        raise Refused(-32601, f"Method not found: {method}")
    return lists[method]()


def serve(request):
    method, params = request["method"], request.get("params") or {}
    if method == "subscriptions/listen" and ERA == "modern":
        LISTENING.append((request["id"], params["notifications"]))
        meta = {PREFIX + "subscriptionId": request["id"]}
        return out({"method": "notifications/subscriptions/acknowledged", "params": {"notifications": params["notifications"], "_meta": meta}})
    try:
        result = answer(method, params)
        if ERA == "modern":
            result = {"resultType": "complete", **result}
            if method.endswith("/list") or method == "resources/read":
                result = {"ttlMs": 0, "cacheScope": "private", **result}
        out({"id": request["id"], "result": result})
    except InputRequired as required:
        out({"id": request["id"], "result": required.result})
    except Refused as refused:
        out({"id": request["id"], "error": refused.error})


for line in sys.stdin:
    incoming = json.loads(line)
    if "method" not in incoming:
        box = WAITING.pop(incoming["id"], None)
        if box:
            box["message"] = incoming
            box["done"].set()
    elif "id" in incoming:
        threading.Thread(target=serve, args=(incoming,), daemon=True).start()
