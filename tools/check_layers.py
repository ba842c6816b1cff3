"""Fails when a module includes a module it does not list in DEPENDS, or when the
map or the drawing in docs/architecture.md is not what these lines say.

usage: check_layers.py ROOT [--draw]

Reads the sotta_add_module() calls under src/, so CMake is the only place where
the layering is written down. --draw prints the graph of what includes what, as
it stands in docs/architecture.md.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])


def read_modules():
    """What every module may include, by its CMake file."""
    modules = {}
    for cmake in root.glob("src/*/CMakeLists.txt"):
        call = re.search(r"sotta_add_module\((\w+)(.*?)\)", cmake.read_text(), re.S)
        depends = re.search(r"DEPENDS\s+(.*?)(?:HEADERS|SOURCES|$)", call[2], re.S)
        modules[call[1]] = depends[1].split() if depends else []
    return modules


def includes(modules):
    """Every #include of a module: (file, line number, module, included, text)."""
    for module in modules:
        for folder in (root / "include/sotta" / module, root / "src" / module):
            for file in sorted(folder.rglob("*.[hc]*")):
                for number, line in enumerate(file.read_text().splitlines(), 1):
                    found = re.match(r'#include "(sotta/)?(\w+)/', line)
                    if found and found[2] in modules:
                        yield file, number, module, found[2], line[10:-1]


def reachable(modules, module):
    seen, queue = {module}, [module]
    while queue:
        for lower in modules[queue.pop()]:
            if lower not in seen:
                seen.add(lower)
                queue.append(lower)
    return seen


def is_hidden(file, text):
    """Whether an installed header includes one that is not installed."""
    return file.is_relative_to(root / "include") and not text.startswith("sotta/")


def violations(modules):
    for file, number, module, included, text in includes(modules):
        if included not in reachable(modules, module) or is_hidden(file, text):
            yield f"{file.relative_to(root)}:{number}: {module} may not include {text}"


def height(below, module):
    return 1 + max((height(below, lower) for lower in below[module]), default=-1)


def draw(modules):
    """A line per module, the highest first: what its files include directly."""
    below = {module: set() for module in modules}
    for _, _, module, included, _ in includes(modules):
        if included != module:
            below[module].add(included)
    order = sorted(modules, key=lambda module: (-height(below, module), module))
    return "\n".join(f"{height(below, module)}  {module:<8} -> {' '.join(sorted(below[module]))}".rstrip(" ->")
                     for module in order)


def map_problems(modules, page):
    """The map's first block: a number begins a layer, and modules depend on lower ones."""
    layer, layers = None, {}
    for line in page.split("```")[1].splitlines():
        layer = int(line[0]) if line[:1].isdigit() else layer
        for name in re.findall(r"(?:^\d? +|     )(\w+)(?=  )", line):
            layers[name] = layer
    for module, lower in modules.items():
        if module not in layers:
            yield f"docs/architecture.md: its map lacks the module {module}"
        for other in lower:
            if layers.get(other, 0) >= layers.get(module, 99):
                yield f"docs/architecture.md: {module} depends on {other}, which is not below it in the map"


def main():
    modules = read_modules()
    if "--draw" in sys.argv[2:]:
        print(draw(modules))
        return 0
    problems = list(violations(modules))
    page = root / "docs/architecture.md"
    if page.exists():
        problems += map_problems(modules, page.read_text())
    if page.exists() and draw(modules) not in page.read_text():
        problems.append("docs/architecture.md: its include graph is not what `check_layers.py . --draw` prints")
    print("".join(problem + "\n" for problem in problems), end="")
    return 1 if problems else 0


sys.exit(main())
