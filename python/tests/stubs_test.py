"""The types that the package states are those it has."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import sotta
from networks import ROOT


@unittest.skipUnless(shutil.which("stubtest"), "mypy is not there")
class Stubs(unittest.TestCase):
    def run_tool(self, *command):
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "MYPYPATH": str(pathlib.Path(sotta.__file__).parents[1]),
                           "MYPY_CACHE_DIR": cache}
            ran = subprocess.run(command, env=environment, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_stubs_are_those_of_the_compiled_part(self):
        self.run_tool("stubtest", "sotta._core", "--mypy-config-file", str(ROOT / "python/mypy.ini"),
                      "--allowlist", str(ROOT / "python/stubtest_allowlist.txt"))

    def test_the_package_is_typed_throughout(self):
        self.run_tool("mypy", "--config-file", str(ROOT / "python/mypy.ini"), "-p", "sotta")

    def test_everything_public_is_documented(self):
        for name in sotta.__all__:
            thing = getattr(sotta, name)
            if not isinstance(thing, str):
                self.assertTrue((thing.__doc__ or "").strip(), name)
        for name, member in vars(sotta.Model).items():
            if not name.startswith("_"):
                self.assertTrue(member.__doc__, name)


if __name__ == "__main__":
    unittest.main()
