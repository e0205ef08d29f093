"""The rooms of the package, and which of them may know which."""

from __future__ import annotations

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

import pivotal

_MATHEMATICS = {"core", "kernels", "neighbors", "results", "engine"}
_FACE = _MATHEMATICS | {"valuation"}
# Every room, and the rooms it may import from. Neighbours such as `analysis` and `tables` do not know each other.
ALLOWED = {
    "core": set(),
    "kernels": {"core"},
    "neighbors": {"core", "kernels"},
    "results": {"core"},
    "engine": {"core", "kernels", "neighbors", "results"},
    "valuation": _MATHEMATICS,
    "baselines": _FACE,
    "analysis": _FACE,
    "embed": _FACE,
    "interop": _FACE,
    "tables": _FACE,
    "report": _FACE | {"analysis"},
    "review": _FACE | {"analysis", "tables", "report"},
    "research": _FACE | {"baselines", "analysis", "interop", "tables", "report"},
    "cli": _FACE | {"baselines", "analysis", "embed", "interop", "tables", "report", "review", "research"},
}
HOME = Path(pivotal.__file__).parent
FILES = sorted(HOME.rglob("*.py"))
DOORS = {"__init__", "__main__"}  # the package's own, which know everything


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(file)))


@cache
def imported_by(file: Path) -> frozenset[str]:
    """Full names of all that a file imports, inside functions too."""
    names = set()
    for node in nodes_of(file):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(names)


def parts_imported_by(file: Path) -> set[tuple[str, ...]]:
    """What a file imports of the package, as parts of dotted names without the package's own."""
    return {tuple(name.split(".")[1:]) for name in imported_by(file) if name.startswith("pivotal.")}


def room_of(file: Path) -> str:
    return file.relative_to(HOME).parts[0].removesuffix(".py")


ROOMS = sorted({room_of(file) for file in FILES} - DOORS)


def files_of(room: str) -> list[Path]:
    return [file for file in FILES if room_of(file) == room]


def test_every_room_is_in_the_plan():
    assert set(ROOMS) <= set(ALLOWED)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_knows_only_the_rooms_it_may(room):
    for file in files_of(room):
        known = {parts[0] for parts in parts_imported_by(file)} - {room}
        assert known <= ALLOWED[room], f"{file.relative_to(HOME)} imports {sorted(known - ALLOWED[room])}"


@pytest.mark.parametrize("room", ROOMS)
def test_private_modules_are_imported_in_their_own_room_only(room):
    modules = {file.relative_to(HOME).with_suffix("").parts for file in FILES}
    for file in files_of(room):
        for parts in parts_imported_by(file):
            module = next((parts[:n] for n in range(len(parts), 0, -1) if parts[:n] in modules), ())
            private = any(part.startswith("_") for part in module)
            assert not private or module[0] == room, f"{file.relative_to(HOME)} imports {'.'.join(module)}"


def called(node: ast.Call) -> str:
    """The last word of what is called."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def test_modules_of_the_package_are_not_imported_by_name():
    """A string would walk around the test above; only the front door and the command line load by name."""
    for file in FILES:
        if room_of(file) in {*DOORS, "cli"}:
            continue
        for node in nodes_of(file):
            if isinstance(node, ast.Call) and called(node).endswith(("import_module", "__import__")):
                assert "pivotal" not in ast.unparse(node.args[0]), f"{file.relative_to(HOME)}:{node.lineno}"


def test_a_stem_means_one_file():
    stems = Counter(file.stem.lstrip("_") for file in FILES if not file.stem.startswith("__"))
    assert not [stem for stem, count in stems.items() if count > 1]


def test_a_class_name_means_one_class():
    names = Counter(node.name for file in FILES for node in nodes_of(file) if isinstance(node, ast.ClassDef))
    assert not [name for name, count in names.items() if count > 1]
    aliases = {
        ast.unparse(node.target)
        for file in FILES
        for node in nodes_of(file)
        if isinstance(node, ast.AnnAssign) and getattr(node.annotation, "id", "") == "TypeAlias"
    }
    assert "MetricLike" in aliases
    assert not aliases & set(names)


def test_arrays_are_made_read_only_in_one_file():
    places = [file.stem for file in FILES if re.search(r"setflags\(|flags\.writeable = ", file.read_text("utf-8"))]
    assert places == ["frozen"]


def test_numba_lives_in_the_kernels():
    for file in FILES:
        if room_of(file) != "kernels":
            assert not any(name.split(".")[0] == "numba" for name in imported_by(file)), file


def test_the_paper_stands_alone():
    for file in (HOME / "research" / "paper").glob("*.py"):
        assert {parts[:2] for parts in parts_imported_by(file)} <= {("research", "paper")}, file


def test_files_are_short_enough_to_read():
    lines = {file.relative_to(HOME).as_posix(): len(file.read_text(encoding="utf-8").splitlines()) for file in FILES}
    assert not [name for name, count in lines.items() if count > 400]


# Where more than seven arguments come in: public entry points, the constructors of what they return or take, and what
# checks their arguments for them.
ENTRIES = {
    "advise_retrieval", "bits_diagnostic", "chance", "check", "enumerate_coalitions", "find_label_errors", "influence",
    "lava", "read_table", "redundancy", "remove_harmful", "removal_curve", "repair", "reproduce", "retrain", "review",
    "run_bench", "select", "selection_curve", "sweep", "value", "value_by_retraining", "value_from_neighbors",
    "value_retrieval", "verify", "write_report",
    "CallableModel.__init__", "KNNValuation.__init__", "OnnxModel.__init__", "ValueRecord.__init__",
    "_Network.__init__",
    "SelectionData.of", "Wishes.of", "as_model_game", "open_problem", "read_inputs",
}  # fmt: skip


def wide_functions(tree: ast.Module) -> set[str]:
    """Functions and methods of a file that take more than seven arguments."""
    found = set()
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        for function in inside:
            if isinstance(function, ast.FunctionDef):
                own = function.args
                names = [argument.arg for argument in (*own.posonlyargs, *own.args, *own.kwonlyargs)]
                if len(names) - (names[:1] in (["self"], ["cls"])) > 7:
                    found.add(node.name if function is node else f"{node.name}.{function.name}")
    return found


def test_functions_take_few_arguments():
    """Kernels aside, which take arrays, and as many as they need."""
    wide = {name for file in FILES if room_of(file) != "kernels" for name in wide_functions(tree_of(file))}
    assert wide <= ENTRIES, wide - ENTRIES
    assert wide_functions(ast.parse("def f(a, b, c, d, e, f, g, *, h): ...")) == {"f"}


# What other packages keep private and offer no other way to. `_replace` and its like are the face of named tuples.
PRIVATE_OF_OTHERS = {
    "cli/_parser.py": {"_option_string_actions"},  # argparse: which words are options
    "core/atomic.py": {"_strip_protocol", "_parent"},  # fsspec: paths of a file system
    "core/identity/_walk.py": {"_lru_cache_wrapper", "_value_"},  # functools and enum: types told by their content
    "core/notices.py": {"_getframe"},  # sys: where the user's code is
    "kernels/_code_cache.py": {"_rebuild", "_reduce"},  # numba: machine code on disk
    "valuation/dask/dask_inputs.py": {"_meta_nonempty"},  # Dask: what a chunk looks like
    "valuation/fitted_models.py": {"_fit_X", "_y"},  # scikit-learn: what a neighbours model was fitted on
}
NAMED_TUPLES = {"_replace", "_asdict", "_fields"}


def private_attributes(nodes: Sequence[ast.AST]) -> set[str]:
    """Private attributes that a file looks up on objects other than those of its own classes."""
    names = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr.startswith("_")]
    methods = (node.name for node in nodes if isinstance(node, ast.FunctionDef))
    fields = (node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name))
    stored = (node.attr for node in names if isinstance(node.ctx, ast.Store))
    known = {*methods, *fields, *stored, *NAMED_TUPLES}
    return {
        node.attr
        for node in names
        if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
        and not (isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in ("super", "type"))
        and not node.attr.startswith("__")
        and node.attr not in known
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(HOME).as_posix())
def test_what_is_private_stays_in_its_file(file):
    name = file.relative_to(HOME).as_posix()
    assert private_attributes(nodes_of(file)) == PRIVATE_OF_OTHERS.get(name, set())
    taken = {
        alias.name
        for node in nodes_of(file)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("pivotal")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    }
    assert not {one for one in taken if not list(HOME.rglob(f"{one}.py")) + list(HOME.rglob(f"{one}/__init__.py"))}


def test_the_rule_about_private_attributes_can_fail():
    code = "class A:\n    def f(self, other):\n        return self._own + other._engine\n"
    assert private_attributes([*ast.walk(ast.parse(code))]) == {"_engine"}


# ---- vocabulary

# Names that read like a riddle, each with a word of the field in its place.
RIDDLES = {
    "Arrivals", "Beside", "Desk", "Errand", "ForeignIndex", "Forgetful", "Keeper", "Kept", "Left", "Lists", "Long",
    "Scene", "Shelf", "Stopped", "Tally",
    "Told", "Voters", "_Sums", "_told", "breathe", "desk", "earns", "errand", "everyone", "in_words", "keeper", "loud",
    "nobody", "run_on", "seats", "shelf", "spread", "third_class", "told", "whole_file",
}  # fmt: skip
LIMITS_WITHOUT_A_UNIT = {"least", "most"}  # as parameters: say of what, as in max_depth and min_rows
PROSE = re.compile(
    r"\b(in earnest|nought|fellows|mend the|whole numbers?|at hand|loudness|errand"
    r"|(?i:everybody|everyone|nobody|somebody|anybody)|one vote each|value each other|worth less than nothing"
    r"|goes on where|programme|such as \S+ are none)\b"
    r"|\bis none\."
)
SOURCE_PROSE = re.compile(
    r"(?i:\bleave (it|them|one of them|such \w+) out\b|\bleave out\b|\bwhoever\b)|of your own|by heart"
)
ROOT = Path(__file__).parents[1]  # not the package's, which may be installed elsewhere


def names_in(file: Path) -> dict[str, int]:
    """Identifiers of a file, with a line in which they occur."""
    with file.open("rb") as stream:
        return {
            token.string: token.start[0] for token in tokenize.tokenize(stream.readline) if token.type == tokenize.NAME
        }


@pytest.mark.parametrize("room", ROOMS)
def test_names_are_words_of_the_field(room):
    for file in files_of(room):
        if RIDDLES & set(re.findall(r"\w+", file.read_text(encoding="utf-8"))):  # in the code, or in prose alone
            found = names_in(file)
            assert not RIDDLES & found.keys(), f"{file.relative_to(HOME)}:{found[min(RIDDLES & found.keys())]}"
        for node in nodes_of(file):
            if isinstance(node, ast.arguments):
                names = {argument.arg for argument in (*node.posonlyargs, *node.args, *node.kwonlyargs)}
                assert not names & LIMITS_WITHOUT_A_UNIT, f"{file.relative_to(HOME)}: {names}"


def test_prose_is_in_words_of_the_field():
    pages = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if page.exists()]
    scripts = (HOME / "review" / "assets").glob("*.js")
    for file in [*FILES, *pages, *scripts]:
        text = file.read_text(encoding="utf-8")
        found = PROSE.search(text) or (SOURCE_PROSE.search(text) if file in FILES else None)
        assert found is None, f"{file.name}:{text.count(chr(10), 0, found.start()) + 1}: {found.group()}"


def documented(docstring: str) -> dict[str, str]:
    """Names in the section on parameters, with what is said of their types."""
    _, _, rest = docstring.partition("Parameters\n----------\n")
    section = re.split(r"\n\w[\w ]*\n-{4,}\n", rest)[0]
    heads = [line.partition(" : ") for line in section.splitlines() if re.match(r"[*\w]", line)]
    return {name.strip("* "): kind for names, _, kind in heads for name in names.split(",") if name.strip()}


def arguments_of(node: ast.AST) -> set[str] | None:
    """Names that a function, or the class it makes, takes; None where any may be passed, or where others say it."""
    if isinstance(node, ast.ClassDef):
        made = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
        fields = {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)}
        return arguments_of(made[0]) if made else None if node.bases or not fields else fields
    own = node.args
    every = [*own.posonlyargs, *own.args, *own.kwonlyargs, *filter(None, [own.vararg])]
    return None if own.kwarg else {argument.arg for argument in every}


def test_docstrings_are_about_arguments_that_exist():
    """A renamed argument or class is renamed in the text too."""
    nodes = [node for file in FILES for node in nodes_of(file)]
    known = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    known |= {getattr(node.targets[0], "id", "") for node in nodes if isinstance(node, ast.Assign)}  # names of types
    known |= {"Axes", "BaseException", "DataFrame", "Generator", "Namespace", "None", "Path", "QdrantClient"}
    for file in FILES:
        for node in nodes_of(file):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            said, taken = documented(ast.get_docstring(node) or ""), arguments_of(node)
            where = f"{file.relative_to(HOME)}: {node.name}"
            assert taken is None or set(said) <= taken, f"{where}: {set(said) - taken}"
            # A type that begins with a capital letter is a class of the package, or of a library that is named.
            types = {kind.partition(",")[0] for kind in said.values()}
            assert {kind for kind in types if re.fullmatch(r"[A-Z]\w+", kind)} <= known, f"{where}: {types - known}"


def test_the_docstring_test_can_fail():
    assert documented("Do.\n\nParameters\n----------\na, b : Desk, optional\n    Text.\n\nReturns\n-------\nint\n") == {
        "a": "Desk, optional", "b": "Desk, optional",
    }  # fmt: skip
    assert arguments_of(ast.parse("def f(a, *, b): ...").body[0]) == {"a", "b"}


def test_the_vocabulary_test_finds_what_it_looks_for(tmp_path):
    (tmp_path / "odd.py").write_text("def told(most):\n    return most\n", encoding="utf-8")
    assert RIDDLES & names_in(tmp_path / "odd.py").keys() == {"told"}
    assert PROSE.search("fractions such as 0.5 are none")
    assert PROSE.search("a whole number")
    assert not PROSE.search("where X is None.")
    assert SOURCE_PROSE.search("got ids as well. Leave them out.")
