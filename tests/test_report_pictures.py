"""Pictures that a table names: shown where they may be, blank where they cannot, and never more than that."""

from __future__ import annotations

import io
import os
import re
import stat
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pivotal
from pivotal.cli import main
from pivotal.report.thumbnails import Images
from pivotal.tables import Roles, prepare, read

Image = pytest.importorskip("PIL.Image")

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 100 100\n%%EndComments\n0 0 moveto\nshowpage\n%%EOF\n"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>'


def png(width: int, height: int, rows: bytes | None = None) -> bytes:
    """A picture of one bit per pixel, all of it or only what is said of it."""
    content = rows if rows is not None else bytes((width + 7) // 8 + 1) * height

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(content)) + chunk(b"IEND", b"")


def saved(kind: str, **how: Any) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (40, 30), (10, 200, 30)).save(stream, kind, **how)
    return stream.getvalue()


def left_out(paths: list[Any], root: Path | None = None) -> dict[str, int]:
    """Return why pictures are omitted, of which none is shown."""
    made = Images(paths, len(paths), root).thumbnails(range(len(paths)), 10**7)
    assert made.uris == {}
    assert made.complete
    return dict(made.left_out)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_six_formats_are_shown(tmp_path: Path, kind: str) -> None:
    (tmp_path / "picture").write_bytes(saved(kind))
    made = Images([tmp_path / "picture", "picture"], 2, tmp_path).thumbnails([0, 1], 10**6)
    assert set(made.uris) == {0, 1}
    assert not made.left_out


@pytest.mark.parametrize("kind", ["PPM", "ICO", "TGA", "PCX", "SGI", "PDF", "DIB", "JPEG2000", "ICNS", "MSP"])
def test_no_other_format_is_decoded(tmp_path: Path, kind: str) -> None:
    stream = io.BytesIO()
    Image.new("1" if kind == "MSP" else "RGB", (32, 32)).save(stream, kind)
    (tmp_path / "photo.png").write_bytes(stream.getvalue())
    assert left_out([tmp_path / "photo.png"]) == {"damaged": 1}


@pytest.mark.faults
def test_postscript_starts_no_other_program(tmp_path: Path) -> None:
    """A program by the name of Ghostscript that writes down when it is called, before all others on the path."""
    (tmp_path / "bin").mkdir()
    called = tmp_path / "called"
    for name in ("gs", "gswin32c", "gswin64c"):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\necho called >> '{called}'\nexit 1\n", encoding="utf-8")
        (tmp_path / "bin" / name).chmod(stat.S_IRWXU)
    for name in ("evil.png", "evil.eps"):
        (tmp_path / name).write_bytes(EPS)
    (tmp_path / "t.csv").write_text("path,a,y\n" + "evil.png,1,0\nevil.png,2,1\n" * 6, encoding="utf-8")
    program = "import sys; from pivotal.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "value", "t.csv", "--label", "y", "--report", "r.html", "-o", "v.csv"]
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "12 images are not shown: 12 not readable as PNG, JPEG, GIF, WEBP, BMP or TIFF." in done.stderr
    assert (tmp_path / "r.html").exists()
    assert not called.exists()


def test_what_cannot_be_read_is_counted(tmp_path: Path) -> None:
    whole = saved("PNG")
    files = {
        "cut.png": whole[:60],
        "cut.jpg": saved("JPEG")[:300],
        "text.png": b"not an image",
        "nothing.png": b"",
        "drawing.png": SVG,
        "wrong.png": whole[:40] + b"\xff" * 20 + whole[60:],
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.png").mkdir()
    assert left_out([*files, "folder.png"], tmp_path) == {"damaged": len(files) + 1}
    assert left_out(["no.png", "no/such/folder.png", "x" * 5000 + ".png"], tmp_path)["missing"] >= 2
    assert left_out(["a\0b.png"], tmp_path) in ({"missing": 1}, {"damaged": 1})
    assert left_out(["", "  ", None, float("nan")], tmp_path) == {"empty": 4}
    assert left_out(["https://host/1.jpg", "s3://bucket/1.png", f"file://{tmp_path}/x.png"]) == {"elsewhere": 3}


def test_bombs_are_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "claims.png").write_bytes(png(60_000, 60_000, b"0"))
    (tmp_path / "warns.png").write_bytes(png(10_000, 10_000, b"0"))
    (tmp_path / "unpacks.png").write_bytes(png(9_000, 9_000))
    (tmp_path / "wide.png").write_bytes(png(2**31 - 1, 1, b"0"))
    assert (tmp_path / "unpacks.png").stat().st_size < 100_000
    names = ["claims.png", "warns.png", "unpacks.png", "wide.png"]
    assert left_out(names, tmp_path) == {"large": 4}
    text = b"zTXt" + b"a\0\0" + zlib.compress(bytes(10**8))  # words that unpack to 100 MB
    chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    (tmp_path / "words.png").write_bytes(png(9, 9)[:33] + chunk + png(9, 9)[33:])
    assert left_out(["words.png"], tmp_path) == {"damaged": 1}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "zero.png").symlink_to("/dev/zero")
    assert left_out([tmp_path / "pipe.png", tmp_path / "zero.png"]) == {"damaged": 2}
    assert left_out(["pipe.png"], tmp_path) == {"damaged": 1}


def test_nothing_outside_of_the_folder_is_shown(tmp_path: Path) -> None:
    inside, outside = tmp_path / "data", tmp_path / "private"
    for folder in (inside / "sub", outside):
        folder.mkdir(parents=True)
    for file in (inside / "a.png", inside / "sub/b.png", outside / "secret.png"):
        file.write_bytes(saved("PNG"))
    (inside / "link.png").symlink_to(outside / "secret.png")
    (inside / "folder").symlink_to(outside)
    (inside / "near.png").symlink_to(inside / "a.png")
    (inside / "circle.png").symlink_to(inside / "circle.png")
    hidden = [
        "../private/secret.png",
        str(outside / "secret.png"),
        "link.png",
        "folder/secret.png",
        "sub/../../private/secret.png",
    ]
    assert left_out(hidden, inside) == {"outside": len(hidden)}
    assert sum(left_out(["circle.png"], inside).values()) == 1
    shown = ["a.png", "sub/b.png", "sub/../a.png", "near.png", str(inside / "a.png")]
    assert len(Images(shown, len(shown), inside).thumbnails(range(len(shown)), 10**6).uris) == len(shown)
    assert len(Images(hidden[1:3], 2, tmp_path).thumbnails([0], 10**6).uris) == 1  # asked for
    assert len(Images([outside / "secret.png"], 1).thumbnails([0], 10**6).uris) == 1  # named by who calls
    with pytest.raises(ValueError, match="image_root must be a folder that exists; got"):
        Images(shown, len(shown), tmp_path / "nowhere")


def test_the_page_and_a_warning_say_how_many(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(saved("PNG"))
    values = pivotal.Values([0.25, -0.5, 0.75, 0.1], n_queries=4)
    words = "3 images are not shown: 1 without a path, 1 with an address elsewhere, which is not fetched, 1 missing."
    with pytest.warns(UserWarning, match=re.escape(words)):
        pivotal.write_report(
            values, tmp_path / "r.html", images=["a.png", None, "http://h/x.png", "no.png"], image_root=tmp_path
        )
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert words in page
    assert page.count("data:image/") >= 1


def test_a_table_of_pictures_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inside, outside = tmp_path / "data", tmp_path / "other"
    inside.mkdir()
    outside.mkdir()
    (inside / "a.png").write_bytes(saved("PNG"))
    (outside / "b.png").write_bytes(saved("PNG"))
    paths = ["a.png", "../other/b.png", str(outside / "b.png"), "no.png", "", "bomb.png"]
    (inside / "bomb.png").write_bytes(png(60_000, 60_000, b"0"))
    frame = pd.DataFrame({"path": paths * 4, "a": np.arange(24.0) ** 2, "y": [0, 1] * 12})
    frame.to_csv(inside / "t.csv", index=False)
    command = ["value", str(inside / "t.csv"), "--label", "y", "--image", "path", "-o", str(tmp_path / "v.csv")]
    assert main([*command, "--report", str(tmp_path / "r.html")]) == 0
    said = capsys.readouterr().err
    words = "20 images are not shown: 4 without a path, 8 outside of the folder of images, 4 missing, 4 with more"
    assert words in said
    assert main([*command, "--report", str(tmp_path / "r.html"), "--images-from", str(tmp_path)]) == 0
    assert "12 images are not shown: 4 without a path, 4 missing, 4 with more" in capsys.readouterr().err
    assert main([*command, "--report", str(tmp_path / "r.html"), "--images-from", str(outside)]) == 0
    assert "16 images are not shown: 4 without a path, 12 outside of the folder" in capsys.readouterr().err
    assert main([*command, "--report", str(tmp_path / "r.html"), "--images-from", str(tmp_path / "no")]) == 2
    assert capsys.readouterr().err == f"pivotal: --images-from must be a folder; got {tmp_path / 'no'}.\n"


def test_addresses_of_pictures_are_text(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"link": [f"https://shop.example/{i}.jpg" for i in range(20)], "a": range(20), "y": [0, 1] * 10}
    )
    frame["a"] = frame["a"] ** 2
    frame.to_csv(tmp_path / "t.csv", index=False)
    ready = prepare(read(str(tmp_path / "t.csv")), None, Roles("y"))
    assert ready.images is None
    assert ready.text is not None
    assert ready.text[3] == "https://shop.example/3.jpg"
