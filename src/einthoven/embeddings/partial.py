"""An embedding pass that was stopped goes on where it was: batches on disk, each with its digest."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from types import TracebackType

import numpy as np

ARRAY = "embeddings.npy"
_BATCHES = "batches.txt"


class PartialArray:
    """A float32 (records, dimension) .npy file that grows batch by batch and survives a kill.

    Beside the array lies one digest for each whole batch, written after the batch. What was written before is trusted
    only as far as the digests hold, so a file that a crash of the machine left with holes is cut back to its sound
    part. Batches always begin at multiples of the batch size: a pass that was stopped and one that was not give the
    same bytes. Use under a lock.

    Args:
        folder: of the unfinished array; created if need be.
        records, dimension: of the whole array.
        batch_size: records a batch; a pass that was begun with another size is begun anew.
    """

    def __init__(self, folder: Path, *, records: int, dimension: int, batch_size: int) -> None:
        self._folder = folder
        self._shape = (records, dimension)
        self._batch_size = batch_size
        folder.mkdir(parents=True, exist_ok=True)
        heading = f"{records} {dimension} {batch_size}\n"
        digests = self._sound_digests(heading)
        self.rows = min(len(digests) * batch_size, records)
        """Records that are on disk already."""
        self._array = self.path.open("r+b" if digests else "w+b")
        # Plain writes rather than a writable memory map: a full disk is then an OSError, not a killed process.
        header = {"descr": "<f4", "fortran_order": False, "shape": self._shape}
        np.lib.format.write_array_header_1_0(self._array, header)
        self._array.seek(self.rows * dimension * 4, 1)
        self._array.truncate()
        self._digests = (folder / _BATCHES).open("w", encoding="ascii")
        self._digests.write(heading + "".join(f"{digest}\n" for digest in digests))
        self._digests.flush()

    @property
    def path(self) -> Path:
        """The .npy file."""
        return self._folder / ARRAY

    def append(self, batch: np.ndarray) -> None:
        """Write the next batch: `batch_size` records, fewer only at the end."""
        content = np.ascontiguousarray(batch, dtype="<f4").tobytes()
        self._array.write(content)
        self._array.flush()
        self._digests.write(hashlib.sha256(content).hexdigest() + "\n")
        self._digests.flush()
        self.rows += len(batch)

    def discard(self) -> None:
        """Remove everything."""
        self.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        """Close the files; what is written stays."""
        self._array.close()
        self._digests.close()

    def __enter__(self) -> PartialArray:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, OSError | MemoryError):
            # The data or the encoder are at fault, and whoever mends them must not get rows from before. A full disk,
            # too little memory, Ctrl-C and a kill say nothing against the rows that are there.
            self.discard()
        else:
            self.close()

    def _sound_digests(self, heading: str) -> list[str]:
        try:
            lines = (self._folder / _BATCHES).read_text(encoding="ascii").splitlines(keepends=True)
            stream = self.path.open("rb")
        except (FileNotFoundError, UnicodeDecodeError):
            return []
        if not lines or lines[0] != heading:
            stream.close()
            return []
        records, dimension = self._shape
        sound: list[str] = []
        with stream:
            try:
                np.lib.format.read_magic(stream)
                np.lib.format.read_array_header_1_0(stream)
            except ValueError:
                return []
            for number, line in enumerate(lines[1:]):
                rows = min(self._batch_size, records - number * self._batch_size)
                content = stream.read(rows * dimension * 4)
                if hashlib.sha256(content).hexdigest() + "\n" != line:
                    break
                sound.append(line.strip())
        return sound
