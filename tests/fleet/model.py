"""A model on the loopback interface that speaks Anthropic's protocol, for conversations that come in any order.

What it says depends on the conversation alone. Each call has an id of its own, as with a real model.
"""

import itertools
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STEPS = 3


def is_once(job, step):
    """Whether a step of a conversation is one that must not be taken twice."""
    return job % 4 == 0 and step == 1


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    serials = itertools.count()

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_error(404)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        messages = body["messages"]
        job = int(re.search(r"Job (\d+)", json.dumps(messages[0]["content"])).group(1))
        blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
        step = sum(block["type"] == "tool_result" for block in blocks)
        if step == STEPS:
            contents, reason = [self.text("Job ", str(job), " is", " finished.")], "end_turn"
        else:
            tool = "once" if is_once(job, step) else "step"
            call = {"type": "tool_use", "id": f"toolu_{job}_{step}_{next(self.serials)}", "name": tool, "input": {}}
            words = json.dumps({"job": job, "step": step})
            contents = [self.text("I go", " on."), (call, [{"type": "input_json_delta", "partial_json": words}])]
            reason = "tool_use"
        self.stream(contents, reason)

    @staticmethod
    def text(*pieces):
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]

    def stream(self, contents, reason):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        usage = {"input_tokens": 10, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "test", "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": usage}
        try:
            self.event({"type": "message_start", "message": message})
            for index, (block, deltas) in enumerate(contents):
                self.event({"type": "content_block_start", "index": index, "content_block": block})
                for delta in deltas:
                    self.event({"type": "content_block_delta", "index": index, "delta": delta})
                self.event({"type": "content_block_stop", "index": index})
            end = {"stop_reason": reason, "stop_sequence": None}
            self.event({"type": "message_delta", "delta": end, "usage": {"output_tokens": 20}})
            self.event({"type": "message_stop"})
        except OSError:
            pass  # The client was killed.
        self.close_connection = True

    def event(self, data):
        self.wfile.write(f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()
        time.sleep(0.004)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass  # The client was killed.


def start():
    """Starts the model. Gives its address."""
    server = Server(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"
