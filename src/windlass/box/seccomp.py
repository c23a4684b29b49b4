"""The system call filter of a box, assembled here as a classic BPF program.

Owns what a boxed process may not ask the kernel for, whatever its capabilities: putting words into
the person's terminal, looking into other processes, making namespaces of its own, holding files by
a lease, and the large interfaces that no build or agent needs. Everything else is allowed.
bubblewrap loads it.
"""

from __future__ import annotations

import errno
import platform
import struct

from windlass.core.errors import ConfigError

# From linux/bpf_common.h: what the few instructions used here are made of.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in struct seccomp_data. Of an argument only the low half is read, as the kernel does with
ioctl requests, flags and families: whoever sets the upper one is not overlooked."""
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000

_TIOCSTI, _TIOCLINUX, _TIOCSETD, _TIOCCONS = 0x5412, 0x541C, 0x5423, 0x541D
_NAMESPACES = 0x7E020000
"""CLONE_NEW: mounts, cgroups, host names, IPC, users, processes, networks."""
_NEW_TIME = 0x80
"""As a flag of `unshare` only: in `clone` these bits are the signal of the child's end."""
_FAMILIES = (1, 2, 10, 16)
"""Unix, IPv4, IPv6, netlink. Not vsock: it reaches the host of a virtual machine from any network
namespace. Not the kernel's crypto, nor the dozens of protocols that nobody uses."""
_LEASES = (1024, 1040)
"""F_SETLEASE and F_SETDELEG, of `fcntl`: whoever outside opens such a file waits for 45 seconds."""
_X32 = 0x40000000

_REFUSED = (
    "acct add_key bpf clock_settime delete_module finit_module fsconfig fsmount fsopen fspick"
    " init_module io_uring_enter io_uring_register io_uring_setup kcmp kexec_file_load kexec_load"
    " keyctl mount mount_setattr move_mount open_by_handle_at open_tree perf_event_open"
    " pidfd_getfd pivot_root process_madvise process_vm_readv process_vm_writev ptrace quotactl"
    " quotactl_fd reboot request_key setns settimeofday swapoff swapon syslog umount2 userfaultfd"
    " vhangup"
).split()

_NEW_NUMBERS = {
    # The same everywhere since Linux 5.1.
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "clone3": 435, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
    "quotactl_fd": 443,
}  # fmt: skip
_X86_64 = {
    "acct": 163, "add_key": 248, "bpf": 321, "clock_settime": 227, "clone": 56,
    "delete_module": 176, "fcntl": 72, "finit_module": 313, "init_module": 175, "ioctl": 16,
    "kcmp": 312, "kexec_file_load": 320, "kexec_load": 246, "keyctl": 250, "mount": 165,
    "open_by_handle_at": 304, "perf_event_open": 298, "pivot_root": 155, "process_vm_readv": 310,
    "process_vm_writev": 311, "ptrace": 101, "quotactl": 179, "reboot": 169, "request_key": 249,
    "setns": 308, "settimeofday": 164, "socket": 41, "swapoff": 168, "swapon": 167, "syslog": 103,
    "umount2": 166, "unshare": 272, "userfaultfd": 323, "vhangup": 153,
}  # fmt: skip
_AARCH64 = {
    "acct": 89, "add_key": 217, "bpf": 280, "clock_settime": 112, "clone": 220,
    "delete_module": 106, "fcntl": 25, "finit_module": 273, "init_module": 105, "ioctl": 29,
    "kcmp": 272, "kexec_file_load": 294, "kexec_load": 104, "keyctl": 219, "mount": 40,
    "open_by_handle_at": 265, "perf_event_open": 241, "pivot_root": 41, "process_vm_readv": 270,
    "process_vm_writev": 271, "ptrace": 117, "quotactl": 60, "reboot": 142, "request_key": 218,
    "setns": 268, "settimeofday": 170, "socket": 198, "swapoff": 225, "swapon": 224, "syslog": 116,
    "umount2": 39, "unshare": 97, "userfaultfd": 282, "vhangup": 58,
}  # fmt: skip
_MACHINES = {
    "x86_64": (0xC000003E, _X86_64),
    "aarch64": (0xC00000B7, _AARCH64),
}


def program(machine: str | None = None) -> bytes:
    """Assembles the filter for this machine, or the one named."""
    machine = machine or platform.machine()
    if machine not in _MACHINES:
        raise ConfigError(
            f"no system call filter for the processor {machine}",
            f"boxes need one of: {', '.join(_MACHINES)}",
        )
    arch, own = _MACHINES[machine]
    numbers = {**_NEW_NUMBERS, **own}
    lines = [
        _op(_LOAD, _ARCH),
        _op(_EQUAL, arch, yes=1),
        # Another architecture has other numbers: none of what follows would mean anything.
        _op(_RETURN, _KILL),
        _op(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        lines += [_op(_AT_LEAST, _X32, no=1), _op(_RETURN, _ERROR | errno.EPERM)]
    for name in _REFUSED:
        lines += _refuse(numbers[name], errno.EPERM)
    # What it asks for lies in memory, where a filter cannot look: libraries fall back to clone.
    lines += _refuse(numbers["clone3"], errno.ENOSYS)
    lines += _when(numbers["clone"], _FIRST, _bits(_NAMESPACES))
    lines += _when(numbers["unshare"], _FIRST, _bits(_NAMESPACES | _NEW_TIME))
    terminal = [_op(_EQUAL, request, yes=_TO_ERROR) for request in _TERMINAL]
    lines += _when(numbers["ioctl"], _SECOND, terminal)
    leases = [_op(_EQUAL, command, yes=_TO_ERROR) for command in _LEASES]
    lines += _when(numbers["fcntl"], _SECOND, leases)
    lines += _socket(numbers["socket"])
    return b"".join([*lines, _op(_RETURN, _ALLOW)])


_TERMINAL = (_TIOCSTI, _TIOCLINUX, _TIOCSETD, _TIOCCONS)
_TO_ERROR = -1
"""Stands for the distance to the refusal that ends a block."""


def _op(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes & 0xFF, no, value)


def _refuse(number: int, code: int) -> list[bytes]:
    return [_op(_EQUAL, number, no=1), _op(_RETURN, _ERROR | code)]


def _bits(mask: int) -> list[bytes]:
    return [_op(_ANY_BIT, mask, yes=_TO_ERROR)]


def _when(number: int, argument: int, tests: list[bytes]) -> list[bytes]:
    """For one call: refused if any test of that argument holds, else allowed."""
    last = len(tests)
    aimed = [test[:2] + bytes([last - at]) + test[3:] for at, test in enumerate(tests)]
    body = [
        _op(_LOAD, argument),
        *aimed,
        _op(_RETURN, _ALLOW),
        _op(_RETURN, _ERROR | errno.EPERM),
    ]
    return [_op(_EQUAL, number, no=len(body)), *body]


def _socket(number: int) -> list[bytes]:
    """Only sockets of the families that are known to stay inside."""
    last = len(_FAMILIES)
    body = [
        _op(_LOAD, _FIRST),
        *(_op(_EQUAL, family, yes=last - at) for at, family in enumerate(_FAMILIES)),
        _op(_RETURN, _ERROR | errno.EAFNOSUPPORT),
        _op(_RETURN, _ALLOW),
    ]
    return [_op(_EQUAL, number, no=len(body)), *body]
