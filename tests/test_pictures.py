"""Pictures as cameras, scanners and people leave them: any depth and colours, turned, moving, broken, elsewhere."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import pivotal
from pivotal.cli import main
from pivotal.core.pictures import NotShown, decode
from pivotal.embed import ImagePixels
from pivotal.tables import read

SIDE = 24


def scene() -> Any:
    """Return a grey picture in which up, down, left and right differ."""
    across, down = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
    return Image.fromarray((4 * across + 6 * down).astype(np.uint8))


def as_file(picture: Any, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()


def turned() -> bytes:
    told = Image.Exif()
    told[0x0112] = 6  # the camera was held upright: turn by 90 degrees to see it
    return as_file(scene().rotate(90), "JPEG", exif=told, quality=100)


def sixteen_bits(kind: str) -> bytes:
    return as_file(Image.fromarray(np.asarray(scene()).astype(np.uint16) * 257), kind)


def moving() -> bytes:
    return as_file(scene(), "GIF", save_all=True, append_images=[Image.new("L", (SIDE, SIDE))] * 3)


@pytest.mark.parametrize(
    ("content", "most"),
    [
        pytest.param(as_file(scene(), "PNG"), 0, id="grey"),
        pytest.param(as_file(scene().convert("P"), "GIF"), 3, id="palette"),
        pytest.param(as_file(scene().convert("RGB").convert("CMYK"), "JPEG", quality=100), 8, id="CMYK"),
        pytest.param(as_file(scene().convert("LA"), "PNG"), 0, id="transparency"),
        pytest.param(sixteen_bits("PNG"), 0, id="16 bits"),
        pytest.param(sixteen_bits("TIFF"), 0, id="16 bits of a scanner"),
        pytest.param(as_file(scene().convert("I"), "TIFF"), 0, id="32 bits"),
        pytest.param(as_file(Image.fromarray(np.asarray(scene()) / np.float32(255)), "TIFF"), 1, id="shares of 1"),
        pytest.param(as_file(scene().convert("F"), "TIFF"), 0, id="floats"),
        pytest.param(turned(), 6, id="turned"),
        pytest.param(moving(), 3, id="moving"),
    ],
)
def test_every_kind_of_picture_looks_like_what_it_shows(content: bytes, most: int) -> None:
    found = decode(io.BytesIO(content), SIDE)
    assert found.mode in ("RGB", "RGBA")
    grey = np.asarray(found.convert("RGB"))
    assert np.abs(grey.astype(int) - np.asarray(scene())[..., np.newaxis]).max() <= most


def test_numbers_beyond_any_picture_are_stretched() -> None:
    heights = np.linspace(-3000.0, 9000.0, SIDE * SIDE, dtype=np.float32).reshape(SIDE, SIDE)
    found = np.asarray(decode(io.BytesIO(as_file(Image.fromarray(heights), "TIFF")), SIDE))
    assert (found.min(), found.max()) == (0, 255)


def test_a_picture_in_memory_is_turned_and_scaled_as_its_file_is(tmp_path: Path) -> None:
    for name, content in (("turned.jpg", turned()), ("deep.png", sixteen_bits("PNG"))):
        (tmp_path / name).write_bytes(content)
    files = [tmp_path / "turned.jpg", tmp_path / "deep.png"]
    from_files = ImagePixels(None, size=8).fit_transform(files)
    opened = [Image.open(file) for file in files]
    assert np.allclose(ImagePixels(None, size=8).fit_transform(opened), from_files, atol=1e-6)


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\nxx", b"%!PS-Adobe-3.0 EPSF-3.0", b"<svg/>"])
def test_what_is_no_picture_is_not_shown(content: bytes) -> None:
    with pytest.raises(NotShown, match="damaged"):
        decode(io.BytesIO(content), SIDE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of two classes with everything that gets into such folders."""
    home = tmp_path / "photos"
    for number, ending in enumerate([".JPG", ".jpeg", ".jfif", ".PNG", ".gif", ".bmp", ".webp", ".tif"] * 3):
        place = home / ("dark", "light")[number % 2] / ("", "deep/er")[number // 12]
        place.mkdir(parents=True, exist_ok=True)
        kind = {".JPG": "JPEG", ".jfif": "JPEG", ".tif": "TIFF"}.get(ending, ending[1:].upper())
        Image.fromarray(np.full((9, 9), 40 + 8 * number, dtype=np.uint8)).save(place / f"{number:02}{ending}", kind)
    (home / "dark" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nxx")
    (home / "dark" / "notes.txt").write_text("taken in May", encoding="utf-8")
    (home / "light" / "new.HEIC").write_bytes(b"ftypheic")
    (home / "light" / "Thumbs.db").write_bytes(b"x")
    (home / "light" / ".hidden.png").write_bytes(b"x")
    Image.new("L", (9, 9)).save(home / "cover.png")
    Image.new("L", (9, 9)).save(tmp_path / "elsewhere.png")
    (home / "light" / "link.png").symlink_to(tmp_path / "elsewhere.png")
    return home


def test_a_folder_is_read_whole_and_what_is_left_out_is_said(folder: Path) -> None:
    with pytest.warns(
        UserWarning, match=r"3 files are omitted: 1 in no folder of a class; 1 with \.txt, 1 with \.heic"
    ):
        ready = pivotal.read_table(folder)
    assert len(ready.y) == 26
    assert "2 images are not embedded: 1 outside of the folder of images, 1 not readable" in ready.treatments[0].done
    assert "dark/00.JPG" in ready.ids.tolist()
    assert "dark/deep/er/12.gif" in ready.ids.tolist()


@pytest.mark.filterwarnings("ignore:.*files are omitted")
def test_pictures_of_a_folder_are_named_by_their_paths(folder: Path) -> None:
    found = pivotal.clean(folder, n=3, n_trees=0)
    assert all((folder / one).exists() for one in found.to_frame()["id"])


@pytest.mark.filterwarnings("ignore:.*files are omitted")
def test_two_folders_are_one_table(folder: Path, tmp_path: Path) -> None:
    more = tmp_path / "more" / "light"
    more.mkdir(parents=True)
    Image.new("L", (9, 9), 250).save(more / "one.png")
    ready = pivotal.read_table([folder, more.parent])
    assert ready.ids[-1] == "more/light/one.png"
    assert "3 images" not in ready.treatments[0].done  # those of the second folder are found


def test_embeddings_of_a_folder_are_matched_by_path(tmp_path: Path) -> None:
    home = tmp_path / "photos"
    for number in range(8):
        place = home / ("dark", "light")[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        Image.new("L", (9, 9), 20 * number).save(place / f"{number}.png")
    paths = read(str(home)).column("path").to_pylist()[::-1]
    vectors = [[float(Path(path).stem), 1.0] for path in paths]
    pd.DataFrame({"path": paths, "vector": vectors}).to_parquet(tmp_path / "e.parquet")
    ready = pivotal.read_table(home, embeddings=tmp_path / "e.parquet", embed="none")
    assert [f"{number:.0f}" for number in ready.X[:, 0]] == [Path(one).stem for one in ready.ids]


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of noisy pictures per class, and a table of their paths; of each class, one is damaged."""
    home = tmp_path_factory.mktemp("faulty")
    rng = np.random.default_rng(0)
    for number in range(48):
        kind = ("dark", "light")[number % 2]
        (home / "photos" / kind).mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 60, (12, 12, 3)) + (40 if kind == "dark" else 150)
        Image.fromarray(pixels.astype(np.uint8)).save(home / "photos" / kind / f"{number:02}.png")
    for file in ("dark/00.png", "light/01.png"):
        (home / "photos" / file).write_bytes(b"no picture")
    files = sorted((home / "photos").glob("*/*.png"))
    names = [str(file.relative_to(home)) for file in files]
    names[2] = "photos/dark/gone.png"
    classes = [file.parent.name for file in files]
    pd.DataFrame({"photo": names, "owner": list("ab" * 24), "y": classes}).to_csv(home / "table.csv", index=False)
    return home


@pytest.mark.parametrize("source", [["photos"], ["table.csv", "--label", "y", "--ignore", "owner"]])
@pytest.mark.parametrize(
    "command",
    [
        ["value", "-o", "values.csv", "--report", "value.html"],
        ["clean", "--trees", "0", "--fix", "fixed.csv"],
        ["check", "-o", "findings.csv", "--report", "check.html"],
        ["select", "--size", "10", "-o", "few.csv"],
        ["remove", "--share", "0.1", "-o", "kept.csv"],
    ],
    ids=lambda words: words[0],
)
def test_every_command_takes_pictures_and_counts_those_that_are_missing(
    faulty: Path, source: list[str], command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(faulty)
    assert main([command[0], *source, *command[1:], "--jobs", "1"]) == 0
    said = capsys.readouterr().err
    missing = "2 not readable as" if source == ["photos"] else "1 missing, 2 not readable as"
    assert f"{2 + ('1 m' in missing)} images are not embedded: {missing}" in said
    for option in ("-o", "--fix", "--report"):
        if option in command:
            assert (faulty / command[command.index(option) + 1]).stat().st_size > 0


def test_missing_pictures_are_outliers_and_nothing_else(faulty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(faulty)
    assert main(["check", "photos", "-o", "found.csv", "--quiet", "--jobs", "1"]) == 0
    found = pd.read_csv("found.csv")
    broken = {"dark/00.png", "light/01.png"}
    assert set(found.id[found.finding == "outliers"]) >= broken
    assert not broken & set(found.id[found.finding.isin(["duplicates", "near_duplicates", "conflicts", "harmful"])])
