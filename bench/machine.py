"""What a machine is, and which of its cores a benchmark should use."""
import os
import platform
import subprocess

# What makes a processor fast at convolutions, in /proc/cpuinfo's words.
INSTRUCTIONS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16", "amx_int8", "amx_fp16")


def read(path, otherwise=""):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return otherwise


def describe(cpuinfo=None):
    """Processor, cores that this process may use, and instruction sets."""
    text = read("/proc/cpuinfo") if cpuinfo is None else cpuinfo
    lines = [line.partition(":") for line in text.splitlines()]
    values = {name.strip(): value.strip() for name, _, value in reversed(lines)}
    flags = set(values.get("flags", "").split())
    return {"processor": values.get("model name", platform.machine()),
            "family": values.get("cpu family", ""), "model": values.get("model", ""),
            "cores": len(os.sched_getaffinity(0)),
            "instructions": [name for name in INSTRUCTIONS if name in flags]}


def numbers(text):
    """The numbers of a list such as "0-2,8"."""
    found = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def siblings(core):
    """The threads of the physical core that this one belongs to, as far as is known."""
    place = f"/sys/devices/system/cpu/cpu{core}/topology/"
    text = read(place + "core_cpus_list") or read(place + "thread_siblings_list")
    return numbers(text) if text.strip() else [core]


def spread(cores, siblings_of=siblings):
    """The cores in an order in which every physical one comes once before any
    comes twice, and how many physical ones there are."""
    first, others, seen = [], [], set()
    for core in sorted(cores):
        if core in seen:
            others.append(core)
        else:
            first.append(core)
            seen.update(siblings_of(core))
    return first + others, len(first)


def gpu():
    """Name and driver of the first GPU; empty where there is none."""
    return query_gpu("name,driver_version")


def gpu_memory_used():
    """Megabytes of the first GPU's memory in use; None where there is none."""
    text = query_gpu("memory.used")
    return int(text) if text.isdigit() else None


def query_gpu(fields):
    try:
        return subprocess.run(
            ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits", "--id=0"],
            capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
