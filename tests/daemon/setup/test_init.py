"""`wl init` writes a file of which every part can be used as it stands there."""

from __future__ import annotations

import re
import tomllib

from tests.support.workshop import Workshop

from windlass.core import config
from windlass.daemon.kernel import settings


def test_the_file_is_valid_once_every_line_is_uncommented(workshop: Workshop) -> None:
    written = workshop.repo / settings.PROJECT_FILE
    workshop.ask("init", accept=False)
    text = written.read_text()
    written.write_text(re.sub(r"(?m)^# ?", "", text))
    settings.load(workshop.context.folders.home, str(workshop.repo))
    said = config.flatten(tomllib.loads(written.read_text()))
    assert set(said) == set(config.ABOUT) - config.PERSONAL
