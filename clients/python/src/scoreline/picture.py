"""Expected scores against given ones, as a small picture."""

from __future__ import annotations

from collections.abc import Sequence

_SIDE = 260
_EDGE = 44
#: Dots on the line, of the applicants who agree.
_DOTS_MAX = 400


def drawn(
    expected: Sequence[float], off: Sequence[tuple[float, float]], differing: int
) -> str | None:
    """Draw applicants: dots on the line agree, rings off it differ.

    Args:
        expected: scores of all applicants.
        off: expected and given scores of those that differ, as far as they are known.
        differing: how many differ.

    Returns:
        SVG; None without applicants.

    """
    ends = [*expected, *(one for pair in off for one in pair)]
    if not ends:
        return None
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0

    def at(value: float) -> float:
        return (value - low) / span * _SIDE

    step = max(1, len(expected) // _DOTS_MAX)
    dots = "".join(
        f'<circle cx="{at(one):.1f}" cy="{_SIDE - at(one):.1f}" r="2" fill="#457b9d"/>'
        for one in sorted(expected)[::step]
    )
    rings = "".join(
        f'<circle cx="{at(x):.1f}" cy="{_SIDE - at(y):.1f}" r="4" fill="none" stroke="#c1121f"/>'
        for x, y in off
    )
    more = differing - len(off)
    said = f"{differing} differ" + (f", {more} of them not drawn" if more > 0 else "")
    size = _SIDE + 2 * _EDGE
    label = 'font-size="11" fill="currentColor"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" role="img" '
        f'aria-label="Expected against given scores: {said}">'
        f'<g transform="translate({_EDGE} {_EDGE})">'
        f'<rect width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#999"/>'
        f'<line x1="0" y1="{_SIDE}" x2="{_SIDE}" y2="0" stroke="#999"/>{dots}{rings}'
        f'<text x="0" y="{_SIDE + 16}" {label}>{low:.4g}</text>'
        f'<text x="{_SIDE}" y="{_SIDE + 16}" text-anchor="end" {label}>{high:.4g}</text>'
        f'<text x="{_SIDE / 2}" y="{_SIDE + 32}" text-anchor="middle" {label}>expected</text>'
        f'<text x="0" y="-8" {label}>given; {said}</text></g></svg>'
    )
