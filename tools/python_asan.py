"""Runs the tests of the Python package with bindings under the address sanitizer.

usage: python_asan.py FOLDER [TESTS...]

Compiles python/src anew into FOLDER with g++'s sanitizer, links it with the modules of build/release
and starts Python with the sanitizer's library loaded first. TESTS are files or names as unittest
takes them; all but the stubs by default. Leaks are not looked for: Python leaves many.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[1]
build = root / "build/release"
flags = ["-O1", "-fsanitize=address", "-fno-omit-frame-pointer"]


def compile_source(entry, folder):
    words = [word for word in shlex.split(entry["command"]) if word not in ("-O3", "ccache")]
    target = folder / (pathlib.Path(entry["file"]).stem + ".o")
    words[words.index("-o") + 1] = str(target)
    subprocess.run(words + flags, cwd=entry["directory"], check=True)
    return str(target)


def link(objects, package):
    """The command of the build, with these objects and the sanitizer."""
    steps = subprocess.run(["ninja", "-C", build, "-t", "commands", "sotta_python"], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    step = next(line for line in reversed(steps) if "-shared" in line and "/_core." in line)
    words = shlex.split(step.split("&&")[1])
    inputs = [word for word in words if word.startswith("python/CMakeFiles")]
    output = words.index("-o") + 1
    name = pathlib.Path(words[output]).name
    words[output] = str(package / name)
    rest = [word for word in words if word not in inputs]
    subprocess.run(rest[:1] + flags + objects + rest[1:], cwd=build, check=True)


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    package = folder / "sotta"
    package.mkdir(parents=True, exist_ok=True)
    entries = [entry for entry in json.loads((build / "compile_commands.json").read_text())
               if pathlib.Path(entry["file"]).is_relative_to(root / "python/src")]
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        objects = list(pool.map(lambda entry: compile_source(entry, folder), entries))
    link(objects, package)
    for file in [*(root / "python/sotta").glob("*.py"), build / "python/sotta/_build.py"]:
        shutil.copy2(file, package)
    runtime = [subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True,
                              text=True).stdout.strip() for name in ("libasan.so", "libstdc++.so")]
    environment = {**os.environ, "LD_PRELOAD": " ".join(runtime), "PYTHONPATH": str(folder),
                   "ASAN_OPTIONS": "detect_leaks=0", "PYTHONDONTWRITEBYTECODE": "1",
                   "SOTTA_ROOT": str(root), "SOTTA_BIN": str(build / "bin/sotta")}
    tests = sys.argv[2:] or ["wrapping_test", "refusals_test", "model_test", "bench_test"]
    ran = subprocess.run(["/usr/bin/python3", "-m", "unittest", "-v", *tests],
                         cwd=root / "python/tests", env=environment)
    sys.exit(ran.returncode)


if __name__ == "__main__":
    main()
