"""Reference outcomes kept between runs, by job and by the library that gave them."""

from __future__ import annotations

import json
from pathlib import Path

from evidence.conformance.job import Job, Outcome


class ReferenceCache:
    """A file of JSON lines, one for each outcome; appended to as they come. A context manager."""

    def __init__(self, folder: Path, build_id: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"reference-{build_id[:16]}.jsonl"
        self._known: dict[str, Outcome] = {}
        if self._path.exists():
            for line in self._path.read_text().splitlines():
                key, kind, digest, _, text = json.loads(line)  # the fourth is of older versions
                self._known[key] = Outcome(kind, digest, text=text)
        self._file = self._path.open("a")

    def __enter__(self) -> ReferenceCache:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def get(self, job: Job) -> Outcome | None:
        return self._known.get(job.key())

    def put(self, job: Job, outcome: Outcome) -> None:
        key = job.key()
        self._known[key] = outcome
        self._file.write(json.dumps([key, outcome.kind, outcome.digest, "", outcome.text]) + "\n")
        self._file.flush()
