"""The .om container: the header and both table forms, and every way their lengths can lie."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aacl.errors import ModelDataError
from aacl.models._om import HEADER_SIZE, MAGIC, OmFile, Partition, PartitionType, om_pieces, read_om

PARTITIONS = (
    Partition(PartitionType.MODEL_DEF, (b"definition",)),
    Partition(PartitionType.WEIGHTS_DATA, (b"w" * 100,)),
)


def joined(models: Sequence[Sequence[Partition]], *, name: str = "net", is_dynamic: bool = False) -> bytes:
    return b"".join(om_pieces(models, name=name, is_dynamic=is_dynamic))


def contents(file: OmFile) -> list[list[tuple[int, bytes]]]:
    return [[(part.type, bytes(part.data)) for part in model] for model in file.models]


def short_form(partitions: Sequence[tuple[int, bytes]], *, version: int = 0x20000000, model_num: int = 1) -> bytes:
    """Lay out a file by the published offsets, with the short table form and the 32-bit length."""
    body, offset = struct.pack("<I", len(partitions)), 0
    for kind, data in partitions:
        body += struct.pack("<III", kind, offset, len(data))
        offset += len(data)
    body += b"".join(data for _, data in partitions)
    header = bytearray(HEADER_SIZE)
    struct.pack_into("<4sII", header, 0, MAGIC, HEADER_SIZE, version)
    struct.pack_into("<I", header, 76, len(body))
    struct.pack_into("<I", header, 156, model_num)
    return bytes(header) + body


def test_header_has_the_published_offsets() -> None:
    """Magic, head size, version, name, model count, payload length and the dynamic flag lie where the real file has them."""
    data = joined([PARTITIONS], name="resnet", is_dynamic=True)

    assert data[:4] == b"IMOD"
    assert struct.unpack_from("<II", data, 4) == (256, 0x20000000)
    assert data[84:116].rstrip(b"\0") == b"resnet"
    assert struct.unpack_from("<I", data, 156) == (1,)
    assert struct.unpack_from("<Q", data, 184) == (len(data) - 256,)
    assert data[193] == 1


def test_table_has_the_long_form() -> None:
    """The table is {u32 count, u32 pad, count x {u32 type, u32 pad, u64 offset, u64 size}}; offsets count from its end."""
    data = joined([PARTITIONS])

    assert struct.unpack_from("<II", data, 256) == (2, 0)
    assert struct.unpack_from("<IIQQ", data, 264) == (0, 0, 0, 10)
    assert struct.unpack_from("<IIQQ", data, 288) == (1, 0, 10, 100)
    assert data[312:322] == b"definition"


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2**32 - 1), st.binary(max_size=40)), min_size=1, max_size=5),
        min_size=1,
        max_size=4,
    ),
    st.text(max_size=40),
    st.booleans(),
)
def test_what_is_written_is_read(models: list[list[tuple[int, bytes]]], name: str, is_dynamic: bool) -> None:
    """Any number of models and partitions, empty ones too, comes back as it was written."""
    data = joined(
        [[Partition(kind, (body,)) for kind, body in model] for model in models], name=name, is_dynamic=is_dynamic
    )

    file = read_om(data)

    assert contents(file) == models
    assert file.is_dynamic == is_dynamic


def test_partition_in_pieces_is_one_partition() -> None:
    """A partition given in pieces lies in the file as one."""
    data = joined([[Partition(7, (b"ab", b"", memoryview(b"cde")))]])

    assert contents(read_om(data)) == [[(7, b"abcde")]]


def test_partitions_are_views_of_the_file() -> None:
    """Reading copies nothing: a partition shares the file's memory."""
    data = bytearray(joined([PARTITIONS]))

    file = read_om(memoryview(data))
    data[-1] = ord("z")

    assert bytes(file.models[0][1].data[-2:]) == b"wz"


@pytest.mark.parametrize("partitions", [[(0, b"def")], [(0, b""), (1, b"weights"), (2, b"tasks")]])
def test_short_table_form_is_read(partitions: list[tuple[int, bytes]]) -> None:
    """Files without a 64-bit length have the short table form."""
    assert contents(read_om(short_form(partitions))) == [partitions]


def test_long_form_without_a_64_bit_length_is_read() -> None:
    """Where only the 32-bit length is set, the form whose sums meet the payload's length is taken."""
    data = bytearray(joined([PARTITIONS]))
    struct.pack_into("<Q", data, 184, 0)

    assert contents(read_om(bytes(data))) == [[(0, b"definition"), (1, b"w" * 100)]]


def test_old_version_holds_one_model() -> None:
    """Before version 0x20000000 the model count means nothing."""
    assert contents(read_om(short_form([(0, b"def")], version=0x10000000, model_num=77))) == [[(0, b"def")]]


def test_model_count_zero_means_one() -> None:
    """0 and 1 both mean one model."""
    assert contents(read_om(short_form([(0, b"def")], model_num=0))) == [[(0, b"def")]]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ["empty", "atc"]),
        (b"\x08\x08\x12\x07pytorch", ["an ONNX model", "atc --model"]),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n", ["git-lfs pointer", "git lfs pull"]),
        (b"PK\x03\x04abc", ["zip archive"]),
        (b'  {"a": 1}', ["JSON"]),
        (b"<!DOCTYPE html>", ["HTML"]),
        (b"\x00\xff garbage", ["not an .om file", "garbage"]),
        (b"IMOD", ["cut short", "4 bytes"]),
    ],
)
def test_foreign_bytes_are_named(data: bytes, words: list[str]) -> None:
    """Bytes of another kind are refused with what they are and what to do."""
    with pytest.raises(ModelDataError) as caught:
        read_om(data)

    assert [word for word in words if word not in str(caught.value)] == []


@given(st.data())
def test_cut_file_is_refused(data: st.DataObject) -> None:
    """A file that lacks any number of bytes at its end is refused."""
    whole = joined([PARTITIONS, PARTITIONS])
    cut = data.draw(st.integers(0, len(whole) - 1))

    with pytest.raises(ModelDataError):
        read_om(whole[:cut])


@given(st.integers(0, 255), st.integers(0, 75), st.integers(0, 255))
def test_damaged_tables_raise_nothing_else(first: int, offset: int, second: int) -> None:
    """Damage to the table or the header gives a model, or a ModelDataError, never another failure."""
    data = bytearray(joined([PARTITIONS]))
    data[HEADER_SIZE + offset % 56] = first
    data[150 + offset] = second
    try:
        file = read_om(bytes(data))
    except ModelDataError:
        return

    assert sum(part.nbytes for model in file.models for part in model) <= len(data)


def test_trailing_bytes_are_refused() -> None:
    """Bytes behind the last partition make the length wrong, and both numbers are named."""
    data = joined([PARTITIONS])

    with pytest.raises(ModelDataError, match=f"{len(data) - 256} bytes.*{len(data) - 253}"):
        read_om(data + b"abc")


def test_partition_outside_the_file_is_refused() -> None:
    """A partition that runs past the end is named with its size and offset."""
    data = bytearray(joined([PARTITIONS]))
    struct.pack_into("<Q", data, 288 + 16, 101)

    with pytest.raises(ModelDataError, match=r"partition 1 .*101 bytes at offset 10"):
        read_om(bytes(data))


def test_encrypted_file_is_refused() -> None:
    """An encrypted file is refused as such."""
    data = bytearray(joined([PARTITIONS]))
    data[80] = 1

    with pytest.raises(ModelDataError, match="encrypted"):
        read_om(bytes(data))
