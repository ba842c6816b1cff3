"""Fails when a document points at something that is not there.

usage: check_docs.py ROOT

Checks, in every tracked Markdown file: relative links lead to a file, their
anchors to a heading, every `make TARGET` names a target of the Makefile, and every
`sotta/MODULE/HEADER.h`, in comments of C++ too, a header that is installed. The
README's C++ stands word for word in tests/consumer/ or examples/, which CI builds and
runs.
"""
import pathlib
import re
import subprocess
import sys


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def anchors(text):
    """The anchors that GitHub makes of the headings."""
    for heading in re.findall(r"^#+ +(.*?) *$", without_code(text), re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def broken_links(file, text):
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = file.parent / path if path else file
        if not target.exists():
            yield f"{link} leads nowhere"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
            yield f"{link} names no heading"


def missing_headers(root, text):
    for name in sorted(set(re.findall(r"\bsotta/\w+/\w+\.h\b", text))):
        if not (root / "include" / name).exists():
            yield f"there is no include/{name}"


def untested_code(root, text):
    compiled = "".join(file.read_text() for folder in ("tests/consumer", "examples")
                       for file in (root / folder).glob("*.cpp"))
    for block in re.findall(r"^```cpp\n(.*?)^```", text, re.S | re.M):
        if block not in compiled:
            yield "C++ that is not in tests/consumer/: " + block.split("\n")[0]


def main(root):
    targets = set(re.findall(r"^([a-z]+):", (root / "Makefile").read_text(), re.M))
    listed = subprocess.run(["git", "-C", root, "ls-files", "*.md", "*.h", "*.cpp"], check=True, capture_output=True, text=True)
    problems = 0
    for name in listed.stdout.splitlines():
        text = (root / name).read_text()
        found = list(missing_headers(root, text))
        if name.endswith(".md"):
            found += broken_links(root / name, text)
            found += [f"there is no `make {target}`" for target in re.findall(r"`make ([a-z]+)", text) if target not in targets]
        if name == "README.md":
            found += untested_code(root, text)
        for problem in found:
            print(f"{name}: {problem}")
        problems += len(found)
    return 1 if problems else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
