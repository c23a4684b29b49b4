"""What a line that can be read still leaves open: commands in disguise.

Each rule is a way in which words that look harmless run something else: settings that change what a
name means, builtins that read their arguments as code, arithmetic that evaluates what a variable
holds, options of `git`, `sed`, `awk` and `sort` that start programs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from windlass.core.shell import git_lines
from windlass.core.shell.runs import Doubt, Settled, Words, settings
from windlass.core.shell.tree import NAME, Command, Node, Word, lead, may_be_option, nodes, splits

_RISKY = re.compile(
    r"PATH|ENV|SHELL|SHELLOPTS|BASH.*|PS[0-4]|PROMPT_COMMAND|CDPATH|FPATH|ZDOTDIR|HOME|XDG_.*"
    r"|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH|GLIBC_TUNABLES|HOSTALIASES|GETCONF_DIR"
    r"|GIT_.*|SSH_.*|WINDLASS.*|CLAUDE.*|ANTHROPIC.*"
    r"|EDITOR|VISUAL|PAGER|MANPAGER|LESS.*|BROWSER|GREP_OPTIONS|TAR_OPTIONS|AWKPATH|AWKLIBPATH"
    r"|PYTHON(?:STARTUP|PATH|HOME|INSPECT|BREAKPOINT|WARNINGS|USERBASE|PLATLIBDIR)"
    r"|NODE_OPTIONS|NODE_PATH|PERL5.*|PERLLIB|RUBY(?:OPT|LIB)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS"
    r"|JDK_JAVA_OPTIONS|CLASSPATH|.*_proxy|.*_PROXY"
)
"""Variables by which a program that was allowed runs, loads or talks to something else."""
_AS_CODE = {
    "eval": "runs its arguments",
    "source": "runs a file in this shell",
    ".": "runs a file in this shell",
    "trap": "runs its arguments later",
    "alias": "changes what a name means",
    "unalias": "changes what a name means",
    "hash": "changes what a name means",
    "enable": "changes what a name means",
    "shopt": "changes how lines are read",
    "complete": "runs its arguments later",
    "compgen": "runs its arguments",
    "bind": "runs its arguments",
    "fc": "runs what was run before",
    "history": "keeps what was run before",
    "mapfile": "may run its arguments",
    "readarray": "may run its arguments",
    "let": "calculates with its arguments, which may hold commands",
    "coproc": "runs its arguments aside",
}
_CALCULATED = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_BINARY = _CALCULATED | frozenset(
    ("=", "==", "!=", "<", ">", "-nt", "-ot", "-ef", "-a", "-o", "]", ")")
)
_SED = re.compile(
    r"""(?:[0-9$]+(?:,\+?[0-9$]+)?|/(?:[^/\\\n]|\\.)*/(?:,(?:[0-9$]+|/(?:[^/\\\n]|\\.)*/))?)?\s*+!?\s*+
    (?:[pdqDPgGhHxnN=]|s(?P<d>[/|,\#@:%!])(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)(?:(?!(?P=d))[^\\\n]|\\.)*
    (?P=d)[gpiI0-9]*|[aic]\\?[^\n]*|\{|\})?\s*+""",
    re.VERBOSE,
)


_AWK_WRITES = re.compile(
    r"""print(?:f)?(?=
    (?:[,&|\\][\ \t]*+(?:\#[^\n]*)?\n | [^;}\n"/>] | "(?:[^"\\\n]|\\.)*+")*+ (?:>|/[^>]*>) )""",
    re.VERBOSE | re.DOTALL,
)
"""A > in the statement of a print. Behind a / nobody knows where the statement ends."""
_LONGEST_AWK = 2_000


def risky(name: str) -> bool:
    """Whether setting a variable may change what an allowed command does."""
    return _RISKY.fullmatch(name) is not None


def in_line(node: Node, sums: Iterable[str]) -> Iterator[Doubt]:
    """What is unclear about a line as a whole: what it sets, compares and calculates."""
    numbers: dict[str, bool] = {}
    for each in nodes(node):
        if isinstance(each, Command):
            for setting in each.settings:
                sure = all(map(_number, setting.values))
                if setting.name == "IFS" and not each.words and not _blank(setting.values):
                    yield _changing("IFS")
                numbers[setting.name] = numbers.get(setting.name, True) and sure
            for name in _read(each.words):
                numbers[name] = False
        elif each.kind == "for":
            numbers[each.name] = numbers.get(each.name, True) and all(map(_number, each.words))
            if each.words == ():
                numbers[each.name] = False
        elif each.kind == "test":
            yield from _compared(each.words)
    yield from (_changing(name) for name in numbers if risky(name))
    for name in sorted(name for name in sums if not numbers.get(name)):
        yield Doubt(f"calculating with {name}, which may hold more than a number")


def check(words: Words) -> None:
    """Raises Doubt about one command: arguments that are code, or that name a variable."""
    name = words[0].literal
    if name is None or not name:
        raise Doubt("the name of a command is not written out")
    if name in _AS_CODE:
        raise Doubt(f"{name} {_AS_CODE[name]}")
    for key in settings(words):
        if risky(key):
            raise _changing(key)
    rule = _RULES.get(name)
    if rule is not None:
        rule(words)


def _blank(values: Words) -> bool:
    return all(value.literal is not None and not value.literal.strip() for value in values)


def _changing(name: str) -> Settled:
    return Settled(f"setting {name} changes what commands do")


def _read(words: Words) -> Iterator[str]:
    if words and words[0].literal in ("read", "printf", "getopts", "unset", "wait", *_DECLARING):
        for word in words[1:]:
            yield from NAME.findall(word.text)[:1]


def _number(word: Word) -> bool:
    return all(
        piece.kind == "sum"
        or (piece.kind == "variable" and piece.text in ("?", "#"))
        or (piece.kind == "text" and re.fullmatch(r"-?[0-9]*|\{[0-9]+\.\.[0-9]+\}", piece.text))
        for piece in word.pieces
    )


def _compared(words: Words) -> Iterator[Doubt]:
    for at, word in enumerate(words):
        if word.text in ("-v", "-R"):
            yield Doubt(f"{word.text} in [[ ]] may run commands")
        around = [*words[max(at - 1, 0) : at], *words[at + 1 : at + 2]]
        if word.text in _CALCULATED and not all(map(_number, around)):
            yield Doubt(f"{word.text} in [[ ]] calculates; use [ ] for what is no number")


def _test(words: Words) -> None:
    """`[` and `test`: -v evaluates its operand, which a variable could hide."""
    for at, word in enumerate(words[1:], 1):
        behind = words[at + 1] if at + 1 < len(words) else None
        if word.text in ("-v", "-R") or "[" in word.text:
            raise Doubt(f"{word.text} in a test may run commands")
        splits = any(piece.kind != "text" and not piece.quoted for piece in word.pieces)
        if splits and not _number(word):
            raise Doubt("a test of something unquoted may be any test")
        if word.dynamic and behind is not None and behind.text not in _BINARY:
            raise Doubt("a test whose operator is not written out")


def _names(words: Words) -> None:
    """Builtins whose arguments are names of variables; an index in one would be evaluated."""
    for word in words[1:]:
        text = word.literal
        if text is None or not re.fullmatch(r"-[a-z0-9]+|[A-Za-z_][A-Za-z0-9_]*|[0-9.]+|", text):
            raise Doubt(f"{words[0].text} with something else than names")
        if risky(text):
            raise _changing(text)


def _prompted(words: Words) -> None:
    """`read`, whose prompt is free text."""
    rest = list(words)
    for at, word in enumerate(words[:-1]):
        if re.fullmatch("-[a-z]*[pd]", word.literal or ""):
            rest[at + 1] = Word((), plain=True)
    _names(tuple(rest))


def _declared(words: Words) -> None:
    for word in words[1:]:
        first = lead(word)
        said = first.text if first is not None and first.kind == "text" else ""
        declared = re.match(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=|$)", said)
        if declared is None and not re.fullmatch("-[xrg]+", word.literal or ""):
            raise Doubt(f"{words[0].text} with more than names and values")
        if declared is not None and (
            risky(declared[1]) or (not declared[2] and len(word.pieces) > 1)
        ):
            raise _changing(declared[1])


def _printf(words: Words) -> None:
    if len(words) > 2 and (words[1].text[:1] == "-" or may_be_option(words[1])):
        raise Doubt("printf that may put its text into a variable")


def _waited(words: Words) -> None:
    for word in words[1:]:
        unquoted = any(piece.kind != "text" and not piece.quoted for piece in word.pieces)
        last = len(word.pieces) == 1 and word.pieces[0].text == "!"
        if word.text[:1] == "-" or (word.dynamic and not last and (unquoted or len(words) > 2)):
            raise Doubt("wait with more than numbers and one quoted variable")


def _set(words: Words) -> None:
    for word in words[1:]:
        if not re.fullmatch(r"[-+][euxfo]+|pipefail|errexit|nounset", word.literal or ""):
            raise Doubt("set with more than -e, -u, -x and pipefail")


def _sort(words: Words) -> None:
    for word in _options(words):
        if word.text.startswith("--co"):
            raise Settled(f"sort with {word.text} runs a program")


def _jobs(words: Words) -> None:
    for word in words[1:]:
        if not re.fullmatch(r"-[lnprs]+|%.*|[0-9]+", word.literal or ""):
            raise Doubt("jobs with more than -l, -p and numbers may run its arguments")


def _options(words: Words) -> Iterator[Word]:
    """The words that are or may be options; Doubt about those that nobody can know."""
    for word in words[1:]:
        if word.literal == "--":
            return
        if may_be_option(word):
            raise Doubt(
                f"{words[0].text} with a word that may be an option, or several words; quote it,"
                " with ./ or -- before it"
            )
        yield word


def _sed(words: Words) -> None:
    """GNU sed runs commands with `e` and writes files with `w`: only what cannot is let through."""
    scripts: list[str | None] = []
    rest = iter(list(_options(words)))
    for word in rest:
        text = word.literal
        if text is not None and re.fullmatch(r"-[nErszu]*i[.A-Za-z~]*|-[nErszu]+", text):
            continue
        if text is not None and re.fullmatch(r"-[nErszu]*e", text):
            scripts += [word.literal for word in islice(rest, 1)] or [None]
        elif text is not None and text.startswith("-"):
            raise Doubt(f"sed with {text}")
        elif not scripts:
            scripts.append(text)
    for script in scripts or [None]:
        if script is None or not all(_SED.fullmatch(command) for command in _split(script)):
            raise Doubt("a program for sed that is more than s, d, p and their like")


def _split(script: str) -> list[str]:
    """The commands of a program; those that hold a ; themselves are looked at whole."""
    return [script] if _SED.fullmatch(script) else re.split(r"[;\n]", script)


def _awk(words: Words) -> None:
    rest = iter(words[1:])
    for word in rest:
        value = next(rest, word) if word.literal in ("-F", "-v") else word
        if splits(word) or splits(value):
            raise Doubt("awk with a value that may be more than one word; quote it")
        if value is not word:
            continue
        if word.text[:1] != "-":
            break
        if not re.match("-[Fv]", word.text):
            raise Doubt(f"awk with {word.text}")
    else:
        return
    if word.literal is None or re.search(r"system|getline|@|(?<!\|)\|(?!\|)", word.literal):
        raise Doubt("a program for awk that may run commands")
    # From every print it looks ahead; what is longer is no line any more.
    if len(word.literal) > _LONGEST_AWK or _AWK_WRITES.search(word.literal):
        raise Doubt("a program for awk that writes files: redirect its output instead")


def _without_common(words: Words) -> Words:
    """What follows the options that every command of ours takes."""
    rest = list(words)
    while rest and rest[0].literal in ("-v", "-q", "--verbose", "--quiet", "--json", "-C"):
        taken = rest[: 2 if rest[0].literal == "-C" else 1]
        if any(map(splits, taken)):
            raise Doubt("wl -C with a value that may be more than one word; quote it")
        del rest[: len(taken)]
    return tuple(rest)


def _wl(words: Words) -> None:
    """Our own program: what runs commands elsewhere, or changes what agents may do."""
    rest = _without_common(words[1:])
    if rest and rest[0].literal == "dev":
        rest = _without_common(rest[1:])
    verb = rest[0].literal if rest else ""
    said = [word.literal for word in rest[1:] if not (word.literal or "").startswith("-")]
    # Behind -C stands a folder, which may be called like any of them.
    reading = said[:1] in ([], ["get"], ["list"]) and not set(said) & {"set", "add", "remove"}
    if verb is None or verb in _PERSONS or (verb == "config" and not reading):
        raise Settled(f"wl {verb or 'with a command that is not written out'} is for people")


_PERSONS = frozenset(("exec", "daemon", "model", "demo", "attach", "drivers", "completion"))
_DECLARING = ("export", "declare", "typeset", "local", "readonly")
_RULES: dict[str, Callable[[Words], None]] = {
    **dict.fromkeys(("test", "["), _test),
    **dict.fromkeys(("unset", "getopts"), _names),
    "wait": _waited,
    **dict.fromkeys(_DECLARING, _declared),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    "read": _prompted,
    "printf": _printf,
    "set": _set,
    "jobs": _jobs,
    "sort": _sort,
    "sed": _sed,
    "git": git_lines.check,
    **dict.fromkeys(("wl", "windlass"), _wl),
}
