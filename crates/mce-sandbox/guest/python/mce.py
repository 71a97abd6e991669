"""Helpers for programs: calls by name, calls at the same time, pages, a language model, and the errors that calls raise."""

import asyncio
import concurrent.futures
import inspect

from mce_guest.failures import (
    ApiError,
    ApprovalError,
    ArgumentError,
    CallError,
    CallTimeoutError,
    OutputError,
    PolicyError,
    ToolError,
)
from mce_guest.models import LanguageModel
from mce_guest.paging import apaginate, paginate

__all__ = [
    "ApiError",
    "ApprovalError",
    "ArgumentError",
    "CallError",
    "CallTimeoutError",
    "OutputError",
    "PolicyError",
    "ToolError",
    "acall_function",
    "afetch",
    "apaginate",
    "call_function",
    "call_mcp_tool",
    "discover_mcp_tools",
    "fetch",
    "get_tool_schema",
    "llm",
    "load",
    "paginate",
    "parallel",
    "save",
    "search_tools",
]

_host = None
llm = LanguageModel(lambda: _host)
PARALLEL = 16


def call_function(function, arguments=None, **named):
    """Calls any function by `server.function`, `server:METHOD /path` or `mcp__server__tool`, with original names."""
    return _host.call(function, "original", {**(arguments or {}), **named} if named else arguments)


async def acall_function(function, arguments=None, **named):
    """The same, awaitable."""
    return await _host.call_async(function, "original", {**(arguments or {}), **named} if named else arguments)


def fetch(url, method="GET", headers=None, body=None, json=None):
    """Sends a request to an allowed host. The answer has `status`, `headers`, `text`, `content`, `json()`; any status is one."""
    return _host.fetch(url, method, headers, body, json)


async def afetch(url, method="GET", headers=None, body=None, json=None):
    """The same, awaitable."""
    return await _host.fetch_async(url, method, headers, body, json)


def save(value):
    """Keeps a value on the host for a day; gives its id, by which a later run can `load` it."""
    return _host.save(value)


def load(id):
    """The value that a run has kept under this id."""
    return _host.load(id)


async def call_mcp_tool(tool_name, params=None):
    """Calls `mcp__server__tool`."""
    return await _host.call_async(tool_name, "original", params)


# For calls without `await`; see `mce_guest.at_once`.
call_mcp_tool.at_once = lambda tool_name, params=None: _host.call(tool_name, "original", params)


async def search_tools(query, limit=10, server=None):
    """Functions that match the words, best first: each with `name`, `description` and `parameters`, a JSON Schema."""
    return await _host.search_async(query, "words", server, limit)


async def discover_mcp_tools(search_terms=None, limit=None):
    """Functions whose name or description holds any of the terms; without terms all."""
    terms = [search_terms] if isinstance(search_terms, str) else list(search_terms or [])
    return await _host.search_async("\n".join(terms), "terms", None, limit)


async def get_tool_schema(tool_name):
    """One function as `search_tools` gives it, or None."""
    found = await _host.search_async(tool_name, "name", None, None)
    return found[0] if found else None


def parallel(*jobs):
    """Runs jobs at the same time and gives their values in order. A job is a callable without arguments, or an awaitable.

    `parallel(lambda: get_item(id="1"), lambda: get_item(id="2"))`; one list of jobs works too. The first error is raised.
    """
    if len(jobs) == 1 and isinstance(jobs[0], (list, tuple)):
        jobs = jobs[0]
    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        return list(pool.map(_run_job, jobs))


def _run_job(job):
    value = job() if callable(job) else job
    return asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value


async def _awaited(value):
    return await value
