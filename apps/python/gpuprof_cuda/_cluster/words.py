"""Numbers and names as words."""

from __future__ import annotations


def printable(text: str) -> str:
    """Without characters that a terminal would obey."""
    return "".join(
        c if c.isprintable() else f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}"
        for c in text
    )


def ns(value: float) -> str:
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value:.0f} ns"


def numbered(word: str, numbers: list[int]) -> str:
    """rank 3, ranks 3 and 5, ranks 1, 2, 3 and 12 more"""
    if len(numbers) == 1:
        return f"{word} {numbers[0]}"
    shown = list(map(str, numbers[:8]))
    if len(numbers) > 8:
        return f"{word}s {', '.join(shown)} and {len(numbers) - 8} more"
    return f"{word}s {', '.join(shown[:-1])} and {shown[-1]}"


def is_are(numbers: list[int]) -> str:
    return "is" if len(numbers) == 1 else "are"
