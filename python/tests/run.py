"""Runs the tests of this folder against the package on PYTHONPATH, with a report that
tools/run_tests.py counts. Exits with 77 where torch is not there."""
import pathlib
import sys
import unittest

try:
    import torch
except ImportError:
    print("skipped: this Python has no torch")
    sys.exit(77)

torch.set_num_threads(2)
here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here))
pattern = sys.argv[1] if len(sys.argv) > 1 else "*_test.py"
suite = unittest.defaultTestLoader.discover(str(here), pattern)
result = unittest.TextTestRunner(verbosity=2).run(suite)
sys.exit(not result.wasSuccessful())
