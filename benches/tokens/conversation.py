"""A conversation as a client has it with a model: what is sent again each turn, what is answered, and what that costs."""
import json
import time
from dataclasses import dataclass, field

from count import compact

# What a cached token of input costs.
CACHED = 0.1


@dataclass
class Conversation:
    """Counts as a model pays: each turn it reads the tools, the instructions and all that was said before."""

    count: object
    fixed: int
    turns: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    seconds: float = 0.0
    said: int = 0
    read: int = field(default=0)

    def hear(self, text):
        """What the model will read from the next turn on."""
        self.said += self.count(text)

    def speak(self, text):
        """A turn of the model."""
        whole = self.fixed + self.said
        self.turns += 1
        self.input += whole
        self.cached += self.read
        self.read = whole
        tokens = self.count(text)
        self.output += tokens
        self.said += tokens

    def call(self, server, calls):
        """One turn that calls tools, all of them at once. Gives the texts of their results."""
        self.speak("\n".join(compact({"name": name, "arguments": arguments}) for name, arguments in calls))
        start = time.perf_counter()
        results = [future.result(120) for future in [server.ask("tools/call", {"name": name, "arguments": arguments}) for name, arguments in calls]]
        self.seconds += time.perf_counter() - start
        texts = []
        for (name, arguments), message in zip(calls, results):
            result = message.get("result") or message
            text = "\n".join(block.get("text", "") for block in result.get("content", [{"text": compact(message)}]))
            if result.get("isError") or "error" in message:
                raise SystemExit(f"{name} {compact(arguments)[:2000]}: {text[:2000]}")
            self.hear(text)
            texts.append(text)
        return texts

    @property
    def total(self):
        return self.input + self.output

    @property
    def total_cached(self):
        return self.total - (1 - CACHED) * self.cached


def shown(tools):
    """What a model reads of tools: clients do not show it what a tool answers with, nor annotations."""
    return compact([{"name": tool["name"], "description": tool.get("description", ""), "input_schema": tool["inputSchema"]} for tool in tools])


def value_of(text):
    try:
        return json.loads(text)
    except ValueError:
        return text
