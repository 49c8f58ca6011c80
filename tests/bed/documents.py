"""The documents as the tests read them: links, anchors, code spans and code blocks."""

from __future__ import annotations

import re
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(
        ROOT / f"{name}.md"
        for name in ("README", "CONTRIBUTING", "CHANGELOG", "RELEASING", "SECURITY")
    ),
    *sorted((ROOT / "docs").glob("*.md")),
]

FENCE = re.compile(r"^ *```(\w*)$")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`]+)`")
OURS = "https://github.com/vllm-stable-ids/vllm-stable-ids/blob/main/"
"""How a page that is shown elsewhere than on GitHub names a file of the repository."""

INDENT = "    "
ASSIGNMENT = re.compile(r"[A-Z_]+=")


@dataclass(frozen=True)
class Block:
    """A code block; `language` is empty where it is indented, without a fence."""

    page: str
    line: int
    language: str
    text: str

    def commands(self) -> list[list[str]]:
        """Its lines as words of a shell: without comments, each end of a pipe by itself."""
        found: list[list[str]] = []
        for line in self.text.replace("\\\n", " ").splitlines():
            lexer = shlex.shlex(line, posix=True, punctuation_chars="|&>")
            lexer.whitespace_split = True
            words: list[str] = []
            for word in [*lexer, "|"]:
                if word not in {"|", "&&"}:
                    words.append(word)
                    continue
                if ">" in words:
                    words = words[: words.index(">")]
                while words and ASSIGNMENT.match(words[0]):
                    words = words[1:]
                if words:
                    found.append([each for each in words if each != "…"])
                words = []
        return found


@dataclass(frozen=True)
class Document:
    """One page: its prose without code blocks, and its code blocks."""

    path: Path
    prose: str
    blocks: tuple[Block, ...]

    @property
    def links(self) -> list[str]:
        """Where its links lead, as paths from the root; those to other hosts are left out."""
        found = LINK.findall(SPAN.sub("", self.prose))
        here = [link for link in found if link.startswith(OURS) or not re.match(r"\w+:", link)]
        return [self._from_root(link) for link in here]

    def _from_root(self, link: str) -> str:
        if link.startswith(OURS):
            return link.removeprefix(OURS)
        name, mark, anchor = link.partition("#")
        path = (self.path.parent / name).resolve() if name else self.path
        return path.relative_to(ROOT).as_posix() + mark + anchor

    @property
    def spans(self) -> list[str]:
        """What is set as code within the prose."""
        return [" ".join(span.split()) for span in SPAN.findall(self.prose)]

    @property
    def anchors(self) -> set[str]:
        """What a link into this page may name, as GitHub makes it of the headings."""
        heads = re.findall(r"^#+ (.*)$", self.prose, re.M)
        texts = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head) for head in heads)
        return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


def read(path: Path) -> Document:
    """Take a page apart."""
    page = path.relative_to(ROOT).as_posix()
    lines = path.read_text().splitlines()
    prose: list[str] = []
    blocks: list[Block] = []
    at = 0
    while at < len(lines):
        begin = at
        fence = FENCE.match(lines[at])
        if fence:
            at = next(end for end in range(at + 1, len(lines)) if FENCE.match(lines[end]))
            blocks.append(Block(page, begin + 1, fence[1], "\n".join(lines[begin + 1 : at])))
            at += 1
        elif lines[at].startswith(INDENT) and not lines[at - 1].strip():
            while at < len(lines) and (lines[at].startswith(INDENT) or not lines[at].strip()):
                at += 1
            text = textwrap.dedent("\n".join(lines[begin:at])).rstrip()
            blocks.append(Block(page, begin + 1, "", text))
        else:
            prose.append(lines[at])
            at += 1
    return Document(path, "\n".join(prose), tuple(blocks))


DOCUMENTS = [read(path) for path in PAGES]
BLOCKS = [block for document in DOCUMENTS for block in document.blocks]
