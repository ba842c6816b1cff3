"""The notebooks of examples/python run, and show pictures."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from networks import ROOT


@unittest.skipUnless(os.path.isdir("/usr/share/datasets/fashion-mnist"),
                     "dataset-fashion-mnist is not there")
class Notebooks(unittest.TestCase):
    def test_every_cell_runs_and_pictures_are_shown(self):
        for notebook in sorted((ROOT / "examples/python").glob("*.ipynb")):
            with tempfile.TemporaryDirectory() as folder:
                out = pathlib.Path(folder) / "out.ipynb"
                ran = subprocess.run([sys.executable, ROOT / "tools/run_notebook.py", notebook, out],
                                     capture_output=True, text=True)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                cells = json.loads(out.read_text())["cells"]
            shown = "".join("".join(output.get("data", {}).get("text/html", []))
                            for cell in cells for output in cell.get("outputs", []))
            self.assertGreaterEqual(shown.count("data:image/png;base64"), 2, notebook)
            self.assertIn("admitted", shown)


if __name__ == "__main__":
    unittest.main()
