"""Numbers as people write them."""

from __future__ import annotations

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def grouped(whole: int) -> str:
    """Return an integer in groups of three digits."""
    return f"{whole:,}".replace(",", "\u202f")


def count(whole: int, thing: str, things: str | None = None) -> str:
    """Return a number of things.

    Examples
    --------
    >>> count(1, "point"), count(2, "query", "queries")
    ('1 point', '2 queries')
    """
    return f"{grouped(whole)} {thing if whole == 1 else things or thing + 's'}"


def number(real: float, digits: int = 4) -> str:
    """Return a number to this many digits, with a true minus.

    Examples
    --------
    >>> number(-0.12345), number(1e-9)
    ('−0.1235', '1 × 10⁻⁹')
    >>> number(1.2e-14, 2), number(-2e6, 2)
    ('1.2 × 10⁻¹⁴', '−2 × 10⁶')
    """
    if 10.0**digits <= abs(real) < 1e6:
        return grouped(round(real)).replace("-", "−")
    if real == 0 or 1e-4 <= abs(real) < 1e6:
        return f"{real:.{digits}g}".replace("-", "−")
    factor, _, exponent = f"{real:.{digits - 1}e}".partition("e")
    factor = factor.rstrip("0").rstrip(".") if "." in factor else factor
    return f"{factor} × 10{str(int(exponent)).translate(_RAISED)}".replace("-", "−")
