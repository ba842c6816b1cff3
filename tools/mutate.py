#!/usr/bin/env python3
"""Puts one-line faults into chosen sources and says which of them the tests notice.

usage: mutate.py [OPTIONS] WHAT...

WHAT is a module (`eval`), `apps`, a source file, or a line of it
(`src/eval/grid.cpp:120`). Only .cpp files are changed, and only in copies. A module's
sources `*_none.cpp`, which stand in for what this build lacks, are left out unless named.

    tools/mutate.py corrupt                          # 20 faults, drawn with seed 1
    tools/mutate.py --count 0 src/eval/metrics.cpp   # every fault of a file
    tools/mutate.py --list --count 0 src/eval/metrics.cpp
    tools/mutate.py --tests cli_adapt,cli_eval apps

Faults: a comparison moved by one or turned round, + for -, * for /, && for ||, a
condition negated, true for false, min for max, a number changed by a tenth or by one,
a statement left out, an empty value returned, a return at the start, an argument
replaced by 0 or an empty string.

Every expression that gets a fault becomes `(mutant(17) ? changed : original)`, so all
faults are compiled in at once and the environment variable SOTTA_MUTANT switches one of
them on. What cannot be compiled is dropped. The changed sources are compiled with the
commands of the build folder and linked with its objects: nothing else is built anew.
The tests run once without a fault, which shows what tests reach what fault; then the
test programs and the script of the source's name run once for each fault they reach. A
failure, a crash or a hang is a fault noticed. Scripts take long: the faults that are left
run through each other script together, in halves where it fails, down to single faults,
which must fail twice, for a script may depend on how busy the machine is. (A fault that
hides another one in the same run is thinkable, and has to be unnoticed itself.)

A fault's place in the draw depends on its text alone, so that the same seed gives the
same faults after other lines have changed. A fault that changes no behaviour at all
("equivalent") counts as unnoticed: judge the list, not only the score.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

from mutate_cpp import Source, find_faults, rewrite

ROOT = pathlib.Path(__file__).resolve().parent.parent

HEADER = """#include <string>
#include <type_traits>
bool sotta_mutant_reached(int);
extern int sotta_active_mutant;
inline bool sotta_mutant(int id) {
  return sotta_active_mutant == id || (sotta_active_mutant < 0 && sotta_mutant_reached(id));
}
template <class T>
const T& sotta_or_empty(int id, const T& value) {
  static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>);
  static const T empty{};
  return sotta_mutant(id) ? empty : value;
}
"""
SWITCH = """#include <fcntl.h>
#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <string>
int sotta_active_mutant = 0;  // -1: note in a file what is reached; -2: several are active
static int notes = -1;
static std::atomic<bool> reached[100000];
static bool active[100000];
__attribute__((constructor(101))) static void read_environment() {
  const char* list = std::getenv("SOTTA_MUTANT");  // "17", "-1" or "3,17,25"
  if (!list) return;
  char* end;
  sotta_active_mutant = std::strtol(list, &end, 10);
  if (sotta_active_mutant < 0) {  // under a number that no test looks at: 0 to 2 may be closed
    const int low = open(std::getenv("SOTTA_MUTANTS_REACHED"), O_WRONLY | O_APPEND | O_CREAT, 0666);
    notes = fcntl(low, F_DUPFD_CLOEXEC, 100);
    close(low);
  }
  if (*end != ',') return;
  for (active[sotta_active_mutant] = true; *end == ',';) active[std::strtol(end + 1, &end, 10)] = true;
  sotta_active_mutant = -2;
}
bool sotta_mutant_reached(int id) {
  if (sotta_active_mutant == -2) return active[id];
  if (!reached[id].exchange(true)) {
    const auto line = std::to_string(id) + "\\n";
    if (write(notes, line.data(), line.size()) < 0) std::abort();
  }
  return false;
}
"""


def choose(sources, what, seed, count):
    """Faults of every module in the order of the draw, the kinds taking turns."""
    modules = {}
    for path, source in sources.items():
        lines = {int(each.split(":")[1]) for each in what if each.startswith(f"{path}:")}
        for fault in find_faults(source, seed):
            if not lines or fault.line in lines:
                modules.setdefault(module_of(path), {}).setdefault(fault.kind, []).append(fault)
    for module, kinds in modules.items():
        columns = [sorted(faults, key=lambda fault: fault.key) for _, faults in sorted(kinds.items())]
        turns = [fault for row in itertools.zip_longest(*columns) for fault in row if fault]
        modules[module] = turns[:count + count // 2] if count else turns  # some will not compile
    return modules


def module_of(path):
    return path.parts[1] if path.parts[0] == "src" else "apps"


def sources_of(what):
    name = what.split(":")[0]
    if name.endswith(".cpp"):
        return [pathlib.Path(name)]
    folder = ROOT / ("apps" if name == "apps" else f"src/{name}")
    if not folder.is_dir():
        sys.exit(f"mutate.py: {name}: expected a module, apps or a .cpp file")
    return sorted(file.relative_to(ROOT) for file in folder.rglob("*.cpp") if not file.stem.endswith("_none"))


class Build:
    """Compiles changed sources and links them into copies of the test programs."""

    def __init__(self, folder, jobs, is_current):
        self.folder, self.jobs, self.is_current = folder.resolve(), jobs, is_current
        self.work = self.folder.parent / "mutate"
        (self.work / "bin").mkdir(parents=True, exist_ok=True)
        self.header = self.work / "mutant.h"
        self.header.write_text(HEADER)
        (self.work / "mutant.cpp").write_text(SWITCH)
        commands = json.loads((self.folder / "compile_commands.json").read_text())
        self.commands = {each["file"]: each["command"] for each in commands}
        cache = (self.folder / "CMakeCache.txt").read_text()
        self.launcher = re.findall(r"^CMAKE_CXX_COMPILER_LAUNCHER:\w+=(.+)$", cache, re.M)  # such as ccache
        self.objects = {}  # of the build folder -> the changed one

    def command(self, path):
        """The words that compile a source; nothing for one that is not built here."""
        return shlex.split(self.commands.get(str(ROOT / path), ""))

    def compile(self, source, faults):
        """Writes and compiles the source; returns the faults that could be compiled."""
        words = self.command(source.path)
        output = words[words.index("-o") + 1]
        changed = self.work / source.path
        changed.parent.mkdir(parents=True, exist_ok=True)
        target = self.work / "objects" / output
        target.parent.mkdir(parents=True, exist_ok=True)
        words[words.index("-o") + 1] = str(target)
        words[words.index(str(ROOT / source.path))] = str(changed)
        words[words.index("-c"):words.index("-c")] = ["-w", "-Wno-narrowing", "-include", str(self.header)]
        includes = next(i for i, word in enumerate(words) if word.startswith("-I"))
        words.insert(includes, f"-I{self.work}/src")  # for sources that include themselves
        while faults:
            text = rewrite(source, faults)
            changed.write_text(text)
            result = subprocess.run(self.launcher + words, cwd=self.folder, capture_output=True, text=True)
            if result.returncode == 0:
                self.objects[output] = str(target)
                break
            lines = {int(line) for line in re.findall(re.escape(str(changed)) + r":(\d+)", result.stderr)}
            dropped = suspects(source, faults, lines)
            if not dropped:
                print(f"{source.path}: cannot be compiled with faults:\n{result.stderr[:2000]}", file=sys.stderr)
            faults = [each for each in faults if dropped and each not in dropped]
        return [(n, f) for n, f in faults if f"sotta_mutant({n})" in text or f"sotta_or_empty({n}," in text]

    def link(self, program):
        """bin/<program> of the build folder once more, with the changed objects instead of its own."""
        switch = str(self.work / "mutant.o")
        subprocess.run(["c++", "-O1", "-fPIC", "-c", self.work / "mutant.cpp", "-o", switch], check=True)
        lines = subprocess.run(["ninja", "-t", "commands", program], cwd=self.folder, check=True, capture_output=True,
                               text=True).stdout.strip().split("\n")
        target = str(self.work / "bin" / program)
        words = shlex.split(lines[-1].replace("&& :", "").replace(": &&", ""))
        extra = [changed for own, changed in self.objects.items()
                 if own not in words and any(f" -o {own} " in line for line in lines)]
        words = [self.objects.get(word, word) for word in words]
        place = words.index("-o")
        words[place:place + 2] = ["-o", target, switch, *extra]
        subprocess.run(words, cwd=self.folder, check=True)


def suspects(source, faults, lines):
    """The faults that may be to blame for errors in these lines."""
    found = [each for each in faults
             if any(source.line[each[1].start] <= line <= source.line[each[1].end - 1] for line in lines)]
    arguments = [each for each in found if each[1].form == "argument"]  # most often: of another type
    constants = [each for each in faults if any(a <= each[1].start < b for a, b in source.variables)]
    return arguments or found or constants  # those, where the error is elsewhere: they had to be constexpr


class Tests:
    """What can run alone: (program, suite or case), or (script, "")."""

    def __init__(self, build, names, least):
        self.build, self.names, self.least = build, names, least
        self.seconds = {}  # of every unit that passes without a fault
        self.reached = collections.defaultdict(list)  # fault -> units

    def command(self, test, filters):
        if test.startswith("cli_"):
            return ["bash", str(ROOT / f"tests/cli/{test[4:]}_test.sh")]
        return [str(self.build.work / f"bin/sotta_{test}_test"), "--gtest_fail_fast", "--gtest_brief=1",
                "--gtest_filter=" + ":".join(filters)]

    def run(self, test, filters, mutant, timeout=None, **more):
        """Whether the test passes."""
        environment = {"OMP_WAIT_POLICY": "passive", **os.environ, **more, "SOTTA_MUTANT": str(mutant),
                       "SOTTA_ROOT": str(ROOT), "SOTTA_BIN": str(self.build.work / "bin/sotta")}
        process = subprocess.Popen(self.command(test, filters), env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            return process.wait(timeout) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False

    def cases(self, test):
        """{"Suite.*": ["Suite.Case", ...]} of a program."""
        listing = subprocess.run([self.command(test, [])[0], "--gtest_list_tests"], capture_output=True, text=True)
        suites = {}
        for line in listing.stdout.split("\n"):
            name = line.split("#")[0].rstrip()
            if re.fullmatch(r"\S+\.", name):
                suite = suites.setdefault(name + "*", [])
            elif name.startswith("  "):
                suite.append(list(suites)[-1][:-1] + name.strip())
        return suites

    def find_reached(self, pool):
        """Runs every suite once without a fault; of one that fails, every case, and keeps those that pass."""
        for test in self.names:
            suites = {"": []} if test.startswith("cli_") else self.cases(test)
            passed = dict(zip(suites, pool.map(lambda name: self.try_unit(test, name), suites)))
            for suite, cases in suites.items():
                left_out = [suite] if not passed[suite] else []
                if left_out and cases:
                    left_out = [case for case in cases if not self.try_unit(test, case)]
                for name in left_out:
                    print(f"{test} {name}: fails without a fault; left out", file=sys.stderr)

    def try_unit(self, test, name):
        notes = self.build.work / f"reached_{test}_{re.sub('[^A-Za-z0-9]', '_', name)}.txt"
        notes.unlink(missing_ok=True)
        begin = time.monotonic()
        if not self.run(test, [name], -1, SOTTA_MUTANTS_REACHED=str(notes)):
            return False
        self.seconds[test, name] = time.monotonic() - begin
        for number in set(notes.read_text().split()) if notes.exists() else ():
            self.reached[int(number)].append((test, name))
        return True

    def notice(self, numbered):
        """Whether a test program, or the script of the source's name, fails with this fault."""
        number, fault = numbered
        stem = fault.path.stem
        units = sorted(self.reached.get(number, []), key=self.seconds.get)
        own = [unit for unit in units if unit[1].lower().startswith(stem.replace("_", ""))]
        runs = [(test, [name]) for test, name in own]
        for test in dict.fromkeys(test for test, _ in units):
            names = [unit[1] for unit in units if unit[0] == test and unit not in own]
            runs += [(test, names)] if names and not test.startswith("cli_") else []
        if any(not self.run(test, names, number, self.limit(test, names)) for test, names in runs):
            return True
        return any(self.notice_by_script(test, [number]) for test, _ in units if test.startswith(f"cli_{stem}"))

    def limit(self, test, names):
        return max(self.least, 5 * sum(self.seconds[test, name] for name in names))

    def notice_by_script(self, test, numbers):
        """Those faults that make this script fail on their own."""
        active = ",".join(map(str, numbers))
        if not numbers or self.run(test, [""], active, self.limit(test, [""])):
            return []
        if len(numbers) == 1:
            return [] if self.run(test, [""], active, self.limit(test, [""])) else numbers
        half = len(numbers) // 2
        return self.notice_by_script(test, numbers[:half]) + self.notice_by_script(test, numbers[half:])

    def notice_in_groups(self, left, pool):
        """Of the faults {number: fault} that nothing noticed so far, those that other scripts notice."""
        noticed = set()

        def look(test):
            others = [number for number, fault in left.items() if (test, "") in self.reached.get(number, [])
                      and not test.startswith(f"cli_{fault.path.stem}") and number not in noticed]
            noticed.update(self.notice_by_script(test, others))
        scripts = [test for test, _ in self.seconds if test.startswith("cli_")]
        list(pool.map(look, sorted(scripts, key=lambda test: self.seconds[test, ""])))
        return noticed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog="See the top of this file.")
    parser.add_argument("what", nargs="+", help="modules, apps, sources, or source:line")
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path, help="a configured build folder")
    parser.add_argument("--count", default=20, type=int, help="faults per module, 0 for all")
    parser.add_argument("--seed", default=1, type=int)
    parser.add_argument("--tests", help="such as eval,cli_bench; by default a module's own; apps has every script too")
    parser.add_argument("--timeout", default=30, type=float, help="seconds that a run may take at least")
    parser.add_argument("--jobs", default=2, type=int)
    parser.add_argument("--no-build", action="store_true", help="the test programs are built already")
    parser.add_argument("--list", action="store_true", help="only print the faults that would be tried")
    options = parser.parse_args()

    paths = dict.fromkeys(path for what in options.what for path in sources_of(what))
    sources = {path: Source(ROOT, path) for path in paths}
    modules = choose(sources, options.what, options.seed, options.count)
    if options.list:
        for fault in itertools.chain(*modules.values()):
            print(shown(fault, sources))
        return
    build = Build(options.build, options.jobs, options.no_build)
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    scripts = sorted(f"cli_{file.stem[:-5]}" for file in (ROOT / "tests/cli").glob("*_test.sh"))
    for module, faults in modules.items():
        tests = options.tests.split(",") if options.tests else [module, *(scripts if module == "apps" else [])]
        measure(module, faults, sources, build, Tests(build, tests, options.timeout), options.count, pool)


def programs_of(test):
    """What a test runs; a script may name programs that lie beside SOTTA_BIN."""
    if not test.startswith("cli_"):
        return {f"sotta_{test}_test"}
    script = (ROOT / f"tests/cli/{test[4:]}_test.sh").read_text()
    return {"sotta", *re.findall(r'dirname "\$SOTTA_BIN"\)/(\w+)', script)}


def measure(module, faults, sources, build, tests, count, pool):
    programs = set().union(*map(programs_of, tests.names))
    if not build.is_current:
        subprocess.run(["cmake", "--build", build.folder, "-j", str(build.jobs), "--target", *programs], check=True,
                       stdout=subprocess.DEVNULL)
    build.objects.clear()
    by_source = collections.defaultdict(list)
    for number, fault in enumerate(faults, 1):
        if build.command(fault.path):
            by_source[fault.path].append((number, fault))
    compiled = sorted(itertools.chain(*pool.map(lambda each: build.compile(sources[each[0]], each[1]), by_source.items())))
    compiled = compiled[:count] if count else compiled
    for program in programs:
        build.link(program)
    tests.find_reached(pool)
    left = {}
    for (number, fault), noticed in zip(compiled, pool.map(tests.notice, compiled)):
        if not noticed:
            left[number] = fault
        print("." if noticed else "x", end="", file=sys.stderr, flush=True)
    for number in tests.notice_in_groups(left, pool):
        del left[number]
    unnoticed = [shown(fault, sources) + ("" if number in tests.reached else "  (no test comes here)")
                 for number, fault in left.items()]
    print(f"\n{module}: {len(compiled) - len(unnoticed)} of {len(compiled)} noticed", *unnoticed, sep="\n  ", flush=True)


def shown(fault, sources):
    return f"{fault.path}:{fault.line}: {fault.change}: {sources[fault.path].lines[fault.line - 1].strip()}"


if __name__ == "__main__":
    main()
