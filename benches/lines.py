"""A client of an MCP server over the pipes of its process. Any number of requests may be under way."""
import concurrent.futures
import json
import subprocess
import threading

INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
PATIENCE_S = 120


class Lines:
    """Starts a command and shakes hands with it."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options)
        self.lock, self.waiting, self.number = threading.Lock(), {}, 0
        threading.Thread(target=self.read, daemon=True).start()
        self.greeting = self.request("initialize", INITIALIZE)
        self.send({"method": "notifications/initialized"})

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message:
                if "id" in message:
                    self.send({"id": message["id"], "error": {"code": -32601, "message": "no"}})
            elif (future := self.waiting.pop(message.get("id"), None)) is not None:
                future.set_result(message)

    def send(self, message):
        with self.lock:
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self.process.stdin.flush()

    def ask(self, method, params):
        future = concurrent.futures.Future()
        with self.lock:
            self.number += 1
            number = self.number
            self.waiting[number] = future
        self.send({"id": number, "method": method, "params": params})
        return future

    def request(self, method, params):
        return self.ask(method, params).result(PATIENCE_S)["result"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)
