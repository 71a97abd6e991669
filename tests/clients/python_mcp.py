#!/usr/bin/env python3
"""Speaks to `mce serve` through the MCP client of PyPI's package `mcp`, in both eras of the protocol, and makes calls to a
real HTTP server. Compares the whole transcript with `python_mcp.transcript.json`; `--update` writes it anew.

usage: python_mcp.py --mce PATH [--update]
"""
import argparse
import asyncio
import http.server
import json
import os
import re
import sys
import tempfile
import threading
from pathlib import Path

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

HERE = Path(__file__).resolve().parent
TRANSCRIPT = HERE / "python_mcp.transcript.json"
TOKEN = "client-test-token-5a1c"
ERAS = ("legacy", "2026-07-28")

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Notes", "version": "1"},
    "paths": {
        "/notes/{id}": {
            "get": {
                "operationId": "getNote",
                "summary": "Get one note",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "responses": {"200": {"description": "it", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Note"}}}}},
            }
        },
        "/notes": {
            "post": {
                "operationId": "createNote",
                "summary": "Create a note",
                "requestBody": {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Note"}}}},
                "responses": {"201": {"description": "it", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Note"}}}}},
            }
        },
    },
    "components": {"schemas": {"Note": {"type": "object", "required": ["text"], "properties": {"id": {"type": "integer", "readOnly": True}, "text": {"type": "string"}}}}},
}

PROGRAM = """from notes.functions import create_note, get_note

number = 7
made = create_note(body={"text": f"note {number}"})
print("made", made["id"])
result = {"read": get_note(id=number)["text"], "made": made}
"""
FAILS = """from notes.functions import get_note

get_note(id=404)
"""


class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        number = self.path.rpartition("/")[2]
        self.answer(404, {"detail": "no such note"}) if number == "404" else self.answer(200, {"id": int(number), "text": f"text of {number}"})

    def do_POST(self):
        note = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.answer(201, {"id": 99, **note})

    def answer(self, status, value):
        if self.headers["authorization"] != f"Bearer {TOKEN}":
            status, value = 401, {"detail": "no token"}
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def plain(value):
    """A result of the client as JSON, without what differs from run to run."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return value


def steady(value):
    """Texts that hold JSON are opened; times become 0 and ids keep their form only."""
    if isinstance(value, dict):
        return {k: "LIBRARIES" if k == "sandbox_libraries" else 0 if k in ("execution_time_ms", "ms") else "ID" if k == "cache_id" else steady(v) for k, v in value.items()}
    if isinstance(value, list):
        return [steady(v) for v in value]
    if isinstance(value, str) and value.startswith("{"):
        try:
            return {"json": steady(json.loads(value))}
        except ValueError:
            return value
    return re.sub(r"\b[0-9a-f]{16,64}\b", "ID", value) if isinstance(value, str) else value


async def converse(parameters, era):
    talk = []

    async def ask(tool, arguments):
        result = await client.call_tool(tool, arguments)
        talk.append({"call": tool, "arguments": arguments, "result": steady(plain(result))})
        return result

    async with Client(stdio_client(parameters), mode=era) as client:
        talk.append({"tools": steady(plain(await client.list_tools()))})
        talk.append({"prompts": steady(plain(await client.list_prompts()))})
        talk.append({"guide": steady(plain(await client.get_prompt("reusable_code_guide")))})
        talk.append({"resources": steady(plain(await client.list_resources()))})
        talk.append({"guide of notes": steady(plain(await client.read_resource("skills://notes")))})
        await ask("list_servers", {})
        await ask("search_functions", {"query": "create a note"})
        await ask("get_functions", {"functions": [{"server_name": "notes", "function_name": "create_note"}, {"server_name": "notes", "function_name": "get_notes"}]})
        answer = await ask("execute_code", {"code": PROGRAM, "description": "create and read notes"})
        recipe = json.loads(answer.content[0].text)["cache_id"]
        again = await client.call_tool("run_cached_code", {"cache_id": recipe, "params": {"number": 3}})
        talk.append({"again": steady(plain(again))})
        wrong = await client.call_tool("run_cached_code", {"cache_id": recipe, "params": {"numbr": 3}})
        talk.append({"wrong parameter": steady(plain(wrong))})
        await ask("execute_code", {"code": FAILS, "description": "read a note that does not exist"})
        await ask("execute_code", {"code": "result = (", "description": "a syntax error"})
        await ask("search_functions", {"qery": "x"})
        await ask("no_such_tool", {})
    return talk


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mce", required=True)
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    api = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "notes.json").write_text(json.dumps(DOCUMENT))
        (folder / "notes.md").write_text("# Notes\nRead before you write.\n")
        server = {"openapi": "./notes.json", "base_url": f"http://127.0.0.1:{api.server_port}", "auth": {"type": "jwt", "token": "${NOTES_TOKEN}"}, "skills_url": "./notes.md"}
        (folder / "mce.yaml").write_text(json.dumps({"servers": {"notes": server}}))
        environment = {"NOTES_TOKEN": TOKEN, "MCE_DATA_DIR": str(folder / "data"), "HOME": str(folder), "PATH": os.environ["PATH"]}
        for name in ("PYENV_ROOT", "PYENV_VERSION", "MCE_PYTHON"):
            if name in os.environ:
                environment[name] = os.environ[name]
        parameters = StdioServerParameters(command=os.path.abspath(args.mce), args=["serve"], env=environment, cwd=str(folder))
        transcripts = {era: await converse(parameters, era) for era in ERAS}
    text = json.dumps(transcripts, indent=1, ensure_ascii=False) + "\n"
    if TOKEN in text:
        sys.exit("the token is in the transcript")
    if args.update:
        TRANSCRIPT.write_text(text)
        print(f"wrote {TRANSCRIPT}")
        return
    if text != TRANSCRIPT.read_text():
        came = Path(tempfile.gettempdir()) / "python_mcp.transcript.json"
        came.write_text(text)
        sys.exit(f"the transcript differs: diff {TRANSCRIPT} {came}")
    print(f"{sum(map(len, transcripts.values()))} steps in {len(ERAS)} eras, as in {TRANSCRIPT.name}")


asyncio.run(main())
