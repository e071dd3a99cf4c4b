"""What a Parquet file takes in memory, found out before it is read: a run of one value, or one long text that many rows refer to, takes hardly any
room in the file."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet


def stream(data: bytes) -> pa.BufferReader:
    """The bytes in memory of arrow's own: a thread of its pool may let go of them after reading, and where they are Python's while the
    interpreter ends, the process aborts (apache/arrow#49942)."""
    copy = pa.BufferOutputStream()
    copy.write(data)
    return pa.BufferReader(copy.getvalue())


def unpacked_bytes(data: bytes, found: pa.parquet.FileMetaData, limit: int) -> int:
    """The bytes of all columns, or at least those that the file states, where they are beyond the limit already."""
    chunks = [found.row_group(i).column(j) for i in range(found.num_row_groups) for j in range(found.num_columns)]
    schema = found.schema
    widths = [max(schema.column(j).length or 0, 8) for j in range(found.num_columns)] * found.num_row_groups
    stated: int = sum(found.row_group(i).total_byte_size for i in range(found.num_row_groups))
    values: int = sum(chunk.num_values * width for chunk, width in zip(chunks, widths, strict=True))
    texts = [chunk for chunk in chunks if chunk.physical_type == "BYTE_ARRAY"]
    # no text is longer than the pages of its column
    longest = sum(chunk.num_values * chunk.total_uncompressed_size for chunk in texts)
    if max(stated, values) > limit or values + longest <= limit:
        return max(stated, values)
    paths = sorted({chunk.path_in_schema for chunk in texts})
    # as dictionaries, each text once, however many rows refer to it
    table = pa.parquet.ParquetFile(stream(data), read_dictionary=paths).read(columns=paths)
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
