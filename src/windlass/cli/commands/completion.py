"""Prints a completion script for bash, zsh or fish."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call

EXAMPLES = (
    'eval "$(wl completion bash)"',
    "wl completion fish > ~/.config/fish/completions/wl.fish",
)

_BASH = """\
_windlass() {
    local offer
    COMPREPLY=()
    while IFS= read -r offer; do
        # Bash puts it into the line as it is: there it has to mean itself alone.
        case $offer in *[!A-Za-z0-9_@%+=:,./-]*) offer=$(printf %q "$offer") ;; esac
        COMPREPLY+=("$offer")
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _windlass wl windlass
"""
_ZSH = """\
#compdef wl windlass
_windlass() {
    local -a offers
    offers=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    compadd -a offers
}
compdef _windlass wl windlass
"""
_FISH = """\
function __windlass
    set -l typed (commandline -opc) (commandline -ct)
    $typed[1] __complete $typed[2..-1] 2>/dev/null
end
complete -c wl -f -a '(__windlass)'
complete -c windlass -f -a '(__windlass)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def arguments(parser: ArgumentParser) -> None:
    """Takes a shell."""
    parser.add_argument("shell", choices=sorted(_SCRIPTS))


def run(call: Call) -> int:
    """Prints the script for that shell."""
    script = _SCRIPTS[call.args.shell]
    call.data({"shell": call.args.shell, "script": script})
    call.say(script.rstrip("\n"))
    return 0
