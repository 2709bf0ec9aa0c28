"""Headers of safetensors files with the standard library: names, shapes, bytes."""
import json, math, pathlib, struct


def files(folder):
    return sorted(pathlib.Path(folder).glob("*.safetensors"))


def header(path):
    """Name to {dtype, shape, data_offsets}, and where the data begins."""
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        entries = json.loads(f.read(size))
    entries.pop("__metadata__", None)
    return entries, 8 + size


def sizes(folder):
    """Name to bytes of every tensor in the folder's safetensors files."""
    return {name: e["data_offsets"][1] - e["data_offsets"][0] for path in files(folder) for name, e in header(path)[0].items()}


def parameters(folder):
    """Name to number of elements."""
    return {name: math.prod(e["shape"]) for path in files(folder) for name, e in header(path)[0].items()}
