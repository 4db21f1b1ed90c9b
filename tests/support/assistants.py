"""Assistants: clients of the official MCP SDK, over a process of `docmind mcp` and over HTTP."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from conftest import HELPERS, ROOT


@asynccontextmanager
async def over_stdio(environment: Mapping[str, str], *, mode: str = "auto") -> AsyncIterator[Client]:
    """Yield a client of a new `docmind mcp`, which has these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DOCMIND_")}
    path = os.pathsep.join([str(ROOT / "src"), *HELPERS])
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "docmind", "mcp"], env={**kept, **environment, "PYTHONPATH": path}
    )
    async with Client(server, mode=mode) as client:
        yield client


@asynccontextmanager
async def over_http(address: str, token: str, *, mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
    """Yield a client of the app's server, with this bearer token."""
    given = {"Authorization": f"Bearer {token}", **headers}
    async with (
        httpx2.AsyncClient(headers=given, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield client


async def called(client: Client, tool: str, **arguments: Any) -> Any:
    """Call a tool and return its result."""
    return await client.call_tool(tool, arguments)


async def record(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed, and return its record; the first text is the same as JSON."""
    result = await called(client, tool, **arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that must refuse, and return what it says."""
    result = await called(client, tool, **arguments)
    assert result.is_error, result.structured_content
    (said,) = result.content
    assert result.structured_content is None
    return said.text
