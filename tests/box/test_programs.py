"""Real programs in the strictest box, with the tools that this machine has wherever they lie."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.box.conftest import Ground, Stage, until
from tests.support.claude import VERSION, claude_binary, claude_environment

from windlass.box import toolchains, wrapper
from windlass.core.box_spec import Quota
from windlass.model.server import Model

pytestmark = pytest.mark.slow
_USUAL = Quota(memory=4 << 30, processes=512, open_files=4096, file_size=1 << 30, temp_size=1 << 28)


def test_pytest_runs_from_a_virtual_environment_outside_the_system(ground: Ground) -> None:
    assert not sys.prefix.startswith("/usr/"), "make test runs in a virtual environment"
    path = f"{sys.prefix}/bin:/usr/bin:/bin"
    ground.show(readable=toolchains.find(path), quota=_USUAL)
    (ground.work / "test_it.py").write_text(
        "def test_it(tmp_path):\n    assert tmp_path.exists()\n"
    )
    env = {"PATH": path, "HOME": str(ground.work)}
    done = ground.run("pytest", "-q", "-p", "no:cacheprovider", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_the_real_claude_code_starts_in_a_box(ground: Ground) -> None:
    binary = claude_binary()
    env = {**claude_environment(ground.work / "home", "http://127.0.0.1:9"), "IS_SANDBOX": "1"}
    (ground.work / "home").mkdir()
    shown = toolchains.find(env["PATH"], programs=(str(binary),))
    ground.show(readable=shown, quota=_USUAL)
    done = ground.run(str(binary), "--version", env=env)
    assert done.returncode == 0, done.stderr
    assert VERSION in done.stdout


def test_node_runs_in_a_box_with_workers(ground: Ground) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here")
    path = f"{Path(node).parent}:/usr/bin:/bin"
    ground.show(readable=toolchains.find(path, programs=(node,)), quota=_USUAL)
    code = (
        "const {Worker} = require('worker_threads');"
        "new Worker(\"require('worker_threads').parentPort.postMessage(6*7)\", {eval: true})"
        ".on('message', n => require('fs').promises.writeFile('said', String(n)))"
    )
    done = ground.run(node, "-e", code, env={"PATH": path})
    assert done.returncode == 0, done.stderr
    assert (ground.work / "said").read_text() == "42"


def test_a_compiler_makes_a_program_that_runs(ground: Ground) -> None:
    if shutil.which("cc", path="/usr/bin") is None:
        pytest.skip("no compiler here")
    (ground.work / "a.c").write_text(
        '#include <stdio.h>\nint main(void) { puts("made"); return 0; }\n'
    )
    ground.show(quota=_USUAL)
    done = ground.run("/bin/sh", "-c", "cc -pipe -o a a.c && ./a")
    assert (done.returncode, done.stdout) == (0, "made\n"), done.stderr


def test_our_own_command_runs_in_a_box(ground: Ground, tools: tuple[str, ...]) -> None:
    ground.show(readable=tools)
    env = {"PATH": f"{sys.prefix}/bin:/usr/bin", "HOME": str(ground.work)}
    done = ground.run("wl", "--version", env=env)
    assert done.returncode == 0, done.stderr


def test_threads_and_subprocesses_work_in_a_box(ground: Ground) -> None:
    code = """
import concurrent.futures, multiprocessing, os, subprocess, sys
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(len, ["x"] * 8)))
print(subprocess.check_output(["/bin/echo", "made"], text=True).strip())
lock = multiprocessing.get_context("fork").Lock()
print(lock.acquire())
"""
    ground.show(quota=_USUAL)
    assert ground.python(code).split() == ["8", "made", "True"]


def test_our_interpreter_is_found_without_its_virtual_environment() -> None:
    program, needed = wrapper.interpreter()
    assert os.path.isabs(program)  # noqa: PTH117
    assert sys.base_prefix in needed
    assert sys.prefix not in program


def test_the_real_claude_code_works_in_a_box_without_a_network(
    stage: Stage, ground: Ground
) -> None:
    """It thinks through the relay, runs a command in its shell, and answers."""
    binary = claude_binary()
    home = ground.work / "home"
    home.mkdir()
    command = "echo made >made; cat /proc/1/comm"
    turns = [{"tool": "Bash", "input": {"command": command}}, {"text": "all done"}]
    with Model({"turns": turns}) as model:
        env = {**claude_environment(home, model.url), "IS_SANDBOX": "1"}
        ground.show(
            readable=toolchains.find(env["PATH"], programs=(str(binary),)),
            addresses=(model.url.removeprefix("http://"),),
            quota=_USUAL,
        )
        stage.start(
            *(str(binary), "-p", "go", "--dangerously-skip-permissions"), mode="headless", env=env
        )
        until(lambda: stage.facts.exit_code is not None, seconds=60)
    assert stage.output().strip() == "all done", (stage.folder / "stderr").read_text()
    assert (ground.work / "made").read_text() == "made\n"
