from __future__ import annotations

from hypothesis import HealthCheck, settings

# Compilation happens inside the first example of a property, which would look like a slow one.
settings.register_profile("pivotal", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pivotal")
