from __future__ import annotations

import errno
import json
import platform
import struct
import subprocess
import sys

import pytest
from tests.box.conftest import Ground

from windlass.box import seccomp
from windlass.core.errors import ConfigError

_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_EPERM, _ENOSYS = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_NO_FAMILY = 0x00050000 | errno.EAFNOSUPPORT
_X86_64, _I386, _AARCH64 = 0xC000003E, 0x40000003, 0xC00000B7
_UPPER = 0xDEAD << 32


def judged(machine: str, *, arch: int, number: int, arguments: tuple[int, ...] = ()) -> int:
    """Runs the filter as the kernel would."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<IIQ6Q", number, arch, 0, *padded)
    program = seccomp.program(machine)
    at = accumulator = 0
    while True:
        code, yes, no, value = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
            continue
        tests = {0x15: accumulator == value, 0x35: accumulator >= value}
        holds = tests[code] if code in tests else bool(accumulator & value)
        at += yes if holds else no


@pytest.mark.parametrize(
    ("number", "arguments", "verdict"),
    [
        (0, (), _ALLOW),
        (59, (), _ALLOW),
        (16, (0, 0x5413), _ALLOW),
        (16, (0, 0x5412), _EPERM),
        (16, (0, 0x5412 | _UPPER), _EPERM),
        (16, (0, 0x541C), _EPERM),
        (16, (0x5412, 0), _ALLOW),
        (72, (0, 6), _ALLOW),
        (72, (0, 1024), _EPERM),
        (72, (0, 1024 | _UPPER), _EPERM),
        (72, (0, 1040), _EPERM),
        (72, (0, 1033), _ALLOW),
        (101, (), _EPERM),
        (310, (), _EPERM),
        (425, (), _EPERM),
        (321, (), _EPERM),
        (165, (), _EPERM),
        (272, (0x10000000,), _EPERM),
        (272, (0x80,), _EPERM),
        (272, (0x400,), _ALLOW),
        (56, (0x10000000,), _EPERM),
        (56, (0x40000000 | _UPPER,), _EPERM),
        (56, (0x00010900,), _ALLOW),
        (56, (0x80,), _ALLOW),
        (435, (), _ENOSYS),
        (41, (1,), _ALLOW),
        (41, (2,), _ALLOW),
        (41, (10,), _ALLOW),
        (41, (16,), _ALLOW),
        (41, (40,), _NO_FAMILY),
        (41, (38,), _NO_FAMILY),
        (41, (2 | _UPPER,), _ALLOW),
        (0x40000000, (), _EPERM),
        (0x40000000 | 16, (0, 0x5413), _EPERM),
        (500, (), _ALLOW),
    ],
)
def test_each_call_is_judged(number: int, arguments: tuple[int, ...], verdict: int) -> None:
    assert judged("x86_64", arch=_X86_64, number=number, arguments=arguments) == verdict


@pytest.mark.parametrize(
    ("number", "arguments", "verdict"),
    [
        (63, (), _ALLOW),
        (29, (0, 0x5412), _EPERM),
        (29, (0, 0x5413), _ALLOW),
        (117, (), _EPERM),
        (97, (0x10000000,), _EPERM),
        (220, (0x10000000,), _EPERM),
        (220, (0x11,), _ALLOW),
        (435, (), _ENOSYS),
        (198, (40,), _NO_FAMILY),
        (198, (1,), _ALLOW),
    ],
)
def test_each_call_is_judged_on_arm_too(
    number: int, arguments: tuple[int, ...], verdict: int
) -> None:
    assert judged("aarch64", arch=_AARCH64, number=number, arguments=arguments) == verdict


@pytest.mark.parametrize("number", [0, 16, 54, 101, 165])
def test_the_numbers_of_another_architecture_end_the_process(number: int) -> None:
    assert judged("x86_64", arch=_I386, number=number) == _KILL
    assert judged("aarch64", arch=_X86_64, number=number) == _KILL


def test_a_processor_without_a_filter_gets_no_box() -> None:
    with pytest.raises(ConfigError, match="riscv64"):
        seccomp.program("riscv64")


_TRY = """
import ctypes, errno, json, sys
libc = ctypes.CDLL(None, use_errno=True)
found = {}
for name, call in json.loads(sys.argv[1]).items():
    ctypes.set_errno(0)
    done = libc.syscall(*(ctypes.c_long(one) for one in call))
    found[name] = "done" if done >= 0 else errno.errorcode[ctypes.get_errno()]
print(json.dumps(found))
"""
_NUMBERS = {
    "ptrace": (101, 117),
    "io_uring_setup": (425, 425),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "clone3": (435, 435),
    "process_vm_readv": (310, 270),
    "open_by_handle_at": (304, 265),
    "pidfd_getfd": (438, 438),
    "syslog": (103, 116),
}
_ARGUMENTS = {"unshare": (0x10000000,), "keyctl": (0, -3, 0)}


def _calls() -> str:
    column = ("x86_64", "aarch64").index(platform.machine())
    return json.dumps(
        {
            name: (both[column], *_ARGUMENTS.get(name, (0, 0, 0, 0, 0)))
            for name, both in _NUMBERS.items()
        }
    )


def test_the_kernel_refuses_these_calls_in_a_box(ground: Ground) -> None:
    found = json.loads(ground.python(_TRY, _calls()))
    assert found == {name: "ENOSYS" if name == "clone3" else "EPERM" for name in _NUMBERS}


def test_outside_the_kernel_refuses_fewer() -> None:
    line = [sys.executable, "-I", "-c", _TRY, _calls()]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["unshare"] == "done"
    assert found["keyctl"] == "done"


def test_only_sockets_of_known_families_can_be_made(ground: Ground) -> None:
    """Sockets to the host of a virtual machine go through every network namespace."""
    code = """
import errno, socket, sys
for family in (1, 2, 10, 16, 17, 38, 40, 44):
    try:
        socket.socket(family, socket.SOCK_DGRAM if family != 16 else socket.SOCK_RAW).close()
        print(family, "made")
    except OSError as error:
        print(family, errno.errorcode[error.errno])
"""
    said = dict(line.split() for line in ground.python(code).splitlines())
    assert {said[one] for one in ("1", "2", "10", "16")} == {"made"}
    assert {said[one] for one in ("17", "38", "40", "44")} == {"EAFNOSUPPORT"}
