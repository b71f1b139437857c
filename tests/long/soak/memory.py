"""How the memory of a process grows with what it does."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Growth"]

_MEGABYTE = 1 << 20
_SETTLED = 0.25  # of the samples: caches fill before that


@dataclass
class Growth:
    """Samples of (compilations so far, bytes resident)."""

    samples: list[tuple[int, int]] = field(default_factory=list)

    def add(self, compilations: int, resident: int) -> None:
        if resident:
            self.samples.append((compilations, resident))

    def per_thousand(self) -> float:
        """Bytes for each thousand compilations, by least squares, once caches are full."""
        settled = self.samples[int(len(self.samples) * _SETTLED) :]
        count = len(settled)
        if count < 2:
            return 0.0
        mean_x = sum(x for x, _ in settled) / count
        mean_y = sum(y for _, y in settled) / count
        spread = sum((x - mean_x) ** 2 for x, _ in settled)
        return sum((x - mean_x) * (y - mean_y) for x, y in settled) / spread * 1000 if spread else 0.0

    def __str__(self) -> str:
        if not self.samples:
            return "not measured"
        first, last = self.samples[int(len(self.samples) * _SETTLED)][1], self.samples[-1][1]
        return (
            f"{self.samples[0][1] / _MEGABYTE:.0f} MB at first, {first / _MEGABYTE:.0f} MB settled, "
            f"{last / _MEGABYTE:.0f} MB at last, {self.per_thousand() / 1024:+.0f} KB per 1,000 compilations"
        )
