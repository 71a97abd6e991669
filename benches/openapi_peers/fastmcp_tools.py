"""Reads a document with FastMCP and lists its tools, as for a client; prints their number and the bytes of the list."""
import asyncio
import json
import sys

from fastmcp import FastMCP

with open(sys.argv[1]) as file:
    server = FastMCP.from_openapi(openapi_spec=json.load(file), name="peer")
tools = asyncio.run(server.list_tools())
size = sum(len(tool.to_mcp_tool().model_dump_json(by_alias=True, exclude_none=True)) for tool in tools)
print(json.dumps({"tools": len(tools), "bytes": size}))
