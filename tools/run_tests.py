#!/usr/bin/env python3
"""Runs every ctest entry of a build folder and says how many tests passed.

usage: run_tests.py BUILD_FOLDER [CTEST_ARGUMENT...]

The last line reads `N passed, M failed`. A test program counts with each of its
cases (GoogleTest leaves a report in test-results/), any other entry counts as
one. Exits with 1 when anything failed or nothing ran.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree


def count_cases(report):
    """Passed, failed and skipped cases of one GoogleTest report."""
    passed = failed = skipped = 0
    for suite in json.loads(report.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            if case.get("failures"):
                failed += 1
            elif case["result"] == "COMPLETED":
                passed += 1
            else:
                skipped += 1
    return passed, failed, skipped


def count_entry(entry, reports):
    """Likewise of one ctest entry."""
    report = reports / (entry.get("name") + ".json")
    status = entry.get("status")
    passed, failed, skipped = count_cases(report) if report.exists() else (0, 0, 0)
    if status == "fail":
        return passed, max(failed, 1), skipped  # a crash leaves no failed case
    if report.exists():
        return passed, failed, skipped
    return (1, 0, 0) if status == "run" else (0, 0, 1)


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    reports = folder / "test-results"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    junit = reports / "ctest.xml"
    jobs = os.environ.get("JOBS") or str(os.cpu_count())
    code = subprocess.call(
        ["ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error",
         "--timeout", "900", "-j", jobs, "--output-junit", junit, *sys.argv[2:]])

    entries = xml.etree.ElementTree.parse(junit).iter("testcase") if junit.exists() else []
    counts = [count_entry(entry, reports) for entry in entries]
    passed, failed, skipped = (sum(column) for column in zip(*counts, (0, 0, 0)))
    if code and not failed:
        failed = 1  # such as a program that is not there
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


sys.exit(main())
