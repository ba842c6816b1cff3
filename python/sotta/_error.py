"""The one exception of the library."""
import operator
from typing import Any


class Error(RuntimeError):
    """What the library refuses, in one sentence.

    ``kind`` says what to do about it: "invalid" (an argument is out of its range), "not_found"
    (a file, dataset, device or name does not exist), "bad_format" (a file contradicts its format),
    "unsupported" (a valid request that this build cannot serve) or "io" (the system refused to
    read or write).
    """

    kind: str

    def __init__(self, message: str, kind: str = "invalid") -> None:
        super().__init__(message, kind)
        self.kind = kind

    def __str__(self) -> str:
        return str(self.args[0])


def as_whole(value: Any, name: str) -> int:
    """The value as an int; NumPy's are some too."""
    try:
        number = operator.index(value)
    except TypeError:
        raise Error(f"{name}: expected a whole number, got {value!r}") from None
    if not -2**63 <= number < 2**63:
        raise Error(f"{name}: expected a number that fits 64 bits, got {number}")
    return number


def as_text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise Error(f"{name}: expected text, got {value!r}")
    return value
