"""How Rust, Go, Java, Ruby, PHP and CMake projects fetch what they need and test without network.

Pure. What is fetched is kept in the tree, where a check finds it again: HOME is another one then.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from windlass.core.gate.proposals_project import (
    CheckProposal,
    GateProposal,
    Project,
    is_aside,
    quoted,
    table,
    unique,
    words,
)

_CRATES = ".cargo-home"
_MODULES = ".gomod"
_MAVEN = ".m2-repository"
_GRADLE = ".gradle-home"
_FETCHED = ".cmake-fetched"
_BUILD = ".gate/build"


def cargo(project: Project) -> GateProposal | None:
    """A crate or a workspace of crates."""
    sources = [name for name in project.matching(r".+\.rs") if not is_aside(name)]
    tested = any(name.startswith("tests/") or "/tests/" in name for name in sources) or any(
        re.search(r"#\[(?:\w+::)?test\b", project.text(name)) for name in sources[:300]
    )
    if not tested:
        return None
    home = f'CARGO_HOME="$PWD/{_CRATES}"'
    locked = project.has("Cargo.lock")
    manifest = project.toml("Cargo.toml")
    whole = " --workspace" if "workspace" in manifest else ""
    vendored = bool(project.has_folder("vendor") and project.first(".cargo/config.toml"))
    return GateProposal(
        setup="" if vendored else f"{home} cargo fetch{' --locked' if locked else ''}",
        deps=() if vendored else unique((_CRATES, "" if locked else "Cargo.lock")),
        inputs=unique(
            (
                *("Cargo.toml", "Cargo.lock"),
                *project.matching(r".+/Cargo\.toml")[:100],
                *("rust-toolchain", "rust-toolchain.toml"),
            )
        ),
        versions=("cargo --version", "rustc --version"),
        checks=(CheckProposal(name="cargo-test", run=f"{home} cargo test --offline{whole}"),),
        why=("Cargo.toml and tests in the sources: cargo test",),
    )


def go(project: Project) -> GateProposal | None:
    """A module, or a workspace of modules."""
    tests = [name for name in project.matching(r".*_test\.go") if not is_aside(name)]
    if not tests:
        return None
    used = re.findall(r"^[ \t]*(?:use[ \t]+)?\./([\w./-]+)", project.text("go.work"), re.MULTILINE)
    paths = ["./..."] if project.has("go.mod") or not used else []
    paths += [f"./{name.rstrip('/')}/..." for name in used[:30] if project.has(f"{name}/go.mod")]
    sums = project.matching(r"(?:.+/)?go\.(?:mod|sum|work|work\.sum)")
    outside = any("require" in project.text(name) for name in sums if name.endswith("go.mod"))
    vendored = project.has("vendor/modules.txt")
    cache = f'GOMODCACHE="$PWD/{_MODULES}" GOFLAGS=-modcacherw'
    fetches = outside and not vendored
    before = f"{cache} GOPROXY=off " if fetches else ""
    return GateProposal(
        setup=f"{cache} go mod download" if fetches else "",
        deps=(_MODULES,) if fetches else (),
        inputs=tuple(sums[:100]),
        versions=("go version",),
        checks=(CheckProposal(name="go-test", run=f"{before}go test {quoted(paths)}"),),
        why=(f"go.mod and {tests[0]}: go test",),
    )


def maven(project: Project) -> GateProposal | None:
    """A Maven build; its tests are run once in setup, for what only they fetch."""
    tests = project.matching(r"(?:.*/)?src/test/.+\.(?:java|kt|scala|groovy)")
    if not tests:
        return None
    wrapper = not project.program("mvn") and project.has("mvnw")
    program = f'MAVEN_USER_HOME="$PWD/{_MAVEN}" sh ./mvnw' if wrapper else "mvn"
    line = f'{program} -B -Dmaven.repo.local="$PWD/{_MAVEN}"'
    return GateProposal(
        setup=f"{line} -Dmaven.test.failure.ignore=true test",
        deps=(_MAVEN,),
        inputs=tuple(project.matching(r"(?:.+/)?pom\.xml|\.mvn/.+")[:200]),
        versions=("java -version 2>&1",) if wrapper else ("mvn --version",),
        checks=(
            CheckProposal(
                name="maven", run=f"{line} -o test", junit="**/target/surefire-reports/*.xml"
            ),
        ),
        why=("pom.xml and src/test: mvn test, once in setup, for what only the tests fetch",),
    )


def gradle(project: Project) -> GateProposal | None:
    """A Gradle build; its tests are run once in setup, for what only they fetch."""
    tests = project.matching(r"(?:.*/)?src/\w*[tT]est/.+\.(?:java|kt|scala|groovy)")
    if not tests:
        return None
    wrapper = project.has("gradlew")
    program = "sh ./gradlew" if wrapper else "gradle"
    line = f'GRADLE_USER_HOME="$PWD/{_GRADLE}" {program} --no-daemon'
    return GateProposal(
        setup=f"{line} testClasses && {{ {line} test --continue || true; }}",
        deps=(_GRADLE,),
        inputs=tuple(
            project.matching(
                r"(?:.+/)?(?:(?:build|settings)\.gradle(?:\.kts)?|gradle\.properties)|gradle/.+"
            )[:200]
        ),
        versions=("java -version 2>&1",) if wrapper else ("gradle --version",),
        checks=(
            CheckProposal(
                name="gradle", run=f"{line} --offline test", junit="**/build/test-results/**/*.xml"
            ),
        ),
        why=("Gradle and src/test: test, once in setup, for what only the tests fetch",),
    )


def cmake(project: Project) -> GateProposal | None:
    """A CMake build with tests for CTest."""
    lists = [name for name in project.matching(r"(?:.*/)?CMakeLists\.txt") if not is_aside(name)]
    text = "\n".join(project.text(name) for name in lists[:60])
    if not re.search(
        r"(?i)\b(?:add_test|include\s*\(\s*CTest|enable_testing|discover_tests)\b", text
    ):
        return None
    options = re.findall(r"(?i)\boption\s*\(\s*(\w*(?:BUILD_TESTS?|BUILD_TESTING|_TESTS?))\b", text)
    wanted = " ".join(f"-D{name}=ON" for name in unique(("BUILD_TESTING", *options[:5])))
    configure = f"cmake -S . -B {_BUILD} {wanted}"
    fetches = bool(re.search(r"(?i)\bFetchContent|\bCPM", text))
    base = f' -DFETCHCONTENT_BASE_DIR="$PWD/{_FETCHED}"' if fetches else ""
    offline = f"{base} -DFETCHCONTENT_FULLY_DISCONNECTED=ON" if fetches else ""
    run = (
        f"{configure}{offline} && cmake --build {_BUILD} -j 2"
        f" && ctest --test-dir {_BUILD} --output-on-failure --no-tests=error"
    )
    return GateProposal(
        setup=f"{configure}{base}" if fetches else "",
        deps=(_FETCHED,) if fetches else (),
        inputs=tuple(lists[:100]) if fetches else (),
        versions=("cmake --version", "cc --version"),
        checks=(CheckProposal(name="ctest", run=run),),
        why=("CMakeLists.txt with tests: ctest",),
    )


def meson(project: Project) -> GateProposal | None:
    """A Meson build with tests."""
    builds = [name for name in project.matching(r"(?:.*/)?meson\.build") if not is_aside(name)]
    text = "\n".join(project.text(name) for name in builds[:60])
    if not re.search(r"^[ \t]*test[ \t]*\(", text, re.MULTILINE) or "mesonpy" in project.text(
        "pyproject.toml"
    ):
        return None
    return GateProposal(
        versions=("meson --version", "cc --version"),
        checks=(
            CheckProposal(
                name="meson",
                run=f"meson setup {_BUILD} && meson test -C {_BUILD} --print-errorlogs",
                junit=f"{_BUILD}/meson-logs/*.junit.xml",
            ),
        ),
        why=("meson.build with tests: meson test",),
    )


def ruby(project: Project) -> GateProposal | None:
    """A project with a Gemfile, and RSpec or Rake."""
    specs = project.matching(r"spec/.+_spec\.rb")
    tests = project.matching(r"test/.+\.rb")
    if not specs and not (tests and project.has("Rakefile")):
        return None
    place = "BUNDLE_PATH=vendor/bundle"
    run = "rspec" if specs else "rake test"
    return GateProposal(
        setup=f"{place} bundle install",
        deps=unique(("vendor/bundle", "" if project.has("Gemfile.lock") else "Gemfile.lock")),
        inputs=unique(("Gemfile", "Gemfile.lock", *project.matching(r"[^/]+\.gemspec"))),
        versions=("ruby --version", "bundle --version"),
        checks=(
            CheckProposal(
                name=run.replace(" ", "-"),
                run=f"{place} bundle exec {run}",
                tests="some" if specs else "none",
            ),
        ),
        why=(f"Gemfile and {(specs or tests)[0]}: {run}",),
    )


def php(project: Project) -> GateProposal | None:
    """A project with Composer and PHPUnit."""
    package = project.json("composer.json")
    configured = project.first("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")
    pest = "pestphp/pest" in table(package, "require-dev")
    if not configured and not pest:
        return None
    folder = words(table(package, "config").get("vendor-dir")) or ["vendor"]
    vendor = folder[0] if re.fullmatch(r"[\w./-]+", folder[0]) else "vendor"
    program = "pest" if pest else "phpunit"
    locked = project.has("composer.lock")
    return GateProposal(
        setup="composer install --no-interaction --no-progress",
        deps=unique((vendor, "" if locked else "composer.lock")),
        inputs=unique(("composer.json", "composer.lock")),
        versions=("php --version",),
        checks=(
            CheckProposal(
                name=program,
                run=f"{vendor}/bin/{program} --log-junit .gate/junit.xml",
                junit=".gate/junit.xml",
            ),
        ),
        why=(f"composer.json and {configured or 'pest'}: {program}",),
    )


RULES: list[tuple[tuple[str, ...], Callable[[Project], GateProposal | None]]] = [
    (("Cargo.toml",), cargo),
    (("go.mod", "go.work"), go),
    (("pom.xml",), maven),
    (("gradlew", "build.gradle", "build.gradle.kts"), gradle),
    (("Gemfile",), ruby),
    (("composer.json",), php),
    (("CMakeLists.txt",), cmake),
    (("meson.build",), meson),
]
