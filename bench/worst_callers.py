"""A program: every agent of a folder of sockets makes the worst requests it can, again and again.

Says "busy" once each of them has something under way, and goes on until its input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

LINE = "cd src && " + " && ".join(f"grep -rn 'word{number}' . | head -5" for number in range(60))
AT_ONCE = 6


def worst(cwd: str) -> list[tuple[str, bytes]]:
    """Verbs, and what is asked of them: much to read, much to answer, or a git to wait for."""
    write = {"file_path": "x", "content": "x\n" * 600_000}
    call = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": cwd}
    requests: dict[str, dict[str, Any]] = {
        "decide": {**call, "tool_name": "Write", "tool_input": write},
        "explain.tool": {
            "input": json.dumps({**call, "tool_name": "Bash", "tool_input": {"command": LINE}})
        },
        "log": {"last": 10_000},
        "merge-check": {"into": "main"},
        "status": {},
        "receipts": {"messages": [f"msg-{number}" for number in range(1000)], "timeout": 60},
    }
    return [
        (verb, json.dumps({"cwd": cwd, **request}).encode()) for verb, request in requests.items()
    ]


async def caller(path: Path, verb: str, body: bytes, begun: asyncio.Semaphore) -> None:
    """Asks the same for ever; every fourth time it hangs up at once."""
    head = f"POST /v1/{verb} HTTP/1.0\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    times = 0
    while True:
        try:
            reading, writing = await asyncio.open_unix_connection(path, limit=1 << 24)
            writing.write(head + body)
            begun.release()
            times += 1
            if times % 4:
                while await reading.read(1 << 20):
                    pass
            writing.close()
        except OSError:
            await asyncio.sleep(0.01)


async def main(folder: Path, cwd: str) -> None:
    """Has every agent make every request, all at once, until nobody wants that any more."""
    loop, begun = asyncio.get_running_loop(), asyncio.Semaphore(0)
    paths = sorted(folder.glob("*/api"))
    asked = worst(cwd)
    tasks = [
        loop.create_task(caller(path, *asked[(number + turn) % len(asked)], begun))
        for number, path in enumerate(paths)
        for turn in range(AT_ONCE)
    ]
    for _ in paths:
        await begun.acquire()
    print("busy", flush=True)
    over = asyncio.Event()
    loop.add_reader(sys.stdin, over.set)
    await over.wait()
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
