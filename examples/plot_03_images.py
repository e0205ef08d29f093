"""
# Wrong labels in pictures

Handwritten digits, some of them with the label of another one. Small pictures of one thing can be compared pixel by pixel;
photographs need features: `pivotal.embed` has histograms of gradients and colours, and takes networks of timm, open_clip
or ONNX.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import pivotal

digits = load_digits()
rng = np.random.default_rng(0)
given = digits.target.copy()
flipped = rng.choice(len(given), 90, replace=False)
given[flipped] = (given[flipped] + rng.integers(1, 10, 90)) % 10

errors = pivotal.find_label_errors(digits.data, given)
print(errors)

# %%
# The twenty-four most suspicious, with the given label and the suggested one. A cross marks those whose label is right.

figure, axes = plt.subplots(3, 8, figsize=(9, 4.2))
for ax, row in zip(axes.flat, errors.order[:24], strict=True):
    ax.imshow(digits.images[row], cmap="gray_r")
    right = given[row] == digits.target[row]
    ax.set_title(
        f"{given[row]} → {errors.suggested[row]}{'  ✗' if right else ''}", fontsize=10
    )
    ax.axis("off")
figure.tight_layout()

# %%
# The same with features: histograms of gradients, made without a model.

pictures = [(picture * 15).astype(np.uint8) for picture in digits.images]
features = pivotal.embed.ImageHistograms().fit_transform(pictures)
found = pivotal.find_label_errors(features, given)
for name, result in {"pixels": errors, "histograms": found}.items():
    hits = np.isin(result.order[:90], flipped).sum()
    print(f"{name:10} {hits} of the 90 most suspicious are wrong")
