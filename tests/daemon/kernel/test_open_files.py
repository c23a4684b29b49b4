"""A daemon that was started with room for few files makes room for those of its agents."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from windlass.daemon.kernel import open_files

_PROGRAM = """
import resource
from windlass.daemon.kernel import open_files
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
open_files.allow_enough()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


_HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@pytest.mark.parametrize(
    ("soft", "hard", "then"),
    [
        (256, _HARD, min(open_files.MOST, _HARD)),
        (256, 1024, 1024),
        (_HARD, _HARD, _HARD),
    ],
)
def test_its_limit_is_raised_as_far_as_that_goes_and_never_lowered(
    soft: int, hard: int, then: int
) -> None:
    program = _PROGRAM.format(soft=soft, hard=hard)
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert said.stdout.split() == [b"%d" % then, b"%d" % hard]
