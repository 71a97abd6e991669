"""An MCP server over stdio that behaves as badly as it is told: one JSON object as its argument.

    era            "legacy" (default), "modern" or "dual"
    version        what it answers to `initialize`
    start_delay    seconds before it reads anything
    never_ready    it answers nothing at all
    exit_at_start  status it ends with at once; with a line on stderr
    junk           lines on stdout that are no messages, before each answer
    stderr_flood   lines on stderr at the start
    tools          how many tools beside those below
    big_tools      how many tools of 64 KiB each beside those
    page           tools per page; 0: all
    endless        the last page leads to the first again
    extra_tools    more tools, as they stand
    list_error     message of the error that `tools/list` ends with
    list_silent    `tools/list` is never answered
    stubborn       it ends neither at the end of its input nor by SIGTERM
    late_tools     tools that come, with a notice, right after `initialized`
    capabilities   what it says that it can do
    http           "json", "events" or "sse" (the old transport): it listens on a port of its own and prints it
    token          over HTTP, what `Authorization` must be
    refuse_post    over HTTP, the status that each POST to its endpoint gets
    elsewhere      over HTTP, where each POST to its endpoint is redirected to
"""

import http.server
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time

SPEC = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
ERA = SPEC.get("era", "legacy")
PREFIX = "io.modelcontextprotocol/"
RECEIVED = []
ADDED = []
CLIENT = {}
WAITING = {}


# Over HTTP each request has a thread of its own, and its messages a place of their own.
PLACE = threading.local()
SESSIONS = {}


def out(message):
    if hasattr(PLACE, "messages"):
        return PLACE.messages.put({"jsonrpc": "2.0", **message})
    for line in SPEC.get("junk", []):
        sys.stdout.write(line + "\n")
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def result(request, value):
    out({"id": request["id"], "result": value})


def error(request, code, message, data=None):
    body = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    out({"id": request["id"], "error": body})


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def tool(name, **more):
    return {"name": name, "description": f"Tool {name}.", "inputSchema": {"type": "object"}, **more}


def all_tools():
    named = ["echo", "seen", "environment", "big", "die", "never", "slow", "fail", "refuse", "change", "child", "pid"]
    named += ["progress", "log", "roots", "sampling", "elicitation", "structured", "nothing", "not_a_result", "spam", "expire"]
    tools = [tool(name) for name in named]
    tools += [tool(f"tool_{number}") for number in range(SPEC.get("tools", 0))]
    tools += [tool(f"big_{number}", filler="x" * (64 << 10)) for number in range(SPEC.get("big_tools", 0))]
    return tools + SPEC.get("extra_tools", []) + [tool(name) for name in ADDED]


def list_tools(request):
    if SPEC.get("list_silent"):
        return
    if "list_error" in SPEC:
        return error(request, -32603, SPEC["list_error"])
    tools, page = all_tools(), SPEC.get("page", 0)
    if not page:
        return result(request, {"tools": tools})
    start = int((request.get("params") or {}).get("cursor") or 0)
    answer = {"tools": tools[start : start + page]}
    if start + page < len(tools):
        answer["nextCursor"] = str(start + page)
    elif SPEC.get("endless"):
        answer["nextCursor"] = "0"
    result(request, answer)


def ask(request, method, params):
    """Asks the client; its answer becomes the text of the call's."""
    if is_modern(request):
        params_in = request["params"]
        if "inputResponses" in params_in:
            assert params_in.get("requestState") == "sealed", params_in
            return result(request, text(json.dumps(params_in["inputResponses"]["it"])))
        wanted = {"it": {"method": method, "params": params}}
        return result(request, {"resultType": "input_required", "inputRequests": wanted, "requestState": "sealed"})
    WAITING[f"ask-{request['id']}"] = (request, getattr(PLACE, "messages", None))
    out({"id": f"ask-{request['id']}", "method": method, "params": params})


def is_modern(request):
    meta = (request.get("params") or {}).get("_meta") or {}
    return PREFIX + "protocolVersion" in meta


SUBSCRIPTION = []
UNTOLD = []


def changed():
    message = {"method": "notifications/tools/list_changed"}
    if ERA == "legacy" or (ERA == "dual" and CLIENT):
        return out(message)
    if not SUBSCRIPTION:
        return UNTOLD.append(True)
    message["params"] = {"_meta": {PREFIX + "subscriptionId": SUBSCRIPTION[0]}}
    out(message)


def call(request):
    params = request["params"]
    name, arguments = params["name"], params.get("arguments", {})
    if name == "echo":
        result(request, text(json.dumps(arguments)))
    elif name == "seen":
        result(request, text(json.dumps(RECEIVED)))
    elif name == "environment":
        result(request, text(json.dumps(dict(os.environ))))
    elif name == "big":
        result(request, text("x" * arguments["bytes"]))
    elif name == "die":
        os._exit(arguments.get("status", 3))
    elif name == "never":
        pass
    elif name == "hang":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif name == "slow":
        time.sleep(arguments["seconds"])
        result(request, text("done"))
    elif name == "fail":
        result(request, text("it failed", isError=True))
    elif name == "refuse":
        error(request, -32602, arguments.get("message", "no"))
    elif name == "change":
        ADDED.append(arguments["name"])
        changed()
        result(request, text("changed"))
    elif name == "child":
        child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
        result(request, text(json.dumps([os.getpid(), child.pid])))
    elif name == "pid":
        result(request, text(str(os.getpid())))
    elif name == "progress":
        token = params["_meta"]["progressToken"]
        for step in (1, 2):
            told = {"progressToken": token, "progress": step, "total": 2, "message": f"step {step}"}
            out({"method": "notifications/progress", "params": told})
        result(request, text("done"))
    elif name == "log":
        told = {"level": arguments.get("level", "info"), "logger": "fake", "data": arguments.get("data", "hello")}
        out({"method": "notifications/message", "params": told})
        out({"id": "p-1", "method": "ping"})
        result(request, text("done"))
    elif name == "roots":
        ask(request, "roots/list", {})
    elif name == "sampling":
        said = {"role": "user", "content": {"type": "text", "text": "hi"}}
        ask(request, "sampling/createMessage", {"messages": [said], "maxTokens": 5})
    elif name == "elicitation":
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        ask(request, "elicitation/create", {"mode": "form", "message": "Who?", "requestedSchema": schema})
    elif name == "structured":
        block = {"type": "text", "text": "{}", "annotations": {"priority": 1, "new": True}, "future": [1]}
        result(request, {"content": [block], "structuredContent": {"z": 1, "a": 2}, "_meta": {"k": 1}})
    elif name == "nothing":
        result(request, {})
    elif name == "not_a_result":
        result(request, ["no"])
    elif name == "expire":
        result(request, text("done"))
    elif name == "spam":
        for number in range(arguments["count"]):
            out({"id": f"spam-{number}", "method": "ping"})
        result(request, text("done"))
    else:
        error(request, -32602, f"unknown tool {name}")


def identity():
    return {"name": "fake", "title": "Fake Server", "version": "1.2.3"}


def capabilities():
    return SPEC.get("capabilities", {"tools": {"listChanged": True}})


def handle(message):
    method = message.get("method")
    if method is None:
        request, place = WAITING.pop(message.get("id"), (None, None))
        if request:
            if place:
                PLACE.messages = place
            result(request, text(json.dumps(message.get("result", message.get("error")))))
        return
    RECEIVED.append({"method": method, "params": message.get("params")})
    if "id" not in message:
        if method == "notifications/initialized" and SPEC.get("late_tools"):
            ADDED.extend(SPEC["late_tools"])
            changed()
        return
    if method == "initialize":
        if ERA == "modern":
            return error(message, -32022, "unsupported protocol version", {"supported": ["2026-07-28"]})
        CLIENT.update(message["params"])
        version = SPEC.get("version", message["params"]["protocolVersion"])
        value = {"protocolVersion": version, "capabilities": capabilities(), "serverInfo": identity()}
        return result(message, {**value, "instructions": "Be kind."})
    if method == "ping":
        return result(message, {})
    if method == "server/discover" and ERA != "legacy":
        value = {"supportedVersions": ["2026-07-28"], "capabilities": capabilities(), "instructions": "Be kind."}
        value.update(ttlMs=0, cacheScope="private", resultType="complete", _meta={PREFIX + "serverInfo": identity()})
        return result(message, value)
    if method == "subscriptions/listen" and ERA != "legacy":
        SUBSCRIPTION[:] = [message["id"]]
        told = {"notifications": message["params"]["notifications"], "_meta": {PREFIX + "subscriptionId": message["id"]}}
        out({"method": "notifications/subscriptions/acknowledged", "params": told})
        if UNTOLD:
            UNTOLD.clear()
            changed()
        return
    if method == "tools/list":
        return list_tools(message)
    if method == "tools/call":
        return call(message)
    error(message, -32601, f"unknown method {method}")


class Http(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, kind=None, body=b"", **headers):
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def is_refused(self):
        if "token" in SPEC and self.headers.get("Authorization") != SPEC["token"]:
            metadata = 'Bearer resource_metadata="http://127.0.0.1/.well-known/oauth-protected-resource"'
            self.answer(401, "text/plain", b"no", WWW_Authenticate=metadata)
            return True
        return False

    def do_DELETE(self):
        self.answer(200 if SESSIONS.pop(self.headers.get("Mcp-Session-Id"), None) else 404)

    def do_GET(self):
        if self.is_refused():
            return
        if SPEC["http"] != "sse":
            return self.answer(405)
        messages = queue.Queue()
        SESSIONS["sse"] = messages
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b": welcome\n\nevent: endpoint\ndata: /messages?session=1\n\n")
        while True:
            self.write_event(messages.get())

    def write_event(self, message):
        self.wfile.write(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")
        self.wfile.flush()

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.is_refused():
            return
        if self.path == "/messages?session=1":
            self.answer(202)
            PLACE.messages = SESSIONS["sse"]
            return handle(message)
        if "elsewhere" in SPEC:
            return self.answer(307, Location=SPEC["elsewhere"])
        if "refuse_post" in SPEC or SPEC["http"] == "sse":
            return self.answer(SPEC.get("refuse_post", 405), "text/html", b"<h1>no</h1>")
        method, session = message.get("method"), self.headers.get("Mcp-Session-Id")
        if session and session not in SESSIONS:
            return self.answer(404)
        if method == "tools/call" and message["params"]["name"] == "expire":
            SESSIONS.clear()
        PLACE.messages = queue.Queue()
        handle(message)
        new = {}
        if method == "initialize":
            session = f"session-{len(RECEIVED)}"
            SESSIONS[session] = True
            new["Mcp_Session_Id"] = session
        if "id" not in message or method is None:
            return self.answer(202)
        if SPEC["http"] == "json":
            while not PLACE.messages.empty():
                last = PLACE.messages.get()
            return self.answer(200, "application/json", json.dumps(last).encode(), **new)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        for name, value in new.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        while True:
            # A call that is never answered keeps its stream until the client closes it.
            try:
                told = PLACE.messages.get(timeout=0.1)
                self.write_event(told)
                if told.get("id") == message["id"] and "method" not in told:
                    self.close_connection = True
                    return
            except queue.Empty:
                try:
                    self.wfile.write(b": still here\n\n")
                except OSError:
                    return RECEIVED.append({"method": "closed", "params": message["params"]})


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


def serve_http():
    server = Server(("127.0.0.1", 0), Http)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def main():
    if SPEC.get("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "exit_at_start" in SPEC:
        print("cannot find the settings", file=sys.stderr)
        sys.exit(SPEC["exit_at_start"])
    for number in range(SPEC.get("stderr_flood", 0)):
        print(f"warning number {number}", file=sys.stderr)
    time.sleep(SPEC.get("start_delay", 0))
    if "http" in SPEC:
        return serve_http()
    for line in sys.stdin:
        if not SPEC.get("never_ready"):
            handle(json.loads(line))
    while SPEC.get("stubborn"):
        time.sleep(1)


main()
