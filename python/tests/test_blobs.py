"""Binary content, put and read back through a real server."""

from __future__ import annotations

import asyncio
import hashlib
import unittest
from collections.abc import AsyncIterator, Iterator

import holdfast.aio
from holdfast import HoldfastError, SetWrite
from holdfast._server_table import BLOB_BYTES_MAX, CHUNK_BYTES_MAX
from holdfast.results import BlobRef, StateCommitted, StateSet
from support import PROXY, URL, connect, control, namespace

SIZES = [0, 1, 65_537, CHUNK_BYTES_MAX, CHUNK_BYTES_MAX + 1, 5 * CHUNK_BYTES_MAX + 77]


def content_of(size: int, seed: int = 1) -> bytes:
    return b"".join(hashlib.sha256(b"%d-%d" % (seed, i)).digest() for i in range(size // 32 + 1))[:size]


def in_pieces(content: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


class Blobs(unittest.TestCase):
    def test_content_of_any_size_comes_back_byte_for_byte(self) -> None:
        with connect() as client:
            for i, size in enumerate(SIZES):
                content = content_of(size, i)
                ref = BlobRef(hash=hashlib.sha256(content).hexdigest(), bytes=size)
                ways: list[bytes | bytearray | Iterator[bytes]] = [content, in_pieces(content, 100_003), bytearray(content), in_pieces(content, 2_000_001)]
                for way in ways if i % 2 == 0 else reversed(ways):
                    self.assertEqual(client.blobs.put(way), ref)
                self.assertEqual(client.blobs.get(ref.hash), content)
                self.assertEqual(b"".join(client.blobs.read(ref.hash)), content)

    def test_asyncio_does_the_same(self) -> None:
        async def main() -> None:
            async with await holdfast.aio.connect(URL, namespace=namespace()) as client:
                content = content_of(9 * CHUNK_BYTES_MAX + 5)

                async def stream() -> AsyncIterator[bytes]:
                    for piece in in_pieces(content, 1_000_000):
                        yield piece

                ref = await client.blobs.put(stream())
                self.assertEqual(ref, await client.blobs.put(content))
                self.assertEqual(await client.blobs.get(ref.hash), content)

        asyncio.run(main())

    def test_entries_name_blobs_that_are_there(self) -> None:
        with connect() as client:
            ref = client.blobs.put(b"hello")
            absent = hashlib.sha256(b"absent").hexdigest()
            self.assertIsInstance(client.state.set("a", 1, blobs=[ref.hash]), StateSet)
            self.assertIsInstance(client.state.commit([SetWrite(key="b", value=2, blobs=(ref.hash,))]), StateCommitted)
            for write in (lambda: client.state.set("a", 2, blobs=[absent]), lambda: client.state.commit([SetWrite(key="b", value=3, blobs=[absent])])):
                with self.assertRaises(HoldfastError) as caught:
                    write()
                self.assertEqual((caught.exception.code, caught.exception.details["hash"]), ("invalid_input", absent))
            with self.assertRaises(HoldfastError) as caught:
                client.blobs.get(absent)
            self.assertEqual(caught.exception.code, "not_found")

    def test_what_is_no_content_or_too_long_is_refused(self) -> None:
        with connect() as client:
            for content, code in ((b"x" * (BLOB_BYTES_MAX + 1), "limit_exceeded"), ("text", "invalid_input"), (["text"], "invalid_input"), (None, "invalid_input")):
                with self.assertRaises(HoldfastError) as caught:
                    client.blobs.put(content)  # type: ignore[arg-type]
                self.assertEqual((caught.exception.code, caught.exception.details["field"]), (code, "content"))

    def test_content_survives_answers_that_are_lost(self) -> None:
        self.addCleanup(control, "heal")
        with connect(PROXY) as client:
            content = content_of(6 * CHUNK_BYTES_MAX)
            control("fault", {"kind": "cut-answers", "afterBytes": 20, "times": 3})
            ref = client.blobs.put(in_pieces(content, 500_000))
            self.assertEqual(client.blobs.get(ref.hash), content)


if __name__ == "__main__":
    unittest.main()
