"""A real HTTP server on this machine that takes batches, and answers chat completions at once as well."""

import json
import threading
import time
from collections.abc import Callable
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.crm.backends.scripted_server import Answer
from tests.precompute.collect import samples

PAGE = 2
"""Batches on one page of the list."""


class BatchServer:
    """Answers as a function of query and model, at once or in batches.

    Attributes:
        behave: What is answered.
        status: Of a batch, by how often it was looked at before.
        n_answered: How many requests of a batch are answered in the end; None for all.
        forgets: Whether no batch and no file is known any more.
        begin_delay: Seconds between beginning a batch and saying so.
        takes_batches: Whether it does.
        refusal: What is answered to who wants to begin a batch; None to begin it.
        chats: Queries that were asked at once.
        files: What was uploaded and written.
        batches: All that were begun, by name.
    """

    def __init__(self) -> None:
        self.behave: samples.Behave = samples.well_behaved
        self.status: Callable[[int], str] = lambda looks: "completed" if looks else "in_progress"
        self.n_answered: int | None = None
        self.forgets = False
        self.begin_delay = 0.0
        self.takes_batches = True
        self.refusal: Answer | None = None
        self.chats: list[str] = []
        self.keys: set[str | None] = set()
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self._looks: dict[str, int] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.where = self.url.removeprefix("http://")

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def requests(self, batch: str = "batch_1") -> list[dict[str, Any]]:
        """What a batch asks for."""
        return list(map(json.loads, self.files[self.batches[batch]["input_file_id"]].splitlines()))

    def _get(self, path: str) -> Answer:
        path, _, query = path.removeprefix("/v1").partition("?")
        if path == "/batches":
            names = sorted(self.batches, reverse=True)
            if "after=" in query:
                names = names[names.index(query.partition("after=")[2]) + 1 :]
            page = [self.batches[name] for name in names[:PAGE]]
            return Answer({"object": "list", "data": page, "has_more": len(names) > PAGE})
        _, kind, name, *_ = path.split("/")
        if self.forgets or name not in (self.files if kind == "files" else self.batches):
            return Answer({"error": {"message": f"No such {kind}: {name}"}}, 404)
        if kind == "files":
            return Answer(self.files[name].decode())
        looks = self._looks[name] = self._looks.get(name, -1) + 1
        batch = self.batches[name]
        batch["status"] = self.status(looks)
        if batch["status"] in ("completed", "expired", "cancelled") and "output_file_id" not in batch:
            self._end(batch)
        return Answer(batch)

    def _post(self, path: str, content: bytes, content_type: str) -> Answer:
        if path == samples.CHAT:
            return self._chat(json.loads(content))
        if not self.takes_batches:
            return Answer({"detail": "Not Found"}, 404)
        if path == "/v1/files":
            message = BytesParser(policy=HTTP).parsebytes(
                f"Content-Type: {content_type}\r\n\r\n".encode() + content
            )
            parts = {
                part.get_param("name", header="content-disposition"): part for part in message.iter_parts()
            }
            assert parts["purpose"].get_payload(decode=True) == b"batch"
            return Answer({"id": self._write(parts["file"].get_payload(decode=True)), "object": "file"})
        if self.refusal is not None:
            return self.refusal
        asked = json.loads(content)
        assert (asked["endpoint"], asked["completion_window"]) == ("/v1/chat/completions", "24h")
        name = f"batch_{len(self.batches) + 1}"
        self.batches[name] = {"id": name, "status": "validating", "input_file_id": asked["input_file_id"]}
        time.sleep(self.begin_delay)
        return Answer(self.batches[name])

    def _chat(self, body: Any) -> Answer:
        asked = body["messages"][-1]["content"]
        self.chats.append(asked)
        return self.behave(asked, body["model"], 0)

    def _end(self, batch: dict[str, Any]) -> None:
        answered, failed = [], []
        for place, request in enumerate(self.requests(batch["id"])):
            assert (request["method"], request["url"]) == ("POST", "/v1/chat/completions")
            line = {"id": f"r{place}", "custom_id": request["custom_id"], "response": None, "error": None}
            if self.n_answered is not None and place >= self.n_answered:
                late = "This request could not be executed before the completion window expired."
                failed.append(line | {"error": {"code": "batch_expired", "message": late}})
                continue
            body = request["body"]
            answer = self.behave(body["messages"][-1]["content"], body["model"], 0)
            line["response"] = {"status_code": answer.status, "request_id": "x", "body": answer.body}
            (answered if answer.status == 200 else failed).append(line)
        for key, lines in (("output_file_id", answered), ("error_file_id", failed)):
            # Answers come in any order, and in letters of every kind.
            written = "\n".join(json.dumps(line, ensure_ascii=False) for line in reversed(lines))
            batch[key] = self._write(written.encode()) if lines else None

    def _write(self, content: bytes) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return name

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._reply(outer._get(self.path))

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                self._reply(outer._post(self.path, content, self.headers["Content-Type"]))

            def log_message(self, *_: object) -> None:
                """Keep the test's output clean."""

            def _reply(self, answer: Answer) -> None:
                outer.keys.add(self.headers.get("Authorization"))
                text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
                content = text.encode()
                try:
                    self.send_response(answer.status)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                except ConnectionError:
                    self.close_connection = True  # a process that was killed does not wait

        return Handler
