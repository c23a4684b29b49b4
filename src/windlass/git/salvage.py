"""Keeps everything an agent wrote, in one commit that the repository alone can restore.

The commit's tree: `files/` the work tree byte for byte, `index/` and `stages/` what was staged,
`nested/` the `.git` folders of nested repositories as tars, `beyond.tar` what lies deeper than the
system can name, files with more holes than can be written out and what is too much for one folder
of a tree, `gitdir.tar` the workspace's own
git state, `loose/` and `tags/` objects that only such state names, `windlass.json` the rest. Its
parents keep every commit alive. It is written in quarantine and referenced last: it is whole or it
is not there.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import time
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import Conflict, UserError
from windlass.core.printable import printable_line
from windlass.git import (
    contents,
    descent,
    gitfiles,
    gitstate,
    homecoming,
    later,
    manifest,
    names,
    roots,
    workspace_state,
)
from windlass.git.arrival import EVERYTHING
from windlass.git.bounds import LONG
from windlass.git.inspection import inspect
from windlass.git.manifest import Dropped, Manifest, Summary
from windlass.git.properties import Properties
from windlass.git.provided import NOTHING, Provided
from windlass.git.quarantine import Importer, quarantine, sync
from windlass.git.repository import null_oid, read_ref, read_refs, set_ref
from windlass.git.runner import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windlass.git.arrival import Allowed
    from windlass.git.environment import ReadBox
    from windlass.git.inspection import Work
    from windlass.git.manifest import Nested
    from windlass.git.quarantine import Quarantine
    from windlass.git.repository import Repository

_WHOLE_SECONDS = re.compile(r"(?<=T\d{6})-\d{3}$")
"""Milliseconds as the stamps of endings have them, which would be read as a time zone."""


class Salvaged(msgspec.Struct, frozen=True, kw_only=True):
    """A salvage that is complete: the ref that keeps it, and what it holds."""

    ref: str
    commit: str
    summary: Summary


def salvage(
    repo: Repository,
    *,
    path: str,
    agent: str,
    stamp: str,
    meta: dict[str, object],
    branch: str | None = None,
    known_as: str | None = None,
    after: Sequence[str] = (),
    again: Sequence[str] = (),
    ignored_cap: int = 64 << 20,
    ignored_files_cap: int = 10_000,
    allowed: Allowed = EVERYTHING,
    box: ReadBox | None = None,
    provided: Provided = NOTHING,
) -> Salvaged:
    """Keeps the workspace at `path` under `refs/windlass/trash/<agent>/<stamp>`.

    Raises and changes nothing when anything cannot be kept; a second call with the same agent and
    stamp gives the first one's result. Nothing may be writing to the workspace any more. A clone is
    read through `box`, where there is one; what git cannot read of it, and what is more than is
    `allowed`, is kept as raw bytes. One that was moved out of its agent's reach is `known_as`
    what it was before. What is kept `after` other salvages of the same work is what there is by
    then, and not what is missing; where these hold all of it, the first of them is given. A place
    that stays is kept `again` as it is, unless one of its salvages holds all of it. What was
    `provided` and is as it was is none of the agent's work.
    """
    ref = manifest.ref_of(agent, stamp)
    if not names.is_ref(os.fsencode(ref)):
        raise UserError(f"{printable_line(ref)} is no ref name", "use letters, digits, `-` and `_`")
    asked = [ref, f"refs/windlass/base/{agent}", *([f"refs/heads/{branch}"] if branch else [])]
    known = read_refs(repo, *asked)
    if ref in known:
        return _done(repo, ref, known[ref])
    with quarantine(repo) as inside, descent.remembering():
        permissions = gitfiles.open_up(workspace_state.canonical(path))
        place = workspace_state.locate(repo, path, box=box)
        if known_as is not None:
            place = msgspec.structs.replace(place, known_as=workspace_state.canonical(known_as))
        caps = (ignored_cap, ignored_files_cap)
        work = inspect(
            repo, place, agent=agent, branch=branch, known=known, caps=caps, provided=provided
        )
        if after:
            earlier = manifest.read(repo, after[0])
            work = msgspec.structs.replace(
                work,
                head=None,
                before={},
                tip=work.tip or earlier.tip,
                base=work.base or earlier.base,
            )
        refs, left = roots.first_refs(work.refs)
        work.survey.dropped.extend(left)
        about = Manifest(
            agent=agent,
            stamp=stamp,
            time=_time_of(stamp),
            path=work.place.named(work.place.path),
            kind=work.place.kind,
            folder=work.folder,
            folder_mode=permissions,
            branch=work.branch,
            tip=work.tip,
            head=work.head,
            head_ref=work.head_ref,
            base=work.base,
            stashes=work.stashes,
            refs=refs,
            meta=meta,
        )
        commit, summary = _keep(repo, inside, work=work, about=about, allowed=allowed)
        if after and later.adds_nothing(inside, commit, after):
            ref = manifest.ref_of(earlier.agent, earlier.stamp)
            return Salvaged(ref=ref, commit=after[0], summary=earlier.summary)
        for one in again:
            if later.adds_nothing(inside, commit, [one]):
                had = manifest.read(repo, one)
                ref = manifest.ref_of(had.agent, had.stamp)
                return Salvaged(ref=ref, commit=one, summary=had.summary)
        sync(inside.release(repo))
    try:
        set_ref(repo, ref, commit, old=null_oid(repo))
    except Conflict:
        # Another call with the same stamp was faster, and has kept the same.
        if (first := read_ref(repo, ref)) is None:
            raise
        return _done(repo, ref, first)
    return Salvaged(ref=ref, commit=commit, summary=summary)


def _done(repo: Repository, ref: str, commit: str) -> Salvaged:
    return Salvaged(ref=ref, commit=commit, summary=manifest.read(repo, commit).summary)


def _time_of(stamp: str) -> int:
    """Reads the moment from the stamp where it is one, so that entries sort by it."""
    if stamp.isdigit() and len(stamp) <= 11:
        return int(stamp)
    try:
        moment = dt.datetime.fromisoformat(_WHOLE_SECONDS.sub("", stamp))
    except ValueError:
        return int(time.time())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return int(moment.timestamp())


def _keep(
    repo: Repository, inside: Quarantine, *, work: Work, about: Manifest, allowed: Allowed
) -> tuple[str, Summary]:
    chosen, came, raw = _roots(repo, inside, work=work, allowed=allowed)
    work, about = _at_home(repo, inside, work, about, chosen=chosen)
    with Importer(inside) as importer:
        properties = Properties()
        counts = _keep_trees(inside, importer, work, came, properties)
        dropped = [*work.survey.dropped, *work.index.dropped]
        dropped += gitstate.keep_state(importer, work.place, properties.names)
        if raw:
            dropped += gitstate.keep_raw_objects(importer, work.place, why=raw)
        beyond = [*work.survey.beyond, *work.survey.hollow]
        dropped += gitstate.keep_beyond(importer, work.place, beyond, properties.names)
        nested, left = _keep_nested(repo, importer, work, properties)
        dropped += left + properties.dropped()
        tags = _keep_loose(inside, importer, chosen.loose)
        summary = Summary(
            changed=counts["changed"],
            untracked=counts["untracked"] + len(work.survey.beyond),
            ignored=counts["ignored"],
            nested=len(nested),
            stashes=len(work.stashes),
            commits=_count_commits(inside, chosen.parents, work=work),
            size=importer.sent,
            dropped=sum(drop.files for drop in dropped),
        )
        whole = msgspec.structs.replace(
            properties.written(about, work.survey),
            index=bool(counts["index"]),
            hollow=[os.fsdecode(name) for name in work.survey.hollow],
            empty=[os.fsdecode(name) for name in work.survey.empty],
            skip_worktree=work.index.skipped,
            assume_unchanged=work.index.assumed,
            nested=nested,
            dropped=dropped,
            tags=tags,
            summary=summary,
        )
        mark = importer.blob(manifest.encode(manifest.shortened(whole)))
        importer.place(manifest.NAME.encode(), mode=b"100644", what=mark)
        commit = importer.commit(
            message=f"windlass: salvaged {about.agent} {about.stamp}\n",
            time=about.time,
            parents=chosen.parents,
        )
    return commit, summary


def _at_home(
    repo: Repository, inside: Quarantine, work: Work, about: Manifest, *, chosen: roots.Roots
) -> tuple[Work, Manifest]:
    """Names only commits that are here: where a clone's did not come, what we knew of it before."""
    unasked = [oid for oid in (work.head, work.tip) if oid and oid not in chosen.asked]
    known = {**chosen.kinds, **inside.known(unasked)}
    if work.head not in known:
        work = msgspec.structs.replace(work, head=None, before={})
    if work.tip not in known:
        before = read_ref(repo, f"refs/heads/{work.branch}") if work.branch else None
        work = msgspec.structs.replace(work, tip=before or work.base)
    return work, msgspec.structs.replace(about, head=work.head, tip=work.tip)


def _roots(
    repo: Repository, inside: Quarantine, *, work: Work, allowed: Allowed
) -> tuple[roots.Roots, set[str] | None, str]:
    """Picks what keeps the work alive; tells for a clone which of the ids in it came home.

    And why its objects cannot come, where that is so: then they are to be kept as they are.
    """
    first = [oid for oid in (work.head, work.tip, work.base, work.home) if oid]
    first += [stash.oid for stash in work.stashes]
    also = roots.Mentioned()
    also.add(work.refs.values())
    if work.place.git_dir is not None:
        also.add(roots.kept_before(repo, work.place.git_dir))
    if work.branch is not None:
        roots.branch_log(work.place.common_dir, f"refs/heads/{work.branch}", also)
    if work.place.git_dir is not None:
        fetched = roots.FETCHED if work.place.kind == "clone" else ()
        roots.mentioned(work.place.git_dir, also, but=fetched)
    for entry in work.survey.dotgits:
        if also.left_out:
            break
        gitstate.named_by_nested(repo, place=work.place, entry=entry, into=also)
    others = also.ids
    named: set[str] = set()
    if work.place.kind == "clone":
        trees = [work.index.staged, *work.index.stages.values()]
        named = roots.staged(
            (oid for tree in trees for mode, oid in tree.values() if mode != b"160000"),
            (oid for _, oid in work.before.values()),
            also,
        )
    if also.left_out:
        reason = f"{also.left_out}; what only the others name is not looked for"
        work.survey.dropped.append(Dropped(path=".git", reason=reason, files=0))
    if work.place.kind == "clone":
        came, behind, raw = homecoming.bring(
            repo, inside, place=work.place, wanted={*first, *others, *named}, allowed=allowed
        )
        reason = f"not as an object: {raw}" if raw else "what it reaches is missing in the clone"
        work.survey.dropped.extend(
            Dropped(path=f".git: {oid}", reason=reason, files=0) for oid in behind
        )
        ours = {work.tip, work.base, work.home}
        first = [oid for oid in first if oid in came or oid in ours]
        # What nobody was asked for may be among these.
        raw = raw or also.left_out
        if work.index.dropped:
            raw = raw or "not all that the index names is known"
        return roots.choose(inside, first=first, others=others & came), came, raw
    return roots.choose(inside, first=first, others=others), None, ""


def _keep_nested(
    repo: Repository, importer: Importer, work: Work, properties: Properties
) -> tuple[list[Nested], list[Dropped]]:
    kept = [
        gitstate.keep_nested(
            importer, repo, place=work.place, entry=entry, number=number, names=properties.names
        )
        for number, entry in enumerate(work.survey.dotgits)
    ]
    return [nested for nested, _ in kept], [drop for _, left in kept for drop in left]


def _keep_trees(
    inside: Quarantine,
    importer: Importer,
    work: Work,
    came: set[str] | None,
    properties: Properties,
) -> dict[str, int]:
    start = None
    if work.head is not None:
        said = run(["rev-parse", f"{work.head}^{{tree}}"], dirs=inside.dirs)
        start = said.out.decode().strip()
    if start is not None and work.before:
        importer.place(b"files", mode=b"040000", what=start)
    counts = contents.keep_files(
        importer,
        inside,
        root=work.place.path,
        survey=work.survey,
        before=work.before,
        tracked=set(work.index.staged),
        properties=properties,
    )
    counts["index"] = gitstate.keep_index(
        importer,
        inside,
        start=start,
        before=work.before,
        staged=work.index.staged,
        stages=work.index.stages,
        came=came,
    )
    return counts


def _keep_loose(inside: Quarantine, importer: Importer, loose: dict[str, str]) -> list[str]:
    tags = []
    for oid, kind in sorted(loose.items()):
        if kind == "tag":
            raw = run(["cat-file", "tag", oid], dirs=inside.dirs).out
            importer.place(b"tags/" + oid.encode(), mode=b"100644", what=importer.blob(raw))
            tags.append(oid)
        else:
            mode = b"040000" if kind == "tree" else b"100644"
            importer.place(b"loose/" + oid.encode(), mode=mode, what=oid)
    return tags


def _count_commits(inside: Quarantine, parents: list[str], *, work: Work) -> int:
    if work.base is None:
        return 0
    stashed = {stash.oid for stash in work.stashes}
    lines = [oid for oid in parents if oid not in stashed] + [f"^{work.base}"]
    said = run(
        ["rev-list", "--count", "--stdin"],
        dirs=inside.dirs,
        stdin="\n".join(lines).encode() + b"\n",
        timeout=LONG,
    )
    return int(said.out)
