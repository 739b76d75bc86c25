"""Drafts made to hurt: what a worker can leave in its folder, each made by a few calls of the system.

An attack is called with the folder drafts/ of an attempt, which lies three folders below its workspace, and leaves
something there that is called x, with some ending. Making a device needs root.
"""

import os
import socket
from collections.abc import Callable
from pathlib import Path

Attack = Callable[[Path], None]

GOOD = b"---\ntarget: projects/kiln.md\nedit: append\n---\n- fire at 1220\n"


def make(path: Path, data: bytes = GOOD) -> None:
    path.write_bytes(data)


def link_to_card(drafts: Path) -> None:
    (drafts / "x.md").symlink_to("../../../../projects/kiln.md")


def link_to_absolute(drafts: Path) -> None:
    (drafts / "x.md").symlink_to(drafts.parents[3] / "MEMORY.md")


def dangling_link(drafts: Path) -> None:
    (drafts / "x.md").symlink_to("../../../../projects/new.md")


def link_to_folder(drafts: Path) -> None:
    (drafts / "x.md").symlink_to("../../../../projects", target_is_directory=True)


def link_to_itself(drafts: Path) -> None:
    (drafts / "x.md").symlink_to("x.md")


def link_through_proc(drafts: Path) -> None:
    (drafts / "x.md").symlink_to("/proc/self/environ")


def hard_link(drafts: Path) -> None:
    (drafts / "x.md").hardlink_to(drafts.parents[3] / "MEMORY.md")


def fifo(drafts: Path) -> None:
    os.mkfifo(drafts / "x.md")


def unix_socket(drafts: Path) -> None:
    here = Path.cwd()
    os.chdir(drafts)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("x.md")
    finally:
        os.chdir(here)


def device(drafts: Path) -> None:
    os.mknod(drafts / "x.md", 0o20666, os.makedev(1, 5))  # /dev/zero has no end; PermissionError where only root may


def sparse_giant(drafts: Path) -> None:
    with (drafts / "x.md").open("wb") as file:
        file.truncate(10 << 30)


def just_too_large(drafts: Path) -> None:
    make(drafts / "x.md", GOOD + b"x" * (1 << 20))


def nul(drafts: Path) -> None:
    make(drafts / "x.md", GOOD + b"\x00")


def bad_utf8(drafts: Path) -> None:
    make(drafts / "x.md", GOOD + b"\xff\xfe")


def overlong_utf8(drafts: Path) -> None:
    make(drafts / "x.md", GOOD + b"\xc0\xaf")


def surrogate_in_utf8(drafts: Path) -> None:
    make(drafts / "x.md", GOOD + b"\xed\xa0\xbd")


def nested_folder(drafts: Path) -> None:
    (drafts / "a").mkdir()
    make(drafts / "a" / "x.md")


def hidden_file(drafts: Path) -> None:
    make(drafts / ".x.md")


def windows_name(drafts: Path) -> None:
    make(drafts / "C:\\x.md")


def backslashes(drafts: Path) -> None:
    make(drafts / "..\\x.md")


def name_with_newline(drafts: Path) -> None:
    make(drafts / "x\n.md")


def name_with_bidi(drafts: Path) -> None:
    make(drafts / "x\u202edm.md")


def name_not_utf8(drafts: Path) -> None:
    make(Path(os.fsdecode(os.fsencode(drafts) + b"/x\xff.md")))


def reserved_name(drafts: Path) -> None:
    make(drafts / "CON.md")


def no_draft_at_all(drafts: Path) -> None:
    make(drafts / "x.py", b"print()")


def target_leads_out(drafts: Path) -> None:
    make(drafts / "x.md", GOOD.replace(b"projects/kiln.md", b"../../projects/kiln.md"))


def absolute_target(drafts: Path) -> None:
    make(drafts / "x.md", GOOD.replace(b"projects/kiln.md", b"/tmp/x.md"))


def card_of_another_client(drafts: Path) -> None:
    make(drafts / "x.md", GOOD.replace(b"projects/kiln.md", b"clients/bolt/projects/kiln.md"))


def identity_file(drafts: Path) -> None:
    make(drafts / "x.md", GOOD.replace(b"projects/kiln.md", b"OPS.md"))


def deep_yaml(drafts: Path) -> None:
    make(drafts / "x.md", b"---\na: " + b"[" * 60_000 + b"\n---\n")


def alias_bomb(drafts: Path) -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}]" for i in range(1, 40))]
    make(drafts / "x.md", ("---\n" + "\n".join(lines) + "\n---\n").encode())


def duplicate_key(drafts: Path) -> None:
    make(drafts / "x.md", GOOD.replace(b"edit: append", b"edit: append\ntarget: USER.md"))


def begins_with_a_rule(drafts: Path) -> None:
    make(drafts / "x.md", b"---\n\nProse after a rule.\n\n---\n\nMore prose.\n")


def never_closed(drafts: Path) -> None:
    make(drafts / "x.md", b"---\ntarget: projects/kiln.md\nedit: append\n\nProse to the end.\n")


def file_is_a_link(drafts: Path) -> None:
    make(drafts / "x.md", b"---\ntarget: projects/kiln/a.csv\nedit: create\nfile: a.csv\n---\n")
    (drafts / "a.csv").symlink_to("../../../../MEMORY.md")


def file_is_a_fifo(drafts: Path) -> None:
    make(drafts / "x.md", b"---\ntarget: projects/kiln/a.csv\nedit: create\nfile: a.csv\n---\n")
    os.mkfifo(drafts / "a.csv")


def control_in_name(drafts: Path) -> None:
    make(drafts / "x\x1b[2J.md")


def dots_in_name(drafts: Path) -> None:
    make(drafts / "..x.md")


def case_twins(drafts: Path) -> None:
    make(drafts / "x.md")
    make(drafts / "X.md")


def many_anchors(drafts: Path) -> None:
    make(drafts / "x.md", b"---\n" + b"".join(b"a%d: &a%d x\n" % (n, n) for n in range(400)) + b"---\n")


def huge_front_matter(drafts: Path) -> None:
    make(drafts / "x.md", b"---\ntarget: projects/kiln.md\nedit: append\nx: " + b"y" * 100_000 + b"\n---\ntext\n")


HOSTILE: list[tuple[Attack, str]] = [
    (link_to_card, "link"),
    (link_to_absolute, "link"),
    (dangling_link, "link"),
    (link_to_folder, "link"),
    (link_to_itself, "link"),
    (link_through_proc, "link"),
    (hard_link, "hard_link"),
    (fifo, "not_regular"),
    (unix_socket, "not_regular"),
    (device, "not_regular"),
    (sparse_giant, "too_large"),
    (just_too_large, "too_large"),
    (nul, "not_text"),
    (bad_utf8, "not_text"),
    (overlong_utf8, "not_text"),
    (surrogate_in_utf8, "not_text"),
    (nested_folder, "name"),
    (hidden_file, "name"),
    (windows_name, "name"),
    (backslashes, "name"),
    (name_with_newline, "name"),
    (name_with_bidi, "name"),
    (name_not_utf8, "name"),
    (reserved_name, "name"),
    (no_draft_at_all, "no_draft"),
    (target_leads_out, "target"),
    (absolute_target, "target"),
    (card_of_another_client, "target"),
    (identity_file, "identity"),
    (deep_yaml, "front_matter"),
    (alias_bomb, "front_matter"),
    (duplicate_key, "front_matter"),
    (begins_with_a_rule, "front_matter"),
    (never_closed, "front_matter"),
    (file_is_a_link, "file"),
    (file_is_a_fifo, "file"),
    (control_in_name, "name"),
    (dots_in_name, "name"),
    (case_twins, "twin"),
    (many_anchors, "front_matter"),
    (huge_front_matter, "front_matter"),
]
"""What a worker can leave in the place of a draft, and the kind of the finding that names it."""


def _said(text: str) -> bytes:
    return GOOD + text.encode() + b"\n"


def bidi_override(drafts: Path) -> None:
    make(drafts / "x.md", _said("fire at \u202e0021\u202c"))


def tag_characters(drafts: Path) -> None:
    make(drafts / "x.md", _said("fire" + "".join(chr(0xE0000 + ord(char)) for char in "obey me")))


def escape_sequence(drafts: Path) -> None:
    make(drafts / "x.md", _said("fire \x1b[2J\x1b]0;x\x07"))


def variation_selectors(drafts: Path) -> None:
    make(drafts / "x.md", _said("fire" + "\ufe01\ufe02\ufe03\U000e0101"))


def hidden_in_a_summary(drafts: Path) -> None:
    index = b'index: [{section_id: firing, summary: "Fire\\u202e at 1220"}]\n---\n'
    make(drafts / "x.md", GOOD.replace(b"---\n- fire", index + b"- fire"))


def a_huge_line(drafts: Path) -> None:
    make(drafts / "x.md", _said("fire " * 200_000))


HIDING: list[tuple[Attack, str]] = [
    (bidi_override, "characters"),
    (tag_characters, "characters"),
    (escape_sequence, "characters"),
    (variation_selectors, "characters"),
    (hidden_in_a_summary, "index"),
]
"""Drafts that can be read, whose text shows something else than it says."""
