#!/usr/bin/env python3
"""Damages TorchScript archives and checkpoints and looks how sotta takes it.

usage: mutate_archives.py SOTTA LOADER GOLDEN [COUNT] [SEED] [KEEP]

SOTTA is the program, LOADER is sotta_load_archives, GOLDEN is tests/golden. Each
of COUNT files (default 60) is a golden archive with some members changed and
zipped anew with right checksums: bytes flipped, cut, swapped; opcodes of pickles
changed; lines of code edited; members missing, doubled or renamed. The same SEED
(default 1) makes the same files.

LOADER tries all of them, each in a process of its own. A file is accepted, or
refused with one sentence; a crash there is what `sotta` must find out before it
loads the file itself, so SOTTA runs on all files that crash LOADER and on a few
of the others, and must end with exit code 0, or 2 and one line on stderr.

Ends with exit code 0 if all of that holds. The files that broke it are copied to
the folder KEEP, if given. 10,000 files take about ten minutes on two cores.
"""
import collections
import concurrent.futures
import os
import pathlib
import pickletools
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile

MOST_SECONDS = 900
MOST_MEMORY = 16 << 30  # of addresses; LibTorch alone takes some gigabytes
BATCH = 200  # files on the disk at a time


# One change to the bytes of a member.


def flip_bytes(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def truncate(data, rng):
    return data[: rng.randrange(len(data) + 1)]


def extend(data, rng):
    return data + rng.randbytes(rng.choice([1, 7, 64]))


def zero(data, rng):
    begin = rng.randrange(len(data) + 1)
    return data[:begin] + bytes(len(data) - begin)


def scramble(data, rng):
    return rng.randbytes(len(data))


def swap_parts(data, rng):
    a, b, c = sorted(rng.randrange(len(data) + 1) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


ANY = [flip_bytes, truncate, extend, zero, scramble, swap_parts]


# Changes to a pickle: whole operations, so that it often stays well formed.


def operations(data):
    places = [place for _, _, place in pickletools.genops(data)] + [len(data)]
    return [data[a:b] for a, b in zip(places, places[1:])]


def drop_operation(data, rng):
    parts = operations(data)
    del parts[rng.randrange(len(parts))]
    return b"".join(parts)


def double_operation(data, rng):
    parts = operations(data)
    i = rng.randrange(len(parts))
    return b"".join(parts[: i + 1] + parts[i:])


def swap_operations(data, rng):
    parts = operations(data)
    i, j = rng.randrange(len(parts)), rng.randrange(len(parts))
    parts[i], parts[j] = parts[j], parts[i]
    return b"".join(parts)


def change_opcode(data, rng):
    parts = operations(data)
    i = rng.randrange(len(parts))
    code = rng.choice(b"(.0NKJMG\x8aXctu]}eaqhQRb)\x81\x85\x88\x89I2rj")
    parts[i] = bytes([code]) + parts[i][1:]
    return b"".join(parts)


def change_argument(data, rng):
    parts = operations(data)
    for _ in range(20):
        i = rng.randrange(len(parts))
        if len(parts[i]) > 1:
            place = rng.randrange(1, len(parts[i]))
            part = bytearray(parts[i])
            part[place] = rng.choice([0, 1, 2, 127, 128, 255, part[place] ^ 1])
            parts[i] = bytes(part)
            break
    return b"".join(parts)


def replace_operation(data, rng):
    parts = operations(data)
    parts[rng.randrange(len(parts))] = rng.choice([
        b"N", b"K\x00", b"K\xff", b"M\xff\xff", b"J\xff\xff\xff\x7f", b"J\xff\xff\xff\xff",
        b"\x88", b"]", b")", b"}", b"X\x01\x00\x00\x00a", b"G\x7f\xf8" + bytes(6),
        b"r\xff\xff\xff\x7f", b"j\xff\xff\xff\x7f", b"ctorch\nQInt8Storage\n",
        b"ctorch\nLongStorage\n", b"ctorch._utils\n_rebuild_tensor_v2\n",
        b"\x8a\x08" + struct.pack("<q", rng.choice([-1, 1 << 40, (1 << 63) - 1])),
        b"\x80\x02" + b"(" * 2000, b")" + b"\x85" * 100000,
    ])
    return b"".join(parts)


PICKLE = [drop_operation, double_operation, swap_operations, change_opcode,
          change_argument, replace_operation]


# Changes to code.


def lines_of(data):
    return data.split(b"\n")


def drop_line(data, rng):
    lines = lines_of(data)
    del lines[rng.randrange(len(lines))]
    return b"\n".join(lines)


def double_line(data, rng):
    lines = lines_of(data)
    i = rng.randrange(len(lines))
    return b"\n".join(lines[: i + 1] + lines[i:])


def swap_lines(data, rng):
    lines = lines_of(data)
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def exchange(data, rng, pattern, choices):
    found = list(re.finditer(pattern, data))
    if not found:
        return data
    place = rng.choice(found)
    return data[: place.start()] + rng.choice(choices) + data[place.end():]


def change_number(data, rng):
    return exchange(data, rng, rb"\d+(\.\d+)?(e-?\d+)?", [
        b"0", b"-1", b"1", b"2", b"3", b"7", b"100", b"65536", b"2147483648", b"1e-05",
        b"9223372036854775807", b"99999999999999999999", b"0.5", b"inf", b"None", b"True"])


def change_word(data, rng):
    words = re.findall(rb"[A-Za-z_]\w*", data) or [b"x"]
    return exchange(data, rng, rb"[A-Za-z_]\w*", [rng.choice(words)])


def change_type(data, rng):
    return exchange(data, rng, rb"Tensor|int|bool|float|NoneType|str|List\[int\]", [
        b"int", b"Tensor", b"Optional[Tensor]", b"List[Tensor]", b"Dict[str, int]", b"float",
        b"Tuple[int, int]", b"NoneType", b"Any", b"Future[int]", b"Device", b"Generator"])


def change_call(data, rng):
    return exchange(data, rng, rb"torch\.\w+", [
        b"torch.relu", b"torch.relu_", b"torch.flatten", b"torch.add_", b"torch.conv2d",
        b"torch.max_pool2d", b"torch.adaptive_avg_pool2d", b"torch.linear", b"torch.view",
        b"torch.batch_norm", b"torch.size", b"torch.detach", b"torch.zeros", b"torch.mul",
        b"torch.as_strided", b"torch.gather", b"torch.unsqueeze", b"torch.__not_there__"])


def change_members_list(data, rng):
    return exchange(data, rng, rb'"[a-z_0-9]+", ', [b"", b'"weight", ', b'"x", ', b'"bias", '])


def nest(data, rng):
    depth = rng.choice([10, 1000, 100000])
    return exchange(data, rng, rb"input\d*|\d+", [b"(" * depth + b"input" + b")" * depth,
                                                 b"-" * depth + b"1", b"[" * depth])


def add_line(data, rng):
    lines = lines_of(data)
    i = rng.randrange(len(lines))
    indent = re.match(rb" *", lines[i]).group()
    lines.insert(i, indent + rng.choice([
        b"while True:", b"pass", b"return input", b"return None", b"x = CONSTANTS.c0",
        b"x = CONSTANTS.c999999999999", b"import os", b"x = self", b'ops.prim.RaiseException("no")',
        b"input = torch.zeros([1000000, 1000000, 1000])", b"x = 1 // 0", b"x = 1 % 0",
        b"input = torch.as_strided(input, [9, 9], [1000000, 1], 0)", b"x : Tensor",
        b"def forward(self, x):", b"class A(Module):", b"\t\0\xff"]))
    return b"\n".join(lines)


CODE = [drop_line, double_line, swap_lines, change_number, change_number, change_word,
        change_type, change_call, change_members_list, nest, add_line]


def mutate_member(name, data, rng):
    if rng.random() < 0.2:
        return rng.choice(ANY)(data, rng)
    if name.endswith((".pkl", ".debug_pkl")):
        try:
            return rng.choice(PICKLE)(data, rng)
        except Exception:  # no pickle any more after an earlier change
            return rng.choice(ANY)(data, rng)
    return rng.choice(CODE if name.endswith(".py") else ANY)(data, rng)


# Changes to the list of members.


def pick(members, rng):
    """A member's place; pickles and code more often than storages."""
    weights = [8 if name.endswith(".pkl") else 4 if name.endswith(".py") else 1
               for name, _, _ in members]
    return rng.choices(range(len(members)), weights)[0]


def change_list(members, rng):
    i, j = pick(members, rng), pick(members, rng)
    name, data, method = members[i]
    kind = rng.choice(["drop", "double", "swap", "rename", "move", "bomb"])
    if kind == "drop":
        del members[i]
    elif kind == "double":
        members.insert(j, (name, mutate_member(name, data, rng), method))
    elif kind == "swap":
        other, other_data, other_method = members[j]
        members[i], members[j] = (name, other_data, method), (other, data, other_method)
    elif kind == "rename":
        members[i] = (name + rng.choice(["x", "/", "\n", "\x1b[2J"]), data, method)
    elif kind == "move":
        members[i] = ("elsewhere/" + name.split("/", 1)[-1], data, method)
    else:
        members[i] = (name, bytes(rng.choice([1 << 16, 1 << 27])), zipfile.ZIP_DEFLATED)


def read_members(path):
    with zipfile.ZipFile(path) as archive:
        return [(entry.filename, archive.read(entry), entry.compress_type)
                for entry in archive.infolist()]


def write_members(path, members):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two members of one name
        with zipfile.ZipFile(path, "w") as archive:
            for name, data, method in members:
                entry = zipfile.ZipInfo(name)
                entry.compress_type = method
                archive.writestr(entry, data)


def make_file(sources, folder, number, seed):
    rng = random.Random(f"{seed}-{number}")
    source = rng.choice(sources)
    path = folder / f"{number}{source.suffix}"
    if not zipfile.is_zipfile(source):
        data = source.read_bytes()
        for _ in range(rng.choice([1, 1, 2])):
            data = rng.choice(ANY)(data, rng)
        path.write_bytes(data)
        return path
    members = read_members(source)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if not members:
            break
        if rng.random() < 0.15:
            change_list(members, rng)
            continue
        i = pick(members, rng)
        name, data, method = members[i]
        members[i] = (name, mutate_member(name, data, rng), method)
    write_members(path, members)
    return path


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def limit_for(sotta):
    """limit_memory, or nothing for a program that needs more to start at all: a sanitizer's."""
    try:
        subprocess.run([sotta, "--version"], preexec_fn=limit_memory, check=True,
                       capture_output=True)
        return limit_memory
    except (subprocess.CalledProcessError, subprocess.SubprocessError):
        return None


def verdicts_of(loader, good, files, limit):
    """What LOADER says of the files, on two cores."""
    processes = []
    for part in (files[0::2], files[1::2]):
        process = subprocess.Popen([loader, good], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   errors="replace", preexec_fn=limit)
        process.stdin.write("".join(f"{file}\n" for file in part))
        process.stdin.close()
        processes.append(process)
    found = {}
    for process in processes:
        for line in process.stdout:
            if line.count("\t") >= 2:
                verdict, name, text = line.rstrip("\n").split("\t", 2)
                found[pathlib.Path(name)] = (verdict, text)
        if process.wait() != 0:
            sys.exit(f"{loader} ended with exit code {process.returncode}")
    return found


def judge_loader(verdict, text):
    """Why this verdict is a failure, or nothing."""
    if verdict == "internal":
        return "an exception that is no sotta::Error: " + text
    if verdict == "refused" and ("\1" in text or ": " not in text or not text.strip()):
        return "no sentence: " + text
    return ""


def judge_program(sotta, file, images, limit):
    command = [sotta, "convert", file, str(file) + ".out"]
    if file.suffix == ".pt":
        command = [sotta, "adapt", "--model", file, "--mean", "0,0,0", "--std", "1,1,1",
                   "--input", images, "--method", "tent", "--window", "2"]
    try:
        ran = subprocess.run(command, capture_output=True, timeout=MOST_SECONDS,
                             preexec_fn=limit, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return f"not done after {MOST_SECONDS} s"
    if ran.returncode == 0:
        return ""
    # What was done until then may stand before it.
    sentence = re.sub(r"^\d+ images, .*\n", "", ran.stderr)
    good = (ran.returncode == 2 and sentence.count("\n") == 1 and sentence.startswith("sotta: ")
            and "internal error" not in sentence and len(sentence) > 20)
    return "" if good else f"exit code {ran.returncode}, said {sentence!r}"


def make_images(path):
    """Two images of 32 x 32, as .npy."""
    header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 32, 32, 3), }"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                     + bytes(i * 37 % 256 for i in range(2 * 32 * 32 * 3)))


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sotta, loader, golden = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    count, seed = (int(text) for text in (sys.argv[4:6] + ["60", "1"][len(sys.argv[4:6]):]))
    keep = pathlib.Path(sys.argv[6]) if len(sys.argv) > 6 else None
    scripts = [golden / "torchscript" / f"{name}.pt" for name in ("scripted", "traced")]
    sources = scripts * 8 + sorted(golden.glob("torchscript/*.pt")) + sorted(
        golden.glob("checkpoints/*.pth"))
    limit = limit_for(sotta)
    sample_every = max(count // 100, 20)

    totals, failures, programs = collections.Counter(), [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        images = folder / "images.npy"
        make_images(images)
        for begin in range(0, count, BATCH):
            numbers = range(begin, min(begin + BATCH, count))
            files = {make_file(sources, folder, i, seed): i for i in numbers}
            found = verdicts_of(loader, scripts[0], list(files), limit)
            doubtful = [file for file, number in files.items()
                        if found.get(file, ("", ""))[0] not in ("accepted", "refused")
                        or number % sample_every == 0]
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                judged = dict(zip(doubtful, pool.map(
                    lambda file: judge_program(sotta, file, images, limit), doubtful)))
            programs += len(judged)
            for file, number in files.items():
                verdict, text = found.get(file, ("silent", ""))
                totals[verdict] += 1
                why = judge_loader(verdict, text) or judged.get(file, "")
                if why:
                    failures.append(f"file {number}{file.suffix} of seed {seed}: {why}")
                    print(failures[-1], flush=True)
                    if keep:
                        keep.mkdir(parents=True, exist_ok=True)
                        shutil.copy(file, keep)
                file.unlink()
            for rest in folder.glob("*.out*"):
                os.unlink(rest)
    print(f"{count} files, seed {seed}: {totals['accepted']} accepted, {totals['refused']} refused, "
          f"{totals['crashed']} stopped by the trial process, {programs} of them through the program; "
          f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
