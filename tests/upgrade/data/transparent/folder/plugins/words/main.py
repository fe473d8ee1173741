#!/usr/bin/env python3
"""Counts what a text consists of: an MCP server on standard input and output, with nothing but Python."""
import json
import os
import sys

LONGEST = json.loads(os.environ.get("PLUGIN_CONFIG", "{}")).get("longest", 100000)

COUNT = {
    "name": "count",
    "description": "Counts characters, words and lines of a text.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text."}},
        "required": ["text"],
    },
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}


def count(text):
    if len(text) > LONGEST:
        return {"isError": True, "content": [{"type": "text", "text": f"the text is longer than {LONGEST} characters"}]}
    # In Chinese a character counts as a word.
    han = sum("\u4e00" <= character <= "\u9fff" for character in text)
    words = len("".join(" " if "\u4e00" <= character <= "\u9fff" else character for character in text).split()) + han
    told = f"{len(text)} characters, {words} words, {len(text.splitlines())} lines"
    return {"content": [{"type": "text", "text": told}]}


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-11-25"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "words", "version": "1.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [COUNT]}
    if method == "tools/call" and params.get("name") == "count":
        return count(str(params.get("arguments", {}).get("text", "")))
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request.get("method"), request.get("params") or {})
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": f"there is no {request.get('method')}"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
