#!/usr/bin/env python3
"""A model server that speaks chat completions and answers as a script says.

The path before /chat/completions names the script: a list of replies, each a text, an object (sent
as its JSON), {"tool": name, "arguments": {…}} for a call, or "hang". Beyond its end the server fails.
"""
import http.server
import json
import threading
import time


class Model:
    def __init__(self):
        self.scripts, self.asked = {}, {}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def flags(self, name, script):
        """The flags of a program that make it ask this script."""
        self.scripts[name] = list(script)
        self.asked[name] = []
        port = self.server.server_address[1]
        return ["--base-url", f"http://127.0.0.1:{port}/{name}", "--model", "scripted"]

    def answer(self, handler):
        name = handler.path.strip("/").split("/")[0]
        length = int(handler.headers.get("content-length", 0))
        request = json.loads(handler.rfile.read(length))
        self.asked[name].append(request)
        script = self.scripts[name]
        reply = script.pop(0) if script else None
        if reply == "hang":
            time.sleep(600)
        if reply is None or reply == "hang":
            handler.send_error(500)
            return
        delta, reason = delta_of(reply, len(self.asked[name]))
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        first = chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        last = chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        for data in [json.dumps(first), json.dumps(last), "[DONE]"]:
            handler.wfile.write(f"data: {data}\n\n".encode())


def delta_of(reply, number):
    if isinstance(reply, dict) and "tool" in reply:
        call = {"name": reply["tool"], "arguments": json.dumps(reply["arguments"])}
        call = {"index": 0, "id": f"call-{number}", "type": "function", "function": call}
        return {"role": "assistant", "tool_calls": [call]}, "tool_calls"
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return {"role": "assistant", "content": text}, "stop"
