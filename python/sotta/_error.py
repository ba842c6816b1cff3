"""The one exception of the library."""


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
