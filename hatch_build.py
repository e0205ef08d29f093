"""Addresses of the project in a wheel's metadata: those of the repository whose workflow builds it, and no others."""

from __future__ import annotations

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PAPER_CODE = "https://github.com/Guangyi-Zhang/knn-banzhaf-code"


class CustomMetadataHook(MetadataHookInterface):
    """Fills in `urls`, which `pyproject.toml` declares as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """A fork's release names the fork; a build elsewhere knows no address of this code and names none."""
        metadata["urls"] = {"Code of the paper": _PAPER_CODE}
        repository = os.environ.get("GITHUB_REPOSITORY")
        if not repository:
            return
        home = f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{repository}"
        owner, name = repository.split("/")
        metadata["urls"] |= {
            "Homepage": home,
            "Documentation": f"https://{owner}.github.io/{name}/",
            "Changelog": f"{home}/blob/main/CHANGELOG.md",
            "Issues": f"{home}/issues",
        }
