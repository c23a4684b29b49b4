from __future__ import annotations

import subprocess
import sys

_RACE = """
import sys, threading, types
from windlass.core import shapes

sys.setswitchinterval(1e-6)
parts = [f"class Part{i}(msgspec.Struct):\\n    text: list[str] = []\\n" for i in range(6)]
fields = "".join(f"    part{i}: Part{i} | None = None\\n" for i in range(6))
source = "from __future__ import annotations\\nimport msgspec\\n" + "".join(parts)
source += "class Whole(msgspec.Struct):\\n" + fields


def use(module, barrier):
    barrier.wait()
    assert shapes.convert({"part1": {"text": ["a"]}}, module.Whole).part1.text == ["a"]
    assert shapes.decode(b'{"part2": {}}', module.Whole).part2.text == []


for number in range(60):
    module = types.ModuleType(f"made{number}")
    sys.modules[module.__name__] = module
    exec(source, module.__dict__)
    barrier = threading.Barrier(6)
    threads = [threading.Thread(target=use, args=(module, barrier)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_that_use_a_type_for_the_first_time_at_once_all_get_their_value() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _RACE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
