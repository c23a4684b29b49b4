from __future__ import annotations

import pytest
from tests.support.project_files import FakeProject

from windlass.core.gate.proposals import GateProposal, propose

TEST = {"tests/test_it.py": "import pytest\n\ndef test_it():\n    pass\n"}
PYTEST = ".venv/bin/python -m pytest --junit-xml=.gate/junit.xml"
BUILD = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
PROJECT = f'{BUILD}[project]\nname = "it"\nversion = "1"\n'
EDITABLE = "python3 -m venv .venv && .venv/bin/pip install"
UPGRADED = "python3 -m venv .venv && .venv/bin/pip install -q -U pip && .venv/bin/pip install"
PDM = "python3 -m venv .venv && export PDM_CHECK_UPDATE=0"
UV = 'UV_PYTHON_INSTALL_DIR="$PWD/.uv-python" uv sync'


def proposed(files: dict[str, str], *programs: str) -> GateProposal:
    found = propose(FakeProject(files, programs=programs))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("files", "setup"),
    [
        pytest.param({"pyproject.toml": PROJECT}, f"{EDITABLE} -e . pytest", id="undeclared"),
        pytest.param(
            {
                "pyproject.toml": PROJECT
                + '[project.optional-dependencies]\ndocs = ["pytest-x"]\ntest = ["pytest>=8"]\n'
            },
            f"{EDITABLE} -e '.[test]'",
            id="extra",
        ),
        pytest.param(
            {
                "pyproject.toml": PROJECT
                + '[project.optional-dependencies]\ndocs = ["sphinx"]\ndev = ["it[all]", "ruff"]\n'
                'all = ["pytest"]\n'
            },
            f"{EDITABLE} -e '.[dev]'",
            id="an extra that names another one",
        ),
        pytest.param(
            {
                "pyproject.toml": PROJECT
                + '[dependency-groups]\ntest = ["pytest"]\ndev = [{include-group = "test"}]\n'
            },
            f"{UPGRADED} -e . --group test",
            id="group",
        ),
        pytest.param(
            {
                "pyproject.toml": PROJECT + '[dependency-groups]\ntests = ["pytest"]\n'
                'tests-random = ["pytest", "pytest-randomly"]\n'
            },
            f"{UPGRADED} -e . --group tests",
            id="a group for other tests is left out",
        ),
        pytest.param(
            {
                "pyproject.toml": PROJECT
                + '[dependency-groups]\ndev = [{include-group = "all"}]\nall = ["pytest"]\n'
            },
            f"{UPGRADED} -e . --group dev",
            id="a group that includes another one",
        ),
        pytest.param(
            {"pyproject.toml": PROJECT, "requirements/tests.txt": "pytest==8\n"},
            f"{EDITABLE} -e . -r requirements/tests.txt",
            id="requirement file",
        ),
        pytest.param(
            {
                "pyproject.toml": PROJECT,
                "requirements-dev.txt": "-r requirements-test.txt\nruff\n",
                "requirements-test.txt": "pytest\n",
                "requirements.txt": "requests\n",
            },
            f"{EDITABLE} -e . -r requirements-test.txt",
            id="requirement files, the one for tests",
        ),
        pytest.param(
            {"pyproject.toml": PROJECT, "requirements.txt": "-e .[a]\npytest==8\n"},
            f"{EDITABLE} -r requirements.txt",
            id="a requirement file that installs the project itself",
        ),
        pytest.param(
            {
                "setup.py": "from setuptools import setup\nT = ['pytest']\n"
                "setup(name='it', extras_require={'testing': T, 'x': ['y']})\n"
            },
            f"{EDITABLE} --use-pep517 -e '.[testing]'",
            id="setup.py alone",
        ),
        pytest.param(
            {
                "setup.py": "import setuptools; setuptools.setup()",
                "setup.cfg": "[options.extras_require]\ntest =\n    pytest\n    mock\n",
            },
            f"{EDITABLE} --use-pep517 -e '.[test]'",
            id="setup.cfg",
        ),
        pytest.param(
            {"requirements.txt": "flask\n", "app.py": ""},
            f"{EDITABLE} -r requirements.txt pytest",
            id="an application without packaging",
        ),
        pytest.param(
            {
                "pyproject.toml": '[project]\nname = "it"\ndependencies = ["flask>=3"]\n',
                "web/__init__.py": "",
                "jobs/__init__.py": "",
            },
            f"{EDITABLE} 'flask>=3' pytest",
            id="metadata of something that is no package",
        ),
        pytest.param(
            {
                "pyproject.toml": '[project]\nname = "it"\ndependencies = ["flask>=3"]\n'
                '[project.optional-dependencies]\ntest = ["pytest>=8", "mock"]\n',
                "web/__init__.py": "",
                "jobs/__init__.py": "",
            },
            f"{EDITABLE} 'flask>=3' 'pytest>=8' mock",
            id="an extra of something that is no package",
        ),
        pytest.param(
            {
                "pyproject.toml": '[project]\nname = "it"\nversion = "1"\n'
                '[project.optional-dependencies]\ntest = ["pytest"]\n'
                '[tool.setuptools]\npy-modules = ["calc"]\n',
                "calc.py": "",
            },
            f"{EDITABLE} -e '.[test]'",
            id="one module that setuptools is told of",
        ),
        pytest.param(
            {
                "pyproject.toml": PROJECT,
                "tox.ini": "[testenv]\nextras = cli\ndeps =\n    pytest\n    py38: mock\n"
                "    -r more.txt\n    pytest-cov\ncommands = pytest {posargs:tests}\n",
                "more.txt": "attrs\n",
            },
            f"{EDITABLE} -e . -r more.txt pytest pytest-cov",
            id="tox",
        ),
        pytest.param(
            {
                "pyproject.toml": PROJECT,
                "noxfile.py": "import nox\n@nox.session\ndef tests(session):\n"
                "    session.install('pytest', 'mock')\n    session.install('-e', '.')\n"
                "    session.run('pytest', 'tests')\n",
            },
            f"{EDITABLE} -e . pytest mock",
            id="nox",
        ),
        pytest.param(
            {
                "pyproject.toml": PROJECT + '[tool.hatch.envs.default]\ndependencies = ["pytest", '
                '"hypothesis>=6"]\n[tool.hatch.envs.default.scripts]\n'
                'test = "pytest {args:tests}"\n'
            },
            f"{EDITABLE} -e . pytest 'hypothesis>=6'",
            id="hatch",
        ),
        pytest.param(
            {
                "pyproject.toml": PROJECT
                + '[tool.pytest.ini_options]\naddopts = "--cov=it -n auto"\n'
            },
            f"{EDITABLE} -e . pytest pytest-cov pytest-xdist",
            id="plugins that the configuration wants and nothing lists",
        ),
        pytest.param(
            {
                "pyproject.toml": PROJECT + '[project.optional-dependencies]\nhttp2 = ["h2"]\n'
                'test = ["pytest"]\n',
                "tests/two.py": "def f():\n    import h2\n    import somebody_else\n",
            },
            f"{EDITABLE} -e '.[test,http2]'",
            id="an extra that tests import; no package by a name in a test",
        ),
    ],
)
def test_pip_installs_the_tree_editable_and_what_its_tests_need(
    files: dict[str, str], setup: str
) -> None:
    proposal = proposed(files | TEST)
    assert proposal.setup == setup
    assert proposal.deps == (".venv",)
    assert proposal.checks[0].run == f"{PYTEST} tests"
    assert proposal.checks[0].junit == ".gate/junit.xml"


@pytest.mark.parametrize(
    ("files", "setup"),
    [
        pytest.param(
            {"uv.lock": "", "pyproject.toml": PROJECT + '[dependency-groups]\ndev = ["pytest"]\n'},
            f"{UV} --frozen",
            id="the standard group",
        ),
        pytest.param(
            {"uv.lock": "", "pyproject.toml": PROJECT + '[dependency-groups]\ntest = ["pytest"]\n'},
            f"{UV} --frozen --group test",
            id="another group",
        ),
        pytest.param(
            {"uv.lock": "", "pyproject.toml": PROJECT},
            f"{UV} --frozen && uv pip install pytest",
            id="no group has pytest",
        ),
        pytest.param(
            {
                "uv.lock": "",
                "pyproject.toml": PROJECT + '[dependency-groups]\ndev = ["pytest"]\n'
                "[tool.uv.workspace]\nmembers = ['packages/*']\n",
                ".github/workflows/ci.yml": "- run: uv sync --all-extras --group gone --locked\n"
                "- run: uv run pytest\n",
            },
            f"{UV} --frozen --all-packages --all-extras",
            id="a workspace, and the extras of CI",
        ),
        pytest.param(
            {
                "uv.lock": "",
                ".python-version": "3.13\n",
                "pyproject.toml": PROJECT
                + 'requires-python = ">=3.10"\n[dependency-groups]\ndev = ["pytest"]\n',
            },
            f"{{ {UV} --frozen || {UV} --frozen --python '>=3.10'; }}",
            id="a version that may be missing",
        ),
    ],
)
def test_uv_syncs_what_its_lock_holds(files: dict[str, str], setup: str) -> None:
    proposal = proposed(files | TEST, "uv")
    assert proposal.setup == setup
    assert proposal.deps == (".venv", ".uv-python")
    assert "uv.lock" in proposal.inputs
    assert "uv --version" in proposal.versions


@pytest.mark.parametrize(
    ("files", "verb"),
    [
        ({"pyproject.toml": PROJECT, "uv.lock": ""}, "/bin/uv sync"),
        ({"Pipfile": "pytest = '*'", "Pipfile.lock": ""}, "/bin/pipenv sync --dev"),
    ],
)
def test_a_manager_that_is_missing_is_installed_outside_of_the_tree(
    files: dict[str, str], verb: str
) -> None:
    proposal = proposed(files | TEST)
    assert proposal.setup.startswith("t=$(mktemp -d) && python3 -m venv $t && $t/bin/pip install")
    assert f"$t{verb}" in proposal.setup
    assert proposal.deps[0] == ".venv"
    assert proposal.versions == ("python3 --version",)


def test_poetry_makes_its_environment_in_the_tree_with_optional_groups_and_the_extras_of_ci() -> (
    None
):
    pyproject = (
        '[tool.poetry]\nname = "it"\n[tool.poetry.group.test]\noptional = true\n'
        '[tool.poetry.group.test.dependencies]\npytest = "*"\n'
    )
    ci = {".github/workflows/t.yml": "run: poetry install --all-extras\n  run: poetry run pytest"}
    proposal = proposed({"pyproject.toml": pyproject, "poetry.lock": ""} | ci | TEST, "poetry")
    assert proposal.setup == (
        "POETRY_VIRTUALENVS_IN_PROJECT=true POETRY_VIRTUALENVS_CREATE=true"
        " poetry install --no-interaction --with test --all-extras"
    )
    assert proposal.inputs == ("pyproject.toml", "poetry.lock")


def test_without_poetry_pip_installs_the_groups_for_tests_by_the_lock_file() -> None:
    pyproject = (
        '[tool.poetry]\nname = "it"\n[tool.poetry.dependencies]\npython = "^3.9"\nattrs = "^25.1"\n'
        "[tool.poetry.group.docs.dependencies]\nsphinx = '*'\n"
        '[tool.poetry.group.test.dependencies]\npytest = "^8.1"\nmock = "~1.2"\n'
        'coverage = {version = "*", extras = ["toml"], python = "<3.11"}\nhere = {path = "x"}\n'
        'both = [{version = ">=1, <2"}]\nodd = "^1 || ^2"\n'
    )
    lock = '[[package]]\nname = "pytest"\nversion = "8.3.1"\n'
    files = {"pyproject.toml": pyproject, "poetry.lock": lock} | TEST
    needed = (
        "pytest==8.3.1 'mock>=1.2,<1.3' 'coverage[toml]; python_version < \"3.11\"'"
        " 'both>=1,<2' odd"
    )
    assert proposed(files).setup == f"{EDITABLE} 'attrs>=25.1,<26' {needed}"
    packaged = files | {"pyproject.toml": pyproject + BUILD}
    proposal = proposed(packaged)
    assert proposal.setup == f"{EDITABLE} -e . {needed}"
    assert proposal.inputs == ("pyproject.toml", "poetry.lock")
    assert any("poetry is not on the PATH" in sentence for sentence in proposal.why)


@pytest.mark.parametrize(
    ("programs", "setup"),
    [
        (
            ["pdm"],
            f"{PDM} && pdm use -f .venv && pdm install --frozen-lockfile",
        ),
        ([], f"{EDITABLE} -e . 'pytest>=8' mock"),
    ],
)
def test_pdm_installs_where_it_is_and_pip_elsewhere(programs: list[str], setup: str) -> None:
    groups = '[tool.pdm.dev-dependencies]\ntest = ["pytest>=8", "-e file:///x", "mock"]\n'
    files = {"pyproject.toml": PROJECT + groups, "pdm.lock": ""} | TEST
    assert proposed(files, *programs).setup == setup


@pytest.mark.parametrize(
    ("files", "run"),
    [
        pytest.param({"pytest.ini": "[pytest]\ntestpaths = tests\n"}, PYTEST, id="testpaths"),
        pytest.param(
            {
                "tox.ini": "[testenv]\ncommands = pytest -m 'not net' --cov=it -q tests/unit\n",
                "tests/unit/test_a.py": "",
            },
            f"{PYTEST} -m 'not net' tests/unit",
            id="what tox chooses, not how it reports",
        ),
        pytest.param(
            {"Makefile": "test: lint\n\t@python -m pytest --ignore=tests/slow tests\n"},
            f"{PYTEST} --ignore=tests/slow tests",
            id="what make chooses",
        ),
        pytest.param(
            {"it/tests/test_a.py": "", "it/tests/test_b.py": "", "it/test_c.py": ""},
            PYTEST,
            id="tests in the package",
        ),
        pytest.param(
            {
                "pyproject.toml": PROJECT + "[project.scripts]\nit = 'it:main'\n",
                "tests/test_run.py": "import subprocess\nsubprocess.run(['it'])\n",
            },
            f'PATH="$PWD/.venv/bin:$PATH" {PYTEST} tests',
            id="a console script is found by its name",
        ),
    ],
)
def test_pytest_runs_from_the_environment_with_the_choices_of_the_project(
    files: dict[str, str], run: str
) -> None:
    assert proposed({"pyproject.toml": PROJECT} | TEST | files).checks[0].run == run


UNITTEST = "import unittest\nclass T(unittest.TestCase):\n    def test_it(self): pass\n"


@pytest.mark.parametrize(
    ("files", "setup", "run"),
    [
        (
            {"setup.py": "", "tests/__init__.py": "", "tests/test_a.py": UNITTEST},
            f"{EDITABLE} --use-pep517 -e .",
            ".venv/bin/python -m unittest discover -s tests -t .",
        ),
        (
            {"setup.py": "", "tests/test_a.py": UNITTEST},
            f"{EDITABLE} --use-pep517 -e .",
            ".venv/bin/python -m unittest discover -s tests",
        ),
        ({"it.py": "", "test_it.py": UNITTEST}, "", "python3 -m unittest discover"),
        (
            {
                "manage.py": "import django",
                "requirements.txt": "django\n",
                "app/tests.py": UNITTEST,
            },
            f"{EDITABLE} -r requirements.txt",
            ".venv/bin/python manage.py test --noinput",
        ),
    ],
)
def test_tests_that_know_no_pytest_are_run_without_it(
    files: dict[str, str], setup: str, run: str
) -> None:
    proposal = proposed(files)
    assert (proposal.setup, proposal.checks[0].run) == (setup, run)


def test_a_version_that_comes_from_tags_is_told_and_the_file_it_leaves_is_kept() -> None:
    scm = '[tool.setuptools_scm]\nversion_file = "src/it/_version.py"\n'
    changes = "# Changes\n\nWe keep semantic versions 2.0.0.\n\n## [1.7.2] - 2025-01-01\n\n## 1.6\n"
    files = {"pyproject.toml": PROJECT + scm, "CHANGELOG.md": changes, "src/it/__init__.py": ""}
    proposal = proposed(files | TEST)
    assert proposal.setup.startswith("export SETUPTOOLS_SCM_PRETEND_VERSION_FOR_IT=1.7.2 && ")
    assert proposal.deps == (".venv", "src/it/_version.py")


def test_what_is_compiled_beside_the_sources_is_kept_and_made_anew_when_they_change() -> None:
    setup = (
        "from setuptools import Extension, setup\nsetup(ext_modules=[Extension('it._c', ['x.c'])])"
    )
    proposal = proposed({"setup.py": setup, "src/it/__init__.py": "", "src/it/x.c": ""} | TEST)
    assert proposal.deps == (".venv", "src/**/*.so", "*.so")
    assert proposal.inputs == ("setup.py", "**/*.c")
