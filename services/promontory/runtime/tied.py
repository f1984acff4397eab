"""`python tied.py PARENT COMMAND...` becomes COMMAND, which gets SIGTERM when the process PARENT, its parent, dies.

A program of its own, because code that runs between fork and exec crashes where gRPC's threads are.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie this process to its parent, where the system can do that, and become the command."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() == int(sys.argv[1]):
        os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - the caller names the program


if __name__ == "__main__":
    main()
