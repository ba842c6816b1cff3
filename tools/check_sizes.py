"""Fails when a file or function outgrows its limit or a source has no test.

usage: check_sizes.py ROOT

The limits keep files short enough to be read in one go. What has to be an
exception is listed below with its reason; a listed exception that is no longer
needed fails too.
"""
import pathlib
import re
import sys

# Files that may be longer than their limit: path -> reason.
LONG_FILES = {
    "src/data/CMakeLists.txt": "a list of sources, and three libraries that may be absent",
}

# Functions that may be longer than FUNCTION_LIMIT: "path: first line" -> reason.
LONG_FUNCTIONS = {}

# Sources that need no tests/<module>/<name>_test.cpp: path -> reason.
UNTESTED = {
    "src/adapt/memory/class_memory.cpp": "what hus_memory.cpp and cstu_memory.cpp share: their tests",
    "src/adapt/fixed_method.cpp": "what source.cpp and bn_stats.cpp share: their tests",
    "src/adapt/memory_method.cpp": "what sotta.cpp and rotta.cpp share: their tests",
    "src/core/version.cpp": "one constant; tests/cli/usage_test.sh prints it",
    "src/data/images/jpeg.cpp": "private to image.cpp: tests/data/image_test.cpp",
    "src/data/images/jpeg_none.cpp": "stands in where libjpeg is missing",
    "src/data/images/png.cpp": "private to image.cpp: tests/data/image_test.cpp",
    "src/data/images/png_none.cpp": "stands in where libpng is missing",
    "src/gpu/kernels/compute_capability_none.cpp": "stands in where there is no CUDA compiler",
    "src/gpu/kernels/conv3x3_none.cpp": "stands in where there is no CUDA compiler",
    "src/gpu/kernels/picking_kernel_none.cpp": "stands in where there is no CUDA compiler",
    "src/gpu/kernels/pixel_rows_none.cpp": "stands in where there is no CUDA compiler",
    "src/gpu/kernels/norm_rows_none.cpp": "stands in where there is no CUDA compiler",
    "src/engine/cpu/network/pre_activation_backward.cpp": "private to network.h: tests/engine/fused_test.cpp",
    "src/engine/cpu/network/pre_activation_forward.cpp": "private to network.h: tests/engine/fused_test.cpp",
    "src/nn/blended_norm.cpp": "private to batch_norm.cpp: tests/nn/batch_norm_test.cpp",
    "src/nn/fused_norm.cpp": "private to norm_relu.cpp and batch_norm.cpp: their tests",
    "src/nn/flat_optimiser.cpp": "what optimisers share: tests/nn/optimiser_test.cpp",
    "src/nn/norm_planes.cpp": "private to fused_norm.cpp: tests/nn/norm_relu_test.cpp",
    "src/serve/fleet/lease_rules.cpp": "tests/serve/lease_model_test.cpp and lease_scripts_test.cpp",
    "src/serve/fleet/redis_storage.cpp": "private to redis_store.cpp: tests/serve/redis_store_test.cpp",
    "src/serve/http/http_client_beast.cpp": "sockets: tests/cli/serve_fleet_checks.py",
    "src/serve/http/http_client_none.cpp": "stands in where Boost.Beast is missing",
    "src/serve/http/session.cpp": "sockets: tests/cli/serve_checks.py",
    "src/serve/http/tls_none.cpp": "stands in where OpenSSL is missing",
    "src/serve/http/tls_openssl.cpp": "sockets: tests/cli/serve_access_checks.py",
    "src/serve/streams/journal_record.cpp": "private to request_journal.cpp: its test",
}

FUNCTION_LIMIT = 60
LIMITS = [  # pattern of the path, lines; the first match counts
    (r"include/.*\.h", 200),
    (r"(tests|bench|fuzz)/.*\.(cpp|h)", 500),
    (r"examples/.*\.cpp", 80),
    (r"(src|apps)/.*\.(cpp|h|cu|cuh)", 450),
    (r"CMakeLists\.txt", 60),
    (r".*/CMakeLists\.txt", 30),
]


def limit_of(path):
    return next((lines for pattern, lines in LIMITS if re.fullmatch(pattern, path)), None)


def functions(lines):
    """First line and length of every function at namespace level.

    Relies on the formatter: such a function starts and ends in column 0.
    """
    start = None
    for number, line in enumerate(lines):
        if re.match(r"[A-Za-z\[]", line) and not re.match(r"(namespace|struct|class|enum|union)\b", line):
            start = number
        if line == "}" and start is not None:
            yield lines[start], number - start + 1
        if line.startswith("}") or re.match(r"[^ ].*;( *//.*)?$", line):
            start = None


def test_names(path):
    """Where the test of a source may lie: variants of one part share a test."""
    module, stem = path.parts[1], path.stem
    for name in (stem, re.sub(r"_[a-z]+$", "", stem)):
        yield pathlib.Path("tests", module, name + "_test.cpp")


def check(root):
    problems = []
    used = set()

    def report(key, exceptions, problem):
        used.add(key)
        if key not in exceptions:
            problems.append(problem)

    for folder in ("include", "src", "apps", "tests", "bench", "fuzz", "examples"):
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root)
            limit = limit_of(str(path))
            if limit is None or not file.is_file():
                continue
            lines = file.read_text().splitlines()
            if len(lines) > limit:
                report(str(path), LONG_FILES, f"{path}: {len(lines)} lines, the limit is {limit}")
            if file.suffix != ".txt":
                for first, length in functions(lines):
                    if length > FUNCTION_LIMIT:
                        report(f"{path}: {first}", LONG_FUNCTIONS,
                               f"{path}: {length} lines in one function, the limit is {FUNCTION_LIMIT}: {first}")
    for file in sorted(root.glob("src/**/*.cpp")):
        path = file.relative_to(root)
        if not any((root / test).exists() for test in test_names(path)):
            report(str(path), UNTESTED, f"{path}: no {next(test_names(path))}")

    for exceptions in (LONG_FILES, LONG_FUNCTIONS, UNTESTED):
        problems += [f"{key}: listed as an exception without need" for key in exceptions if key not in used]
    return problems


if __name__ == "__main__":
    found = check(pathlib.Path(sys.argv[1]))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
