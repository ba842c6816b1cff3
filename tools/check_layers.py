"""Fails when a module includes a module it does not list in DEPENDS.

Reads the sotta_add_module() calls under src/, so CMake is the only place where
the layering is written down.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
modules = {}
for cmake in root.glob("src/*/CMakeLists.txt"):
    call = re.search(r"sotta_add_module\((\w+)(.*?)\)", cmake.read_text(), re.S)
    depends = re.search(r"DEPENDS\s+(.*?)(?:HEADERS|SOURCES|$)", call[2], re.S)
    modules[call[1]] = depends[1].split() if depends else []


def allowed(module):
    seen, queue = {module}, [module]
    while queue:
        for lower in modules[queue.pop()]:
            if lower not in seen:
                seen.add(lower)
                queue.append(lower)
    return seen


failures = 0
for module in modules:
    for folder in (root / "include/sotta" / module, root / "src" / module):
        for file in folder.rglob("*.[hc]*"):
            for number, line in enumerate(file.read_text().splitlines(), 1):
                found = re.match(r'#include "(sotta/)?(\w+)/', line)
                if not found or found[2] not in modules:
                    continue
                private = not found[1]
                if found[2] not in allowed(module) or (private and found[2] != module):
                    print(f"{file.relative_to(root)}:{number}: {module} may not include {found[0][10:]}")
                    failures += 1
sys.exit(1 if failures else 0)
