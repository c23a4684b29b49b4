"""A tmux client gets through while an agent has many files on their way through sockets.

The kernel counts those of a user together, but for whoever is root outside of every namespace: so
both are tried in one.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from windlass.box import probes

_BOX = ("bwrap", "--unshare-user", "--dev-bind", "/", "/")
_NUMBER = 2000
_FLOOD = f"""
import array, resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({_NUMBER}, {_NUMBER}))
held, number = [], 0
while number < {_NUMBER}:
    held.append(socket.socketpair())
    files = array.array("i", [0] * 200)
    held[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
    number += 200
print("there", flush=True)
sys.stdin.read()
"""
_ASK = """
import resource, sys
from pathlib import Path
from windlass.sessions.tmux import Tmux
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
print(Tmux(Path(sys.argv[1])).sessions())
"""


@pytest.mark.skipif(
    shutil.which("bwrap") is None or not probes.usable().host_network, reason="no namespaces here"
)
def test_a_client_is_answered_while_many_files_are_on_their_way(tmp_path: Path) -> None:
    server = ["tmux", "-S", str(tmp_path / "t"), "-f", "/dev/null"]
    subprocess.run([*server, "new-session", "-d", "-s", "one", "cat"], check=True)
    flood = subprocess.Popen(
        [*_BOX, sys.executable, "-c", _FLOOD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert flood.stdout is not None
        assert flood.stdout.readline() == b"there\n"
        asked = [*_BOX, sys.executable, "-c", _ASK, str(tmp_path / "t")]
        said = subprocess.run(asked, capture_output=True, text=True, check=False)
        assert said.stdout == "['one']\n", said.stderr
    finally:
        flood.communicate()
        subprocess.run([*server, "kill-server"], check=True)
