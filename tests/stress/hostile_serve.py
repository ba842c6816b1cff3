"""Hostile requests to `sotta serve` for as long as one likes.

usage: hostile_serve.py PROGRAM ROUNDS SEED

Every round sends all that tests/cli/serve_hostile.py has, every other one with random bytes
changed. Nothing may be answered with 500, and the memory must stay as it is.
"""
import os
import pathlib
import sys
import tempfile

if len(sys.argv) != 4:
    sys.exit(__doc__)
ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.update(SOTTA_BIN=os.path.abspath(sys.argv[1]), SOTTA_ROOT=str(ROOT))
sys.path.insert(0, str(ROOT / "tests/cli"))
sys.dont_write_bytecode = True
import serve_hostile  # noqa: E402, it reads the environment

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    serve_hostile.main(int(sys.argv[2]), int(sys.argv[3]))
