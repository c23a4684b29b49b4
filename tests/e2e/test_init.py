"""A person sets a project up that has tests and no gate; from then on a broken tree is red."""

from __future__ import annotations

import pytest
from tests.support.ground import Ground

CODE = {
    "shop/__init__.py": "",
    "shop/prices.py": "def total(prices):\n    return sum(prices)\n",
    "tests/__init__.py": "",
    "tests/test_prices.py": (
        "import unittest\n\nfrom shop import prices\n\n\nclass Totals(unittest.TestCase):\n"
        "    def test_total(self):\n        self.assertEqual(prices.total([1, 2]), 3)\n"
    ),
}
CONFIG = ".windlass/config.toml"


@pytest.fixture
def project(ground: Ground) -> Ground:
    """A package with a test beside it, and nothing to install."""
    for name, text in CODE.items():
        path = ground.folder / "repo" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    ground.git("config", "user.name", "Ann")
    ground.git("config", "user.email", "ann@example.org")
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", "a shop")
    return ground


def test_a_project_is_set_up_in_one_command_and_its_gate_tells_broken_from_whole(
    project: Ground,
) -> None:
    done = project.wl("init", "--accept", "--json").ok().json()
    assert (done["outcome"], done["network"], done["written"]) == ("passed", False, [CONFIG])
    assert sum(check["tests"] for check in done["checks"]) == 1
    assert project.git("status", "--porcelain") == ""
    prices = project.folder / "repo" / "shop" / "prices.py"
    prices.write_text(CODE["shop/prices.py"].replace("sum", "max"))
    project.git("commit", "-q", "-a", "-m", "broken")
    red = project.wl("gate", "run", "--json")
    assert red.code == 10
    assert "test_total" in red.json()["checks"][0]["failed"][0]
    project.git("revert", "--no-edit", "HEAD")
    green = project.wl("gate", "run", "--json").ok().json()
    assert (green["outcome"], green["cached"]) == ("passed", True)


def test_a_person_reads_what_is_written_and_that_main_is_green(project: Ground) -> None:
    said = project.wl("init", "--accept", "--no-commit").ok().out
    for line in (project.folder / "repo" / CONFIG).read_text().splitlines():
        assert line in said
    assert "main is green: 1 test in " in said
    assert project.git("status", "--porcelain") == "?? .windlass/\n"


def test_a_red_project_is_told_with_the_end_of_its_log(project: Ground) -> None:
    (project.folder / "repo" / "shop" / "prices.py").write_text(
        "def total(prices):\n    return 0\n"
    )
    project.git("commit", "-q", "-a", "-m", "broken")
    done = project.wl("init", "--accept")
    assert done.code == 10
    assert "main is red" in done.out
    assert "AssertionError: 0 != 3" in done.out
    assert "wl gate run" in done.out


def test_a_project_without_tests_is_told_how_to_say_what_tests_it(ground: Ground) -> None:
    done = ground.wl("init", "--accept", "--json").ok().json()
    assert (done["outcome"], done["proposals"]["gate"], done["written"]) == (None, None, [])
    assert 'commands = ["make test"]' in ground.wl("init").ok().out
