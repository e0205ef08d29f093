"""What is said of a release in more than one place is the same everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "conda" / "recipe.yaml").is_file():
    pytest.skip("the recipe is not here", allow_module_level=True)


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def recipe(section: str) -> set[str]:
    """What the conda recipe requires in a section, written as pip writes it."""
    text = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    python = re.search(r'^  python_min: "(3\.\d+)"$', text, flags=re.MULTILINE)[1]
    text = text.replace("${{ python_min }}", python)
    lines = re.search(rf"^  {section}:\n((?:    - .+\n)+)", text, flags=re.MULTILINE)[1]
    return {line.strip().removeprefix("- ").replace(" ", "") for line in lines.splitlines()}


def test_the_conda_recipe_asks_for_what_the_wheel_asks_for(project):
    about = project["project"]
    lowest = about["requires-python"].removeprefix(">=")
    assert recipe("run") == {*about["dependencies"], f"python>={lowest}"}
    assert recipe("host") == {*project["build-system"]["requires"], "pip", f"python{lowest}.*"}


def test_conda_reads_the_recipe(project, monkeypatch):
    conda = pytest.importorskip("rattler_build", reason="py-rattler-build is not installed")
    monkeypatch.setenv("PIVOTAL_VERSION", "1.2.3")
    source = conda.Stage0Recipe.from_file(str(ROOT / "conda" / "recipe.yaml"))
    (variant,) = source.render(conda.VariantConfig(), conda.RenderConfig())
    found = variant.recipe.to_dict()
    assert found["package"] == {"name": "pivotal", "version": "1.2.3"}
    assert found["build"]["script"]["env"] == {"SETUPTOOLS_SCM_PRETEND_VERSION": "1.2.3"}
    entries = {f"{name} = {target}" for name, target in project["project"]["scripts"].items()}
    assert set(found["build"]["python"]["entry_points"]) == entries
    assert found["about"]["license"] == project["project"]["license"]
    licences = {str(file.relative_to(ROOT)) for glob in project["project"]["license-files"] for file in ROOT.glob(glob)}
    assert {name for name in found["about"]["license_file"] if (ROOT / name).exists()} == licences


def test_every_python_that_is_promised_is_tested(project):
    promised = set(re.findall(r"Python :: (3\.\d+)", "\n".join(project["project"]["classifiers"])))
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    matrix = re.search(r"^ +python: \[(.+)\]$", workflow, flags=re.MULTILINE)[1]
    assert set(re.findall(r"3\.\d+", matrix)) == promised
    lowest = re.search(r"python: \"(3\.\d+)\", dependencies: lowest", workflow)[1]
    assert f">={lowest}" == project["project"]["requires-python"]


def test_workflows_and_continuous_integration_test_the_wheel_by_one_script():
    script = ".ci/versions"
    workflows = ROOT / ".github" / "workflows"
    for user in (workflows / "tests.yml", workflows / "publish.yml", ROOT / ".ci" / "run", ROOT / "CONTRIBUTING.md"):
        assert script in user.read_text(encoding="utf-8"), user
    # What is tested is what is published.
    assert f"path: .peers/{Path(script).name}/dist," in (workflows / "publish.yml").read_text(encoding="utf-8")


def test_citations_name_one_paper_and_one_licence(project):
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    title = re.search(r"^  title: (.+)$", citation, flags=re.MULTILINE)[1]
    for page in ("README.md", "docs/bibliography.md"):
        assert title in " ".join((ROOT / page).read_text(encoding="utf-8").split())
    licence = re.search(r"^license: (.+)$", citation, flags=re.MULTILINE)[1]
    assert project["project"]["license"].startswith(licence)
