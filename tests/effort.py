"""How hard the tests try: the profile says, each test in proportion.

python -m pytest                             a fifth of the examples, for a quick answer
python -m pytest --hypothesis-profile=ci     all of them
python -m pytest --hypothesis-profile=search ten times as many, other ones in every run

The first two draw the same examples in every run, so that what was green stays green until something changes.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

FULL = 100  # examples of a property that does not ask for more or fewer, where nothing is spared

# Compilation happens inside the first example of a property, which would look like a slow one.
_PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}


def load_profiles() -> None:
    """Make the profiles known, and choose the quick one."""
    settings.register_profile("quick", max_examples=FULL // 5, derandomize=True, **_PATIENT)
    settings.register_profile("ci", max_examples=FULL, derandomize=True, **_PATIENT)
    settings.register_profile("search", max_examples=10 * FULL, **_PATIENT)
    settings.load_profile("quick")


def examples(count: int, **others: Any) -> settings:
    """Return settings for a property that deserves so many examples where nothing is spared."""
    share = settings.default.max_examples / FULL
    return settings(max_examples=max(min(count, 5), round(count * share)), **others)
