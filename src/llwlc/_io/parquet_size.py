"""The memory that a Parquet file needs, computed before it is read: one value repeated often, or one long text that
many rows refer to, takes little space in the file and much in memory."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from llwlc._io.parquet_pages import page_bytes


def copy_to_arrow(data: bytes) -> pa.BufferReader:
    """The bytes copied into arrow's own memory. A thread of arrow's pool may release them after reading; if they belong
    to Python and the interpreter is shutting down, the process aborts (apache/arrow#49942)."""
    copy = pa.BufferOutputStream()
    copy.write(data)
    return pa.BufferReader(copy.getvalue())


def unpacked_bytes(data: bytes, found: pa.parquet.FileMetaData, limit: int) -> int:
    """The bytes of all columns in memory; if the sizes that the file states are beyond the limit already, the sum of
    those.

    The statistics of column chunks are not read: damaged ones make arrow abort the process.
    """
    groups = [found.row_group(i) for i in range(found.num_row_groups)]
    columns = [found.schema.column(j) for j in range(found.num_columns)]
    sizes = [max(group.total_byte_size, pages) for group, pages in zip(groups, page_bytes(data), strict=True)]
    stated: int = sum(sizes)
    values: int = found.num_rows * sum(max(column.length or 0, 8) for column in columns)
    texts = [column for column in columns if column.physical_type == "BYTE_ARRAY"]
    # no text is longer than the pages that hold it; a list may hold any number of them
    longest = sum(group.num_rows * size for group, size in zip(groups, sizes, strict=True))
    lists = any(column.max_repetition_level for column in texts)
    if max(stated, values) > limit or not texts or (values + longest <= limit and not lists):
        return max(stated, values)
    paths = [column.path for column in texts]
    # as dictionaries, each text once, however many rows refer to it
    table = pa.parquet.ParquetFile(copy_to_arrow(data), read_dictionary=paths).read(columns=paths)
    return max(stated, values + sum(_text_bytes(chunk) for column in table.columns for chunk in column.chunks))


def _text_bytes(array: pa.Array) -> int:
    """The bytes of all texts, written out, also of those inside lists and structures."""
    if pa.types.is_dictionary(array.type):
        lengths = pc.binary_length(array.dictionary).take(array.indices)
        return int(pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0)
    if pa.types.is_struct(array.type):
        return sum(_text_bytes(part) for part in array.flatten())
    if pa.types.is_map(array.type):
        return _text_bytes(array.keys) + _text_bytes(array.items)
    return _text_bytes(array.flatten()) if pa.types.is_nested(array.type) else int(array.nbytes)
