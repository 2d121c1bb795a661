from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from collections.abc import AsyncIterable, AsyncIterator, Sequence

from .._server_table import BLOB_BYTES_MAX, CALL_CHUNKS_MAX, CHUNK_BYTES_MAX
from .._wire import decoder, or_none
from ..errors import HoldfastError, invalid_input
from ..results import AssembleResult, BlobAssembled, BlobRef, ChunksMissing, ChunksPut, FoundBlob
from ._calls import AsyncCalls

_SENT_UNASKED_MAX = 65_536
_ATTEMPTS_MAX = 3


class AsyncBlobs:
    """Binary content of up to 64 MiB, stored once under its SHA-256. Entries name blobs with `blobs=` in `state.set` and in `SetWrite`.

    What no entry names is kept for one hour after it was last put or named, and then removed."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def put(self, content: bytes | bytearray | memoryview | AsyncIterable[bytes], *, agent: str | None = None) -> BlobRef:
        """Durable when it returns. Of an iterable, a few chunks at a time are in memory. Content that is stored already is not stored again."""
        if isinstance(content, (bytes, bytearray, memoryview)):
            return await self._put_whole(memoryview(content).cast("B"), agent)
        if isinstance(content, str) or not isinstance(content, AsyncIterable):
            raise invalid_input("content", "must be bytes or an iterable of bytes; for asyncio, an asynchronous one")
        return await self._put_stream(content, agent)

    async def get(self, hash: str) -> bytes:
        """The whole content. Raises `not_found` if there is no such blob."""
        return b"".join([chunk async for chunk in self.read(hash)])

    async def read(self, hash: str) -> AsyncIterator[bytes]:
        """Yields the content in order, one chunk in memory at a time."""
        found = await self.find(hash)
        if found is None:
            raise HoldfastError("not_found", f"There is no blob with the hash {hash}.", details={"hash": hash})
        for name in found.chunks:
            chunk = b64decode(await self.read_chunk(name))
            if _hash_of(chunk) != name:
                raise HoldfastError("store_damaged", f"The stored content of {name} is not what its hash says.", details={"hash": name})
            yield chunk

    async def find(self, hash: str) -> FoundBlob | None:
        return await self._calls.call("blobs.find", or_none(decoder(FoundBlob)), hash=hash)

    async def put_chunks(self, chunks: Sequence[str], *, agent: str | None = None, request_key: str | None = None) -> ChunksPut:
        """Stores a few chunks in base64. `put` is made of this and `assemble`."""
        return await self._calls.call("blobs.putChunks", decoder(ChunksPut), chunks=chunks, agent=agent, request_key=request_key)

    async def assemble(
        self,
        *,
        bytes: int,
        chunks: Sequence[str],
        hash: str | None = None,
        contents: Sequence[str] | None = None,
        agent: str | None = None,
        request_key: str | None = None,
    ) -> AssembleResult:
        """Makes a blob of stored chunks, and of `contents` that it stores in the same commit."""
        return await self._calls.call(
            "blobs.assemble",
            decoder(BlobAssembled, ChunksMissing),
            bytes=bytes,
            chunks=chunks,
            hash=hash,
            contents=contents,
            agent=agent,
            request_key=request_key,
        )

    async def read_chunk(self, hash: str) -> str:
        """One chunk in base64; `get` and `read` are made of this and `find`."""
        return await self._calls.call("blobs.readChunk", str, hash=hash)

    async def _put_whole(self, content: memoryview, agent: str | None) -> BlobRef:
        if len(content) > BLOB_BYTES_MAX:
            raise _too_long(len(content))
        pieces = {}
        hashes = []
        for start in range(0, len(content), CHUNK_BYTES_MAX):
            piece = content[start : start + CHUNK_BYTES_MAX]
            hashes.append(_hash_of(piece))
            pieces[hashes[-1]] = piece
        whole = hashes[0] if len(hashes) == 1 else _hash_of(content)
        # Asking first costs a round trip, which is less than sending much for nothing.
        contents = list(pieces.values()) if len(content) <= _SENT_UNASKED_MAX else []
        for _ in range(_ATTEMPTS_MAX + 1):
            result = await self.assemble(bytes=len(content), chunks=hashes, hash=whole, contents=[_text_of(each) for each in contents], agent=agent)
            if isinstance(result, BlobAssembled):
                return BlobRef(hash=result.hash, bytes=result.bytes)
            missing = [pieces[name] for name in result.missing]
            # The last ones are sent along with the list.
            contents = missing[-CALL_CHUNKS_MAX:]
            await self._send([_text_of(each) for each in missing[:-CALL_CHUNKS_MAX]], agent)
        raise _collected()

    async def _put_stream(self, stream: AsyncIterable[bytes], agent: str | None) -> BlobRef:
        hashes: list[str] = []
        size = 0
        rest = bytearray()
        async for given in stream:
            if not isinstance(given, (bytes, bytearray, memoryview)):
                raise invalid_input("content", "must yield bytes")
            piece = memoryview(given).cast("B")
            size += len(piece)
            if size > BLOB_BYTES_MAX:
                raise _too_long(size)
            for start in range(0, len(piece), CHUNK_BYTES_MAX):
                rest += piece[start : start + CHUNK_BYTES_MAX]
                if len(rest) > CALL_CHUNKS_MAX * CHUNK_BYTES_MAX:
                    hashes += await self._send(_chunk_texts(rest[: CALL_CHUNKS_MAX * CHUNK_BYTES_MAX]), agent)
                    del rest[: CALL_CHUNKS_MAX * CHUNK_BYTES_MAX]
        if not hashes:
            return await self._put_whole(memoryview(rest), agent)
        hashes += await self._send(_chunk_texts(rest), agent)
        result = await self.assemble(bytes=size, chunks=hashes, agent=agent)
        if isinstance(result, ChunksMissing):
            raise _collected()
        return BlobRef(hash=result.hash, bytes=result.bytes)

    async def _send(self, texts: Sequence[str], agent: str | None) -> list[str]:
        hashes: list[str] = []
        for start in range(0, len(texts), CALL_CHUNKS_MAX):
            hashes += (await self.put_chunks(texts[start : start + CALL_CHUNKS_MAX], agent=agent)).hashes
        return hashes


def _hash_of(content: bytes | memoryview) -> str:
    return hashlib.sha256(content).hexdigest()


def _text_of(content: bytes | bytearray | memoryview) -> str:
    return b64encode(content).decode("ascii")


def _chunk_texts(content: bytearray) -> list[str]:
    return [_text_of(content[start : start + CHUNK_BYTES_MAX]) for start in range(0, len(content), CHUNK_BYTES_MAX)]


def _too_long(size: int) -> HoldfastError:
    return HoldfastError(
        "limit_exceeded", f"content: a blob may have {BLOB_BYTES_MAX} bytes; this one has {size} or more", details={"field": "content"}
    )


def _collected() -> HoldfastError:
    return HoldfastError(
        "conflict",
        "Parts of the content were removed again before all of it was stored, because putting it took too long.",
        hint="Put it again.",
    )
