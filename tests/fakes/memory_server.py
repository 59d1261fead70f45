"""A memory server for faults the real one does not produce on demand: a real child that speaks MCP over its pipes.

Run as `python memory_server.py FOLDER`. In FOLDER it keeps `notes.json`, appends every request to `calls.jsonl`, and
before each request reads `faults.json`, which a test may rewrite at any time through `FakeMemory`:

    initialize   "hang" | "garbage" | "exit" | "reject"
    tools        {"pages": [[tool, ...], ...], "repeat": bool, "endless": bool, "broken_after": int, "silent": bool,
                 "exit": bool}
    stubborn     true: ignores end of input and TERM
    <tool name>  a list of steps carried out in order, `store` among them (without it nothing is stored):
                 "store" "hold" "turn" "silent" "exit" "garbage" "wrong-id" "truncated" "empty" "invalid" "text"
                 "rpc-error"; "hold" waits for `release()`, "turn" for `release(title)` of its own note
                 {"hold": name} (waits for `release(name)`)
                 {"error": text} {"code": code} {"sleep": seconds} {"store": body} (another body than it was given)
                 "wedge" (this server answers nothing from here on; the next one does)
                 {"progress": [done, total, message]} {"result": result} "changed" (its tools are others now)
                 {"ask": method} (of its client; what comes back is logged as "answer")
    projects     what list_memory_projects tells instead of the one there is
    index        "lag" (search finds nothing) | "required" (search answers with plain text)
                 | "hidden" (reads find nothing either, though writes meet what is there)
    gone         paths of notes that searches still list and no read finds
    only         the projects that can be asked (any name is one otherwise)
"""

import hashlib
import json
import os
import re
import signal
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

type Record = dict[str, Any]

WRITE: Record = {"name": "write_note", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": False}}
WRAPPED = {"type": "object", "properties": {"result": {"type": "object"}}, "required": ["result"]}
READ: Record = {"name": "read_note", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
ASKED: Record = {
    "sampling/createMessage": {"messages": [], "maxTokens": 1},
    "elicitation/create": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}},
}
READS = ("search_notes", "build_context", "recent_activity", "list_memory_projects")
TOOLS: list[Record] = [
    WRITE | {"outputSchema": WRAPPED},
    READ | {"outputSchema": WRAPPED},
    *(READ | {"name": n} for n in READS),
]


class FakeMemory:
    """A test's handle on one server folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def command(self) -> tuple[str, list[str]]:
        return sys.executable, [str(Path(__file__).resolve()), str(self.folder)]

    def faults(self, **faults: Any) -> None:
        _write_json(self.folder / "faults.json", faults)

    def release(self, title: str = "") -> None:
        (self.folder / f"release{title}").touch()

    @property
    def notes(self) -> dict[str, Record]:
        found: dict[str, Record] = _read_json(self.folder / "notes.json", {})
        return found

    def put(self, path: str, content: str, **frontmatter: str) -> None:
        _write_json(self.folder / "notes.json", self.notes | {path: _note(path, content, frontmatter)})

    def fill(self, paths: Iterable[str], content: str, **frontmatter: str) -> None:
        """Put many notes at once."""
        added = {path: _note(path, f"{content} {path}", frontmatter) for path in paths}
        _write_json(self.folder / "notes.json", self.notes | added)

    def newest_first(self) -> None:
        """List the notes put last first, as the real server does when it is given a date."""
        _write_json(self.folder / "notes.json", dict(reversed(self.notes.items())))

    def move(self, path: str, to: str, *, forwarded: bool = True) -> None:
        """Move a note; `forwarded` leaves the old address answering, as the real server does."""
        notes = self.notes
        notes[to] = notes.pop(path) | {"file_path": to, "was": path if forwarded else ""}
        _write_json(self.folder / "notes.json", notes)

    def delete(self, path: str) -> None:
        notes = self.notes
        del notes[path]
        _write_json(self.folder / "notes.json", notes)

    def calls(self) -> Counter[str]:
        """Requests received, by tool name for tool calls and by method for the rest."""
        return Counter(request["name"] for request in self.requests())

    def requests(self) -> list[Record]:
        """Every request received, by whatever server of this folder, in order: its method, name and params."""
        log = self.folder / "calls.jsonl"
        *lines, _being_written = log.read_text().split("\n") if log.exists() else [""]
        return [json.loads(line) for line in lines]


def _read_json(path: Path, default: Any) -> Any:
    return json.loads(path.read_text()) if path.exists() else default


def _write_json(path: Path, value: Any) -> None:
    beside = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    beside.write_text(json.dumps(value))
    beside.replace(path)


def _note(path: str, content: str, frontmatter: Record) -> Record:
    title = Path(path).stem
    checksum = hashlib.sha256(json.dumps([content, frontmatter]).encode()).hexdigest()
    permalink = "main/" + path.removesuffix(".md").lower()
    found: Record = {
        "title": title,
        "file_path": path,
        "permalink": permalink,
        "content": content,
        "checksum": checksum,
    }
    return found | {"frontmatter": {"title": title, "permalink": permalink} | frontmatter}


class Server:
    """Answers requests, each in its own thread, so that a held one does not hold the others."""

    def __init__(self, folder: Path) -> None:
        self.fake = FakeMemory(folder)
        self.lock = threading.Lock()
        self.wedged = False
        self.tokens: dict[int, Any] = {}

    def faults(self) -> Record:
        found: Record = _read_json(self.fake.folder / "faults.json", {})
        return found

    def run(self) -> None:
        if self.faults().get("stubborn"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for line in sys.stdin.buffer:
            request = json.loads(line)
            self.log({"method": "answer", "params": request} if "method" not in request else request)
            if "id" in request and "method" in request and not self.wedged:
                threading.Thread(target=self.answer, args=(request,), daemon=True).start()
        while self.faults().get("stubborn"):
            time.sleep(0.05)
        os._exit(0)

    def log(self, request: Record) -> None:
        params: Record = request.get("params") or {}
        name = params.get("name") if request["method"] == "tools/call" else request["method"]
        entry = {"name": name, "method": request["method"], "id": request.get("id"), "params": params}
        with (self.fake.folder / "calls.jsonl").open("a") as log:
            log.write(json.dumps(entry) + "\n")

    def send(self, message: Record) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0"} | message) + "\n")

    def raw(self, text: str) -> None:
        with self.lock:
            sys.stdout.write(text)
            sys.stdout.flush()

    def answer(self, request: Record) -> None:
        match request["method"]:
            case "initialize":
                self.greet(request["id"], self.faults().get("initialize"))
            case "tools/list":
                self.list_tools(request["id"], request.get("params", {}).get("cursor"))
            case "tools/call":
                self.call(request["id"], request["params"])
            case _:
                self.send({"id": request["id"], "result": {}})

    def greet(self, number: int, fault: str | None) -> None:
        if fault == "garbage":
            self.raw("Starting up...\n\x00\n{]\n")
        if fault == "exit":
            os._exit(3)
        if fault == "reject":
            self.send({"id": number, "error": {"code": -32603, "message": "no"}})
        if fault is None:
            info = {"name": "Fake Memory", "version": "1"}
            result: Record = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            self.send({"id": number, "result": result})

    def list_tools(self, number: int, cursor: str | None) -> None:
        plan: Record = self.faults().get("tools") or {}
        if plan.get("exit"):
            os._exit(3)
        if plan.get("silent"):
            return
        pages: list[list[Record]] = plan.get("pages") or [TOOLS]
        index = int(cursor or 0)
        if index == plan.get("broken_after"):
            self.send({"id": number, "error": {"code": -32603, "message": "no"}})
            return
        result: Record = {"tools": pages[index] if index < len(pages) else []}
        if plan.get("endless") or index + 1 < len(pages):
            result["nextCursor"] = str(index + 1)
        if plan.get("repeat"):
            result["nextCursor"] = "0"
        self.send({"id": number, "result": result})

    def call(self, number: int, params: Record) -> None:
        name = params["name"]
        arguments: Record = params.get("arguments") or {}
        meta: Record = params.get("_meta") or {}
        self.tokens[number] = meta.get("progressToken")
        only: list[str] | None = self.faults().get("only")
        if only is not None and arguments.get("project", only[0]) not in only:
            unknown = _text(f"Project not found: '{arguments['project']}'. Ask somebody who knows.")
            self.send({"id": number, "result": {"content": [unknown], "isError": True}})
            return
        steps: list[Any] | None = self.faults().get(name)
        if steps is None:
            self.send({"id": number, "result": getattr(self, name)(arguments)})
            return
        result: Record | None = None
        for step in steps:
            if step == "store":
                result = getattr(self, name)(arguments)
            elif isinstance(step, dict) and "store" in step:
                result = getattr(self, name)(arguments | {"content": step["store"]})
            elif self.spoil(step, number, arguments):
                return
        self.send({"id": number, "result": result or _json_result({"action": "created", "file_path": "lie.md"})})

    def spoil(self, step: Any, number: int, arguments: Record) -> bool:
        """Carry out one faulty step; return whether the request is done with."""
        match step:
            case "hold" | "turn":
                self.held(arguments["title"] if step == "turn" else "")
                return False
            case {"hold": name}:
                self.held(name)
                return False
            case {"sleep": seconds}:
                time.sleep(seconds)
                return False
            case {"progress": _} if self.tokens[number] is None:
                return False  # nobody asked to be told
            case {"progress": [done, total, message]}:
                told = {"progressToken": self.tokens[number], "progress": done, "total": total, "message": message}
                self.send({"method": "notifications/progress", "params": told})
                return False
            case {"ask": method}:
                self.send({"id": f"ask-{method}", "method": method, "params": ASKED.get(method, {})})
                return False
            case "changed":
                self.send({"method": "notifications/tools/list_changed"})
                return False
            case "exit":
                os._exit(9)
            case "silent" | "wedge":
                self.wedged = self.wedged or step == "wedge"
                return True
            case _:
                self.raw(spoiled(step, number, arguments) + "\n")
                return True

    def held(self, name: str) -> None:
        while not (self.fake.folder / f"release{name}").exists():
            time.sleep(0.01)

    def write_note(self, arguments: Record) -> Record:
        path = _path(arguments)
        with self.lock:
            taken = self.faults().get("exists_at", path)
            if taken in self.fake.notes:
                conflict = {"action": "conflict", "error": "NOTE_ALREADY_EXISTS", "file_path": taken}
                return {"content": [_text(json.dumps(conflict))], "isError": True}
            metadata: Record = {"type": arguments.get("note_type", "note"), **(arguments.get("metadata") or {})}
            said, body = _parted(arguments["content"])
            self.fake.put(path, body, **metadata | said)
        note = self.fake.notes[path]
        return _json_result(
            {k: note[k] for k in ("title", "permalink", "file_path", "checksum")} | {"action": "created"}
        )

    def edit_note(self, arguments: Record) -> Record:
        """Replace text in a note, whatever checksum the caller expects it to have."""
        path = arguments["identifier"]
        with self.lock:
            notes = self.fake.notes
            edited = notes[path]["content"].replace(arguments["find_text"], arguments["content"])
            note = notes[path] | {"content": edited}
            _write_json(self.fake.folder / "notes.json", notes | {path: note})
        return _json_result({"file_path": path, "operation": "find_replace"})

    def read_note(self, arguments: Record) -> Record:
        wanted = arguments["identifier"]
        seen = () if self.faults().get("index") == "hidden" else self.fake.notes.values()
        gone: list[str] = self.faults().get("gone", [])
        here = [n for n in seen if n["file_path"] not in gone]
        found = [n for n in here if wanted in {n["file_path"], n["title"], n.get("was")}]
        if len(found) > 1:
            return {"content": [_text(f"Ambiguous identifier '{wanted}' matches 2 notes")], "isError": True}
        if not found:
            empty = dict.fromkeys(("title", "permalink", "file_path", "content", "frontmatter"))
            return _json_result(empty | {"error": "NOTE_NOT_FOUND", "message": "Note not found"})
        return _json_result(found[0] | {"content": "\n" + found[0]["content"]})

    def search_notes(self, arguments: Record) -> Record:
        index = self.faults().get("index")
        if index == "required":
            text = "# Project Index Required\n\nRun the indexer first."
            return {"content": [_text(text)], "structuredContent": {"result": text}}
        filters: Record = arguments.get("metadata_filters") or {}
        query, kinds = arguments.get("query"), arguments.get("note_types")
        if arguments.get("search_type") == "text":
            matches = _matching(arguments["query"], self.fake.notes)
            if matches is None:
                return {"content": [_text("# Search Failed - Invalid Syntax")], "isError": True}
        else:
            matches = {p for p, n in self.fake.notes.items() if query is None or query in n["title"] + n["content"]}
        found = [
            n | {"type": "entity"}
            for path, n in self.fake.notes.items()
            if path in matches
            and all(_meets(n["frontmatter"].get(k), v) for k, v in filters.items())
            and (not kinds or n["frontmatter"].get("type", "note") in kinds)
        ]
        shown = [] if index in ("lag", "hidden") else found[: arguments.get("page_size", 10)]
        return _json_result({"results": shown, "has_more": bool(shown) and len(found) > len(shown)})

    def list_memory_projects(self, arguments: Record) -> Record:
        listed = self.faults().get("projects")
        if listed is not None:
            return _json_result({"projects": listed})
        source = self.faults().get("source", "local")
        project: Record = {"name": "main", "source": source, "is_default": True}
        folder = self.faults().get("project_folder", str(self.fake.folder))
        told: Record = {} if folder is None else {"external_id": "1", "path": folder}
        return _json_result({"projects": [project | told]})

    def build_context(self, arguments: Record) -> Record:
        return _json_result({"results": [], "has_more": False})

    def recent_activity(self, arguments: Record) -> Record:
        return _json_result([n | {"type": "entity"} for n in self.fake.notes.values()])


def _parted(content: str) -> tuple[Record, str]:
    """Part a note that begins with frontmatter, as the real server does: its fields count, what follows is the body."""
    found = re.match(r"---\n(.*?\n)---\n", content, re.DOTALL)
    if found is None:
        return {}, content
    return dict(re.findall(r"(?m)^(\w+): (.+)$", found[1])), content[found.end() :].strip()


def _meets(value: str | None, wanted: str | dict[str, str]) -> bool:
    """Whether a field of a note's frontmatter is what a filter asks for: a value, or bounds."""
    if isinstance(wanted, str):
        return value == wanted
    return value is not None and wanted.get("$gt", "") < value < wanted.get("$lt", "~")


def _matching(query: str, notes: Record) -> set[str] | None:
    """Return the paths of the notes that `query`, as it is, finds in a full-text index; None when that refuses it."""
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("CREATE VIRTUAL TABLE notes USING fts5(path UNINDEXED, title, content)")
        rows = [(path, note["title"], note["content"]) for path, note in notes.items()]
        index.executemany("INSERT INTO notes VALUES (?, ?, ?)", rows)
        try:
            return {path for (path,) in index.execute("SELECT path FROM notes WHERE notes MATCH ?", (query,))}
        except sqlite3.OperationalError:
            return None


def spoiled(step: Any, number: int, arguments: Record) -> str:
    """Return the line that stands where an answer was due."""
    answer: Record = {"jsonrpc": "2.0", "id": number}
    match step:
        case "garbage":
            return "%% not json"
        case "truncated":
            return '{"jsonrpc": "2.0", "id": ' + str(number) + ', "result": {"content": [{"type": "te'
        case "wrong-id":
            answer |= {"id": number + 1000, "result": _json_result({"action": "created"})}
        case "empty":
            answer |= {"result": {"content": []}}
        case "invalid":
            answer |= {"result": {"content": [_text("{}")], "structuredContent": {"results": 5}}}
        case "text":
            answer |= {"result": {"content": [_text("Failed to write: disk full")]}}
        case {"error": text}:
            answer |= {"result": {"content": [_text(text)], "isError": True}}
        case {"result": result}:
            answer |= {"result": result}
        case {"code": code}:
            conflict = json.dumps({"action": "conflict", "error": code, "file_path": _path(arguments)})
            answer |= {"result": {"content": [_text(conflict)], "isError": True}}
        case _:
            answer |= {"error": {"code": -32000, "message": "internal trouble"}}
    return json.dumps(answer)


def _path(arguments: Record) -> str:
    return f"{arguments['directory']}/{arguments['title']}.md"


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _json_result(value: Any) -> Record:
    return {"content": [_text(json.dumps(value))], "structuredContent": {"result": value}}


if __name__ == "__main__":
    Server(Path(sys.argv[1])).run()
