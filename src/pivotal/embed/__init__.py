"""Texts and images to vectors: `fit` and `transform` on lists of str, paths, Pillow images and arrays.

    TfidfText                  words and character n-grams, counted: built in
    ImagePixels                pixels, reduced to principal components: built in
    ImageHistograms            gradients and colours, counted: built in
    SentenceTransformerText    a model of sentence-transformers
    Model2VecText              a static model of model2vec
    TimmImages                 a network of timm
    OpenClipImages             the image side of a CLIP model
    OnnxModel                  any ONNX file
    CallableModel              any function, torch module or object with `encode`

`as_embedder` makes them by name. Vectors of models are kept on disk by the content of items and model
(`EmbeddingCache`), so that work that was interrupted resumes where it stopped. `embed` calls a model on items of any
kind.
"""

from pivotal.embed._callables import CallableModel, embed
from pivotal.embed._catalogue import as_embedder, catalogue
from pivotal.embed._embedder import Embedder, ModelEmbedder
from pivotal.embed._onnx import OnnxModel
from pivotal.embed._pixels import ImageHistograms, ImagePixels
from pivotal.embed._sentences import Model2VecText, SentenceTransformerText
from pivotal.embed._tfidf import TfidfText
from pivotal.embed._vector_cache import CachedModel, EmbeddingCache
from pivotal.embed._vision import OpenClipImages, TimmImages

__all__ = [
    "CachedModel",
    "CallableModel",
    "Embedder",
    "EmbeddingCache",
    "ImageHistograms",
    "ImagePixels",
    "Model2VecText",
    "ModelEmbedder",
    "OnnxModel",
    "OpenClipImages",
    "SentenceTransformerText",
    "TfidfText",
    "TimmImages",
    "as_embedder",
    "catalogue",
    "embed",
]
