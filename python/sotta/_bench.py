"""The benchmark and its report, as ``sotta bench`` and ``sotta report`` make them."""
from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Type, Union

import torch

from . import _core
from ._error import Error
from ._method import Method, name_of
from ._stream import data_root

Names = Union[str, Sequence[str]]
Path = Union[str, "os.PathLike[str]"]


class BenchResult(NamedTuple):
    """What a benchmark found; its records are in ``file``."""

    file: str
    cells: int  # in all
    earlier: int  # of these, recorded before
    averages: Dict[str, float]  # accuracy in percent, by method and variant
    failures: List[str]  # "cell: what went wrong"

    @property
    def records(self) -> List[Dict[str, Any]]:
        """All records of the folder, a dictionary per run."""
        return records(os.path.dirname(self.file) or ".")

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{name}</td><td style='text-align:right'>{accuracy:.2f} %</td></tr>"
                       for name, accuracy in self.averages.items())
        return f"<table><tr><th>row</th><th>accuracy</th></tr>{rows}</table>"


def _list(names: Names) -> List[str]:
    return [names] if isinstance(names, str) else list(names)


def _show(done: int, cells: int, running: float) -> None:
    print(f"\r{done} of {cells} cells, {running:.1f} running", end="", file=sys.stderr, flush=True)


def bench(dataset: str, model: Path,
          methods: Union[str, Type[Method], Sequence[Union[str, Type[Method]]]] = "all", *,
          scenarios: Names = "all", corruptions: Names = "all",
          seeds: Union[int, Sequence[int]] = (0,),
          preset: str = "clean", variants: Names = (), sweeps: Names = (),
          changes: Optional[Dict[str, Any]] = None, out: Path = "runs",
          data: Optional[Path] = None, device: str = "cpu", precision: str = "fp32",
          engine: str = "auto", threads: Optional[int] = None, jobs: int = 1,
          lanes: Optional[int] = None,
          progress: Union[bool, Callable[[int, int, float], object]] = False,
          **options: Any) -> BenchResult:
    """Runs every method on every scenario, corruption and seed, and records what comes out.

    Cells whose record lies in ``out`` already are not run again, so an interrupted benchmark
    continues. Records are those of the command with the same arguments.

    dataset: a name of the catalogue, under the folder ``data``.
    model: weights, safetensors or TorchScript; ``{seed}`` in the name stands for the seed.
    methods: names, "all", or classes derived from ``sotta.Method``.
    variants, sweeps: rows of their own, "NAME: METHOD option=value" and "METHOD option=1,2,3".
    changes: options of all cells, of method, guard or attack.
    threads: torch's number by default.
    lanes: runs that go through the network together; None chooses.
    progress: True prints a line, a function is called with (done, cells, running).
    options: those of ``sotta.stream_options()``: window, severity, limit, foreign, ...
    """
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise Error(f"progress: expected True, False or a function, got {progress!r}")
    if not (changes is None or isinstance(changes, dict)):
        raise Error(f"changes: expected options by name, got {type(changes).__name__}")
    single = isinstance(methods, str) or isinstance(methods, type)
    rows = [name_of(method) for method in ([methods] if single else methods)]  # type: ignore
    show = _show if progress is True else progress or None
    outcome = _core.bench(
        {"dataset": dataset, "model": os.fspath(model), "methods": rows, "preset": preset,
         "scenarios": _list(scenarios), "corruptions": _list(corruptions), "seeds": [seeds] if isinstance(seeds, int) else list(seeds),
         "variants": _list(variants), "sweeps": _list(sweeps), "changes": changes or {},
         "stream": options},
        {"out": os.fspath(out), "data": data_root(data), "device": device, "precision": precision,
         "engine": engine, "threads": torch.get_num_threads() if threads is None else threads,
         "jobs": jobs, "lanes": 0 if lanes is None else lanes}, show)
    if progress is True:
        print(file=sys.stderr)
    for failure in outcome["failures"]:
        warnings.warn(f"sotta.bench: {failure}", RuntimeWarning, stacklevel=2)
    return BenchResult(outcome["file"], outcome["cells"], outcome["earlier"], outcome["averages"],
                       outcome["failures"])


def records(runs: Path) -> List[Dict[str, Any]]:
    """The records of a folder and of those in it, or of one file, a dictionary per run."""
    return [json.loads(line) for line in _core.read_runs(os.fspath(runs))]


def report(runs: Path = "runs", *, out: Optional[Path] = None, formats: Optional[Names] = None,
           against: Optional[Path] = None) -> List[str]:
    """Writes tables and figures of recorded runs beside the paper's; returns the files.

    out: a folder, ``report`` in that of the runs by default.
    formats: of "md", "tex", "csv", "html", "svg"; all by default.
    against: a folder of other records: the report says what changed.
    """
    folder = os.fspath(runs)
    home = folder if os.path.isdir(folder) else os.path.dirname(folder)
    return _core.report(folder, os.path.join(home, "report") if out is None else os.fspath(out),
                        _core.report_formats() if formats is None else _list(formats),
                        "" if against is None else os.fspath(against))
