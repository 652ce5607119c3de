import asyncio

from mcp import Client

from common import URL, row


@row("tools")
def tools():
    async def run():
        async with Client(URL + "/mcp/plain") as client:
            names = [t.name for t in (await client.list_tools()).tools]
            assert names == ["call_tool", "describe_tools", "find_tools"], names
            found = await client.call_tool("find_tools", {"queries": ["read a file"]})
            assert "read_file" in found.content[0].text
            said = await client.call_tool("call_tool", {"name": "read_file", "arguments": {"path": "note.txt"}})
            assert "A short note." in said.content[0].text, said
    asyncio.run(run())


@row("errors")
def errors():
    async def run():
        async with Client(URL + "/mcp/plain") as client:
            said = await client.call_tool("call_tool", {"name": "reed_file", "arguments": {}})
            assert said.is_error
    asyncio.run(run())
