"""A landing ground whose repository has a remote: a bare one in a folder beside it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.daemon.landing.landing_ground import LandingGround

from windlass.daemon.kernel import settings


class UpstreamGround(LandingGround):
    """Everything of `LandingGround`, landing on a remote."""

    def begin_remote(self, mode: str = "push") -> None:
        """Makes the remote from main, and has landings go there."""
        self.git("init", "-q", "--bare", "-b", "main", str(self.bare))
        self.git("remote", "add", "origin", str(self.bare))
        self.git("push", "-q", "origin", "main")
        self.configure("landing.mode", mode)

    def configure(self, key: str, value: str) -> None:
        """Sets a key of the person's own configuration."""
        settings.put(self.context.folders.home / settings.USER_FILE, key, value)

    @property
    def bare(self) -> Path:
        """Where the remote is."""
        return self.root.parent / "origin.git"

    def remote(self, *args: str) -> str:
        """Runs git in the remote."""
        done = subprocess.run(
            ["git", *args], cwd=self.bare, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def refuse(self, branch: str = "main", *, hook: str = "update") -> None:
        """Has the remote refuse pushes to a branch, as a protected one does."""
        path = self.bare / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f'#!/bin/sh\n[ "$1" = refs/heads/{branch} ] || exit 0\n'
            "echo 'GH006: Protected branch update failed' >&2\nexit 1\n"
        )
        path.chmod(0o755)

    def commit_upstream(self, name: str, text: str = "theirs\n") -> str:
        """Somebody else pushes a commit to the remote's main."""
        other = self.root.parent / "other"
        if not other.exists():
            self.git("clone", "-q", str(self.bare), str(other))
        who = ("-c", "user.name=Bob", "-c", "user.email=bob@example.org", "-C", str(other))
        self.git(*who, "pull", "-q", "--ff-only")
        (other / name).write_text(text)
        self.git(*who, "add", "-A")
        self.git(*who, "commit", "-q", "-m", f"theirs: {name}")
        self.git(*who, "push", "-q", "origin", "main")
        return self.remote("rev-parse", "main")
