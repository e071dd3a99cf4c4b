"""Arrays in files without a name: filled like any other, refused in a sentence where the disk has no room; and tensors
written one by one are what safetensors reads.
"""

import os

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from llwlc._support import mapped_arrays
from llwlc._support.files import write_tensors
from llwlc.errors import StorageError


@pytest.mark.parametrize("reserved", [True, False])
def test_a_mapped_array_is_filled_like_any_other_and_leaves_no_file(tmp_path, monkeypatch, reserved):
    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path / "new" / "cache"))
    if not reserved:
        monkeypatch.delattr(os, "posix_fallocate")
    found = mapped_arrays.allocate_array((300_000, 2), torch.int64, mapped=True)
    found[:] = torch.arange(600_000).reshape(-1, 2)
    assert torch.equal(found, torch.arange(600_000).reshape(-1, 2))
    assert mapped_arrays.allocate_array((0, 2), torch.float32, mapped=True).shape == (0, 2)
    assert not list((tmp_path / "new" / "cache").iterdir())


def test_a_disk_without_room_is_an_error_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mapped_arrays, "_reserve", full)
    with pytest.raises(StorageError, match=r"No space left on device.*LLWLC_CACHE"):
        mapped_arrays.allocate_array((10,), torch.int64, mapped=True)
    assert not list(tmp_path.iterdir())


def test_tensors_written_one_by_one_are_what_safetensors_reads(tmp_path):
    types = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    floats = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
    tensors = {f"t {dtype}": torch.arange(7).to(dtype) for dtype in (*types, *floats)}
    tensors |= {
        "none": torch.zeros(0, 2),
        "one": torch.tensor(2.5),
        "turned": torch.rand(3, 5).T,
        "ü": torch.ones(2, 2),
    }
    tensors |= {"same": tensors["ü"]}  # shared memory is written twice
    write_tensors(tmp_path / "t.safetensors", tensors, {"about": '{"a": "ü"}', "seed": "3"})
    found = load_file(tmp_path / "t.safetensors")
    assert set(found) == set(tensors)
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor), name
    with safe_open(tmp_path / "t.safetensors", "pt") as file:
        assert file.metadata() == {"about": '{"a": "ü"}', "seed": "3"}
