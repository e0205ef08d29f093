"""torch and what builds on it, where it is installed: which device, and which weights."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from pivotal.core.extras import causes, missing
from pivotal.core.identity import is_installed, token
from pivotal.embed._items import digest

# Told with the weights, or set while vectors are computed.
_ELSEWHERE = frozenset({"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "training"})


def import_package(package: str, extra: str) -> Any:
    """Import a package, by its name on PyPI; raise where it is not installed, and where it is and its imports fail."""
    module = package.replace("-", "_")
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:  # a folder of the user's with that name is no package
        raise missing(f"{package} is not installed", extra)
    try:
        return importlib.import_module(module)
    except Exception as error:  # whatever a package does when it is imported
        *_, first = causes(error)  # the packages above it only say that it failed
        reason = next(iter(str(first).splitlines()), type(first).__name__).rstrip(".")
        raise ImportError(
            f"{package} is installed, but cannot be imported: {reason}. Its packages must fit each other, torch and "
            "torchvision above all; install them together, in an environment of their own: "
            f"pip install 'pivotal[{extra}]'"
        ) from error


def choose_device(torch: Any, device: str) -> str:
    """Return the device to compute on: the one asked for, or the fastest there is."""
    if device != "auto":
        try:
            chosen = torch.device(device)
            torch.zeros(1, device=chosen)
        except (RuntimeError, AssertionError, NotImplementedError) as error:  # torch asserts that it knows CUDA
            first = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
            raise ValueError(
                f"device must be one that torch has here, such as cpu, cuda or mps; got {device!r} ({first}). "
                "Omit it for the fastest there is."
            ) from None
        return str(chosen)
    if torch.cuda.is_available():
        return "cuda"
    mps = getattr(torch.backends, "mps", None)
    return "mps" if mps is not None and mps.is_available() else "cpu"


def state_digest(module: Any) -> bytes:
    """Return the digest of a module: its layers and settings as torch writes them, its own code, and every weight.

    Raises TypeError if a module of the user's own holds something that cannot be identified by its content.
    """
    import torch

    parts = [repr(module).encode()]
    for name, inner in module.named_modules():
        parts.append(f"{name}:{token(type(inner))}".encode())
        if not is_installed(type(inner).__module__):  # those of torch and of packages write what they are
            parts.append(token(_own(inner)).encode())
    for name, tensor in sorted({**dict(module.named_buffers()), **module.state_dict()}.items()):
        if not hasattr(tensor, "detach"):
            parts.append(f"{name}={tensor!r}".encode())
            continue
        kept = tensor.detach().cpu().contiguous()
        parts.append(f"{name}:{kept.dtype}:{tuple(kept.shape)}".encode())
        parts.append(kept.reshape(-1).view(torch.uint8).numpy().tobytes() if kept.numel() else b"")
    return digest(*parts)


def _own(module: Any) -> dict[str, Any]:
    """Return what a module holds besides weights and other modules, tensors as arrays."""
    state = {name: held for name, held in vars(module).items() if name not in _ELSEWHERE}
    return {name: held.detach().cpu().numpy() if hasattr(held, "detach") else held for name, held in state.items()}


def not_only_weights(name: str) -> ValueError:
    """Return an error for a pickle that torch did not load, as it could run code."""
    return ValueError(
        f"{name} holds more than weights in a file that could run code, and is not loaded; save it as safetensors "
        "where you trust it."
    )
