"""Models of other packages: small ones, made and saved here, loaded again by the code that loads large ones."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pivotal.embed import (
    CallableModel,
    Model2VecText,
    OnnxModel,
    OpenClipImages,
    SentenceTransformerText,
    TimmImages,
    as_embedder,
)
from torch_models import need

Image = pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

SENTENCES = ["the cat sat", "a dog ran", "the dog sat", "a cat ran far", "cat cat cat", "the cat sat"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "a", "dog", "ran", "far"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PIVOTAL_CACHE", str(tmp_path / "cache"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what other packages say on loading
        yield


def images(n: int = 3, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [Image.fromarray(rng.integers(0, 256, (40 + 3 * place, 50, 3), dtype=np.uint8)) for place in range(n)]


def tokenizer() -> Any:
    tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
    words = tokenizers.models.WordLevel({word: place for place, word in enumerate(VOCABULARY)}, unk_token="[UNK]")
    made = tokenizers.Tokenizer(words)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return made


@pytest.fixture(scope="module")
def sentence_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    package = need("sentence_transformers")
    transformers = need("transformers")
    torch = need("torch")
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("sentences")
    config = transformers.BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    transformers.BertModel(config).save_pretrained(folder / "bert")
    marks = {name: f"[{name[:3].upper()}]" for name in ("pad_token", "unk_token", "cls_token", "sep_token")}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer(), **marks).save_pretrained(folder / "bert")
    try:
        from sentence_transformers.sentence_transformer import modules
    except ImportError:  # before version 6
        from sentence_transformers import models as modules
    looked_up = modules.Transformer(str(folder / "bert"))
    pooled = modules.Pooling(16)
    package.SentenceTransformer(modules=[looked_up, pooled], device="cpu").save(str(folder / "model"))
    return folder / "model"


def test_a_saved_sentence_transformer(sentence_model: Path) -> None:
    embedder = SentenceTransformerText(sentence_model, batch_size=4)
    X = embedder.fit_transform(SENTENCES)
    assert X.shape == (6, 16)
    assert X.dtype == np.float32
    expected = need("sentence_transformers").SentenceTransformer(str(sentence_model), device="cpu").encode(SENTENCES)
    np.testing.assert_allclose(X, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(X[0], X[5])
    assert embedder.note == "by the sentence-transformers model model"


class RunsCode:
    """Writes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self.file,)


def test_weights_that_could_run_code_are_not_loaded(sentence_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(sentence_model, folder)
    for file in folder.rglob("*.safetensors"):
        need("torch").save({"weight": RunsCode(tmp_path / "ran")}, file.with_name("pytorch_model.bin"))
        file.unlink()
    with pytest.raises(ValueError, match="holds more than weights in a file that could run code"):
        SentenceTransformerText(folder).fit_transform(SENTENCES)
    assert not (tmp_path / "ran").exists()


def test_a_sentence_transformer_remembers_and_is_told_by_its_weights(sentence_model: Path, tmp_path: Path) -> None:
    first = SentenceTransformerText(sentence_model)
    X = first.fit_transform(SENTENCES)
    assert first.n_computed_ == 5
    again = as_embedder(f"sentence-transformers:{sentence_model}")
    np.testing.assert_array_equal(again.transform(SENTENCES), X)
    assert again.n_computed_ == 0  # type: ignore[attr-defined]
    torch = need("torch")
    changed = need("sentence_transformers").SentenceTransformer(str(sentence_model), device="cpu")
    with torch.no_grad():
        torch.nn.init.normal_(next(changed.parameters()))
    changed.save(str(tmp_path / "changed"))
    other = SentenceTransformerText(tmp_path / "changed")
    assert not np.allclose(other.fit_transform(SENTENCES), X)
    assert other.n_computed_ == 5


def test_folders_without_a_model_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("sentence_transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ValueError, match="must be a folder that holds a model of sentence-transformers, or a name"):
        SentenceTransformerText(tmp_path).fit()
    for device in ("abacus", "cuda:99"):
        with pytest.raises(
            ValueError, match=rf"device must be one that torch has here, .* got '{device}' \(.*\)\. Omit"
        ):
            SentenceTransformerText(tmp_path, device=device).fit()


def test_code_that_comes_with_a_model_runs_only_when_it_is_trusted(sentence_model: Path, tmp_path: Path) -> None:
    folder, marker = tmp_path / "model", tmp_path / "ran"
    shutil.copytree(sentence_model, folder)
    modules = json.loads((folder / "modules.json").read_text())
    kind, _, name = modules[1]["type"].rpartition(".")
    modules[1]["type"] = "mine.Mine"
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "mine.py").write_text(
        f"from pathlib import Path\nfrom {kind} import {name}\nPath({str(marker)!r}).touch()\n"
        f"class Mine({name}):\n    pass\n"
    )
    with pytest.raises(ValueError, match=r"brings code of its own, which is not run; .*trust_remote_code=True"):
        SentenceTransformerText(folder).fit_transform(SENTENCES)
    assert not marker.exists()
    X = as_embedder(f"sentence-transformers:{folder}", trust_remote_code=True).fit_transform(SENTENCES)
    assert marker.exists()
    np.testing.assert_allclose(X, SentenceTransformerText(sentence_model).fit_transform(SENTENCES), rtol=1e-5)
    with pytest.raises(TypeError, match="trust_remote_code must be True or False; got 'yes'"):
        SentenceTransformerText(folder, trust_remote_code="yes")  # type: ignore[arg-type]


def test_a_model_shows_no_bars_unless_asked(sentence_model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    SentenceTransformerText(sentence_model, cache=False).fit_transform(SENTENCES)
    assert "it/s" not in capfd.readouterr().err
    SentenceTransformerText(sentence_model, cache=False, progress=True).fit_transform(SENTENCES)
    assert "item/s" in capfd.readouterr().err


def test_a_package_whose_imports_fail_says_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("torch")
    (tmp_path / "timm").mkdir()
    (tmp_path / "timm" / "__init__.py").write_text(
        "try:\n    raise RuntimeError('operator torchvision::nms does not exist')\n"
        "except RuntimeError as error:\n    raise ImportError('could not import what it needs') from error\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "timm"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError) as said:
        TimmImages("resnet18").fit()
    assert str(said.value) == (
        "timm is installed, but cannot be imported: operator torchvision::nms does not exist. Its packages must fit "
        "each other, torch and torchvision above all; install them together, in an environment of their own: pip "
        "install 'pivotal[image-models]'"
    )


@pytest.fixture
def static_model(tmp_path: Path) -> tuple[Path, np.ndarray]:
    package = pytest.importorskip("model2vec", reason="needs model2vec")
    weights = np.random.default_rng(0).normal(size=(len(VOCABULARY), 8)).astype(np.float32)
    package.StaticModel(weights, tokenizer()).save_pretrained(str(tmp_path / "static"))
    return tmp_path / "static", weights


def test_a_saved_model2vec_model(static_model: tuple[Path, np.ndarray]) -> None:
    folder, weights = static_model
    embedder = Model2VecText(folder, normalize=False)
    X = embedder.fit_transform(SENTENCES)
    means = [weights[[VOCABULARY.index(word) for word in text.split()]].mean(axis=0) for text in SENTENCES]
    np.testing.assert_allclose(X, means, rtol=1e-5, atol=1e-6)
    again = as_embedder(f"model2vec:{folder}", cache=embedder.cache)
    np.testing.assert_allclose(np.linalg.norm(again.fit_transform(SENTENCES), axis=1), 1.0, rtol=1e-5)
    assert again.n_computed_ == 5  # type: ignore[attr-defined]  # scaled vectors are others
    more = Model2VecText(folder)
    more.transform(SENTENCES)
    assert more.n_computed_ == 0
    with pytest.raises(ValueError, match="must be a folder that holds a model of model2vec"):
        Model2VecText(folder.parent).fit()


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    timm = need("timm")
    torch = need("torch")
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("timm")
    model = timm.create_model("test_resnet", pretrained=False, num_classes=7).eval()
    timm.models.save_for_hf(model, str(folder / "hub"), model_config={"num_classes": 7})
    torch.save(model.state_dict(), folder / "weights.pt")
    return folder, model


def expected_features(model: Any, pictures: list[Any]) -> np.ndarray:
    torch = need("torch")
    from timm.data import create_transform, resolve_model_data_config

    transform = create_transform(**resolve_model_data_config(model), is_training=False)
    with torch.no_grad():
        features = model.forward_head(
            model.forward_features(torch.stack([transform(one) for one in pictures])), pre_logits=True
        )
    return features.numpy()


def test_a_network_of_timm_from_a_folder_and_from_a_file_of_weights(network: tuple[Path, Any]) -> None:
    folder, model = network
    expected = expected_features(model, images())
    for embedder in (
        TimmImages(folder / "hub", normalize=False, cache=False, batch_size=2),
        TimmImages("test_resnet", folder / "weights.pt", normalize=False, cache=False),
    ):
        X = embedder.fit_transform(images())
        np.testing.assert_allclose(X, expected, rtol=1e-3, atol=1e-4)
    assert "with the weights in weights.pt" in embedder.note


def test_a_network_remembers_files_by_their_content(network: tuple[Path, Any], tmp_path: Path) -> None:
    folder, _ = network
    for place, image in enumerate(images()):
        image.save(tmp_path / f"{place}.png")
    embedder = as_embedder(f"timm:{folder / 'hub'}", root=tmp_path, missing="fill")
    X = embedder.fit_transform(["0.png", "1.png", "2.png", "none.png"])
    np.testing.assert_allclose(np.linalg.norm(X[:3], axis=1), 1.0, rtol=1e-5)
    off = X - X[:3].mean(axis=0)
    np.testing.assert_allclose((off[3] ** 2).sum(), (off[:3] ** 2).sum() / 3, rtol=1e-3)
    assert embedder.missing_ == {"missing": 1}
    (tmp_path / "copy.png").write_bytes((tmp_path / "1.png").read_bytes())
    again = TimmImages(folder / "hub", root=tmp_path)
    np.testing.assert_array_equal(again.transform(["copy.png", "0.png"]), X[[1, 0]])
    assert again.n_computed_ == 0


def test_weights_that_do_not_fit_and_networks_without_any_are_refused(
    network: tuple[Path, Any], tmp_path: Path
) -> None:
    folder, _ = network
    with pytest.raises(ValueError, match="resnet10t cannot be loaded by timm: Error"):
        TimmImages("resnet10t", folder / "weights.pt").fit()
    with pytest.raises(FileNotFoundError, match=r"weights must name a file with the weights of resnet18"):
        TimmImages("resnet18", tmp_path / "none.pt")
    with pytest.raises(ValueError, match=r"no_such_network cannot be loaded by timm: Unknown model"):
        TimmImages("no_such_network", folder / "weights.pt").fit()


def test_a_file_that_would_run_code_is_not_loaded(tmp_path: Path) -> None:
    need("timm")
    torch = need("torch")
    marker = tmp_path / "ran"

    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (marker,))

    torch.save({"state_dict": Trap()}, tmp_path / "trap.pt")
    with pytest.raises(Exception, match=r"(?i)weights"):
        TimmImages("test_resnet", tmp_path / "trap.pt").fit()
    assert not marker.exists()


def test_the_image_side_of_a_clip_model(tmp_path: Path) -> None:
    package = need("open_clip")
    torch = need("torch")
    safetensors = need("safetensors.torch")
    torch.manual_seed(0)
    config = {
        "embed_dim": 12,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 16},
        "text_cfg": {"context_length": 8, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
    }
    model = package.CLIP(**config).eval()
    (tmp_path / "clip").mkdir()
    (tmp_path / "clip" / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, "preprocess_cfg": {}}))
    safetensors.save_file(model.state_dict(), tmp_path / "clip" / "open_clip_model.safetensors")
    X = OpenClipImages(tmp_path / "clip").fit_transform(images())
    assert X.shape == (3, 12)
    transform = package.image_transform(32, is_train=False)
    with torch.no_grad():
        expected = model.encode_image(torch.stack([transform(one) for one in images()]), normalize=True).numpy()
    np.testing.assert_allclose(X, expected, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="a CLIP model needs weights"):
        OpenClipImages("ViT-B-32").fit()
    with pytest.raises(ValueError, match=r"ViT-B-32 cannot be loaded by open_clip: .*no_such_tag"):
        OpenClipImages("ViT-B-32", "no_such_tag").fit()
    with pytest.raises(FileNotFoundError, match=r"there is no file clip\.pt"):
        OpenClipImages("ViT-B-32", "clip.pt")


def test_a_torch_module_of_ones_own(tmp_path: Path) -> None:
    torch = need("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 5, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    same_size = [image.resize((20, 20)) for image in images()]
    embedder = CallableModel(module, "image", cache=tmp_path)
    X = embedder.fit_transform(same_size)
    with torch.no_grad():
        pixels = np.stack([np.asarray(one) for one in same_size]).transpose(0, 3, 1, 2).astype(np.float32) / 255
        expected = module(torch.from_numpy(pixels)).numpy()
    np.testing.assert_allclose(X, expected, rtol=1e-4, atol=1e-6)
    again = CallableModel(module, "image", cache=tmp_path)
    again.transform(same_size)
    assert again.n_computed_ == 0
    with torch.no_grad():
        module[0].weight.mul_(2.0)
    changed = CallableModel(module, "image", cache=tmp_path)
    changed.transform(same_size)
    assert changed.n_computed_ == 3


def saved_onnx(
    path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: dict[str, np.ndarray]
) -> Path:
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    kept = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = onnx.helper.make_graph(nodes, "tiny", inputs, outputs, kept)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def tensor(name: str, kind: str, shape: list[Any]) -> Any:
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    return onnx.helper.make_tensor_value_info(name, getattr(onnx.TensorProto, kind), shape)


@pytest.mark.parametrize("batch", ["n", 1, 4])
def test_an_onnx_file_that_takes_images(tmp_path: Path, batch: Any) -> None:
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    weights = np.random.default_rng(0).normal(size=(5, 3, 3, 3)).astype(np.float32)
    file = saved_onnx(
        tmp_path / "tiny.onnx",
        [onnx.helper.make_node("Conv", ["pixels", "w"], ["maps"], pads=[1, 1, 1, 1])],
        [tensor("pixels", "FLOAT", [batch, 3, 24, 24])],
        [tensor("maps", "FLOAT", [batch, 5, 24, 24])],
        {"w": weights},
    )
    embedder = OnnxModel(file)
    assert embedder.modality == "image"
    X = embedder.fit_transform(images())
    assert X.shape == (3, 5)
    runtime = pytest.importorskip("onnxruntime").InferenceSession(str(file), providers=["CPUExecutionProvider"])
    pixels = np.stack([np.asarray(one.resize((24, 24), Image.Resampling.BICUBIC)) for one in images()]) / 255.0
    scaled = ((pixels - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).transpose(0, 3, 1, 2).astype(np.float32)
    repeated = scaled if batch == "n" else scaled[np.arange(4) % 3] if batch == 4 else None
    if repeated is None:
        maps = np.concatenate([runtime.run(None, {"pixels": one[np.newaxis]})[0] for one in scaled])
    else:
        maps = runtime.run(None, {"pixels": repeated})[0][:3]
    np.testing.assert_allclose(X, maps.mean(axis=(2, 3)), rtol=1e-4, atol=1e-5)
    again = as_embedder(f"onnx:{tmp_path}")
    np.testing.assert_array_equal(again.transform(images()), X)
    assert again.n_computed_ == 0  # type: ignore[attr-defined]


def test_options_of_an_onnx_file(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    weights = np.random.default_rng(0).normal(size=(5, 3, 3, 3)).astype(np.float32)
    file = saved_onnx(
        tmp_path / "tiny.onnx",
        [
            onnx.helper.make_node("Conv", ["pixels", "w"], ["maps"], pads=[1, 1, 1, 1]),
            onnx.helper.make_node("Relu", ["maps"], ["positive"]),
        ],
        [tensor("pixels", "FLOAT", ["n", 3, "h", "w"])],
        [tensor("maps", "FLOAT", ["n", 5, "h", "w"]), tensor("positive", "FLOAT", ["n", 5, "h", "w"])],
        {"w": weights},
    )
    options = {"size": 16, "output": "positive", "mean": [0, 0, 0], "deviation": [1, 1, 1], "normalize": True}
    embedder = as_embedder(f"onnx:{file}", **options)
    X = embedder.fit_transform(images())
    runtime = pytest.importorskip("onnxruntime").InferenceSession(str(file), providers=["CPUExecutionProvider"])
    pixels = np.stack([np.asarray(one.resize((16, 16), Image.Resampling.BICUBIC)) for one in images()])
    maps = runtime.run(["positive"], {"pixels": (pixels / 255.0).transpose(0, 3, 1, 2).astype(np.float32)})[0]
    expected = maps.mean(axis=(2, 3))
    np.testing.assert_allclose(X, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-4, atol=1e-6)
    for option, content in (("size", 32), ("output", "maps"), ("mean", [0.5] * 3), ("normalize", False)):
        other = as_embedder(f"onnx:{file}", **{**options, option: content})
        other.fit_transform(images())
        assert other.n_computed_ == 3, option  # type: ignore[attr-defined]  # none of them is taken for another
    for wrong, message in (
        ({"output": "nothing"}, r"output must be one of maps, positive, which .*tiny\.onnx has; got 'nothing'"),
        ({"mean": [0.5]}, r"mean must be three numbers, for red, green and blue; got \[0\.5\]"),
        ({"deviation": [1, 0, 1]}, r"deviation must be three numbers, .*, more than 0; got"),
        ({"size": 0}, "size must be"),
    ):
        with pytest.raises(ValueError, match=message):
            as_embedder(f"onnx:{file}", **wrong)


def test_an_onnx_file_that_takes_tokens(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    weights = np.random.default_rng(0).normal(size=(len(VOCABULARY), 6)).astype(np.float32)
    file = saved_onnx(
        tmp_path / "tiny.onnx",
        [
            onnx.helper.make_node("Gather", ["w", "input_ids"], ["tokens"]),
            onnx.helper.make_node("Cast", ["attention_mask"], ["unused"], to=onnx.TensorProto.FLOAT),
        ],
        [tensor("input_ids", "INT64", ["n", "m"]), tensor("attention_mask", "INT64", ["n", "m"])],
        [tensor("tokens", "FLOAT", ["n", "m", 6]), tensor("unused", "FLOAT", ["n", "m"])],
        {"w": weights},
    )
    with pytest.raises(ValueError, match=r"takes tokens and needs the tokenizer.json that belongs to it"):
        OnnxModel(file)
    tokenizer().save(str(tmp_path / "tokenizer.json"))
    X = OnnxModel(file).fit_transform(SENTENCES)
    means = [weights[[VOCABULARY.index(word) for word in text.split()]].mean(axis=0) for text in SENTENCES]
    np.testing.assert_allclose(X, means, rtol=1e-5, atol=1e-6)  # padding does not count


def test_an_onnx_file_that_takes_something_else_is_refused(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    file = saved_onnx(
        tmp_path / "odd.onnx",
        [onnx.helper.make_node("Identity", ["x"], ["y"])],
        [tensor("x", "FLOAT", ["n", 3])],
        [tensor("y", "FLOAT", ["n", 3])],
        {},
    )
    with pytest.raises(ValueError, match=r"must take images, tokens or strings; its input 'x' is tensor\(float\)"):
        OnnxModel(file)
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="must be an ONNX model that onnxruntime can run"):
        OnnxModel(tmp_path / "bad.onnx")
    with pytest.raises(ValueError, match=r"must hold one \.onnx file; it holds 2"):
        OnnxModel(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        OnnxModel(tmp_path / "none.onnx")
