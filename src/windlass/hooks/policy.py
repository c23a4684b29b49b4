"""The policy hook: `python -I -S policy.py EVENTS WAKE API_SOCKET POLICY_FILE`, the call on stdin.

For PreToolUse and PermissionRequest. What it does is in `decide`, which is compiled only once; here
is only that it fails closed, even if that cannot be loaded.
"""

import posix
import sys

_DENIED = 2
"""The exit code that agent CLIs take for a denial, whatever the output was."""

if __name__ == "__main__":
    code = _DENIED
    try:
        sys.path.insert(0, __file__.rpartition("/")[0])
        code = __import__("decide").main(sys.argv[1:])
    except BaseException as error:  # noqa: BLE001 - nothing may end this but a decision
        posix.write(2, b"the policy hook failed: %b\n" % ascii(error).encode())
    finally:
        posix._exit(code)  # noqa: SLF001 no other way ends an interpreter at once
