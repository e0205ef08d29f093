"""torch, where it is installed: which device, and which weights."""

from __future__ import annotations

from typing import Any

from pivotal.embed._items import digest

__all__ = ["choose_device", "need_torch", "state_digest"]


def need_torch(what: str, extra: str) -> Any:
    """Return torch; raise where it is not installed."""
    try:
        import torch
    except ImportError:
        raise ImportError(f"{what} needs torch; install it with: pip install 'pivotal[{extra}]'") from None
    return torch


def choose_device(torch: Any, device: str) -> str:
    """Return the device to compute on: the one asked for, or the fastest there is."""
    if device != "auto":
        try:
            return str(torch.device(device))
        except RuntimeError as error:
            first = str(error).splitlines()[0]
            raise ValueError(
                f"device must be one of torch's, such as cpu, cuda or mps; got {device!r} ({first})."
            ) from None
    if torch.cuda.is_available():
        return "cuda"
    mps = getattr(torch.backends, "mps", None)
    return "mps" if mps is not None and mps.is_available() else "cpu"


def state_digest(module: Any) -> bytes:
    """Return the digest of a module: its layers and settings as torch writes them, and every weight."""
    parts = [repr(module).encode(), type(module).__qualname__.encode()]
    for name, tensor in sorted(module.state_dict().items()):
        if not hasattr(tensor, "detach"):
            parts.append(f"{name}={tensor!r}".encode())
            continue
        kept = tensor.detach().cpu().contiguous()
        parts.append(f"{name}:{kept.dtype}:{tuple(kept.shape)}".encode())
        parts.append(_bytes_of(kept))
    return digest(*parts)


def _bytes_of(tensor: Any) -> bytes:
    import torch

    raw: bytes = tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    return raw
