"""Where gates keep things: work trees, layers of dependencies, runs under way, logs."""

from __future__ import annotations

from pathlib import Path

from windlass.core.ids import RepoId

READY = "ready"
"""In a layer that is there as a whole; its time is when somebody wanted it last."""


class GatePlaces:
    """The folders of one repository's gate."""

    def __init__(self, home: Path, repo: RepoId) -> None:
        self.folder = home / "gates" / repo

    def tree(self, number: int) -> Path:
        """One of the pooled work trees."""
        return self.folder / "trees" / str(number)

    @property
    def layers(self) -> Path:
        """Below here lies every layer, by its key."""
        return self.folder / "layers"

    def layer(self, key: str) -> Path:
        """The folder of a layer."""
        return self.layers / key

    def layer_made_at(self, key: str) -> Path:
        """Where a layer is made; without a box its runs see it there, as paths in it may say."""
        return self.layers / f".{key}"

    @property
    def caches(self) -> Path:
        """What green runs left for later ones: by check, and by tree until that has landed."""
        return self.folder / "caches"

    @property
    def runs(self) -> Path:
        """Below here lies what runs write; nothing of it is needed once they are over."""
        return self.folder / "runs"

    @property
    def logs(self) -> Path:
        """What checks and setups said."""
        return self.folder / "logs"
