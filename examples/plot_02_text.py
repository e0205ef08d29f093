"""
# Wrong labels in texts

Texts become vectors by the words and letters that they share (TF-IDF), without a download. Embeddings of your own model go
in the same way: pass the matrix instead.
"""

import random

import matplotlib.pyplot as plt
import pandas as pd

import pivotal

pick = random.Random(0)
praise = [
    "great value",
    "works well",
    "love it",
    "very happy",
    "arrived early",
    "highly recommended",
    "perfect fit",
]
blame = [
    "broke at once",
    "waste of money",
    "arrived late",
    "never again",
    "very disappointed",
    "stopped working",
]
things = [
    "kettle",
    "lamp",
    "jacket",
    "phone",
    "tent",
    "chair",
    "book",
    "clock",
    "bag",
    "radio",
]
texts, labels = [], []
for number in range(400):
    phrases = pick.sample(blame if number % 2 else praise, 2) + pick.sample(
        praise + blame, 1
    )
    texts.append(f"The {pick.choice(things)}: {', '.join(phrases)}.")
    labels.append("bad" if number % 2 else "good")
reviews = pd.DataFrame({"text": texts, "label": labels})
wrong = list(range(0, 400, 25))
reviews.loc[wrong, "label"] = reviews.loc[wrong, "label"].map(
    {"good": "bad", "bad": "good"}
)

# %%
# `pivotal.clean` takes the data frame, or the name of a file. It says what it did with each column.

errors = pivotal.clean(reviews, label="label")
print(errors.settings["columns"])
print(errors)
errors.to_frame().head()

# %%
# The suspects, and what is known of them here because the labels were changed on purpose.

scores = pd.Series(errors.scores)
figure, ax = plt.subplots(figsize=(7, 3.5))
bins = [step / 20 for step in range(21)]
ax.hist(
    [scores.drop(wrong), scores[wrong]],
    bins=bins,
    stacked=True,
    label=["label is right", "label is wrong"],
)
ax.set(
    xlabel="score of the given label (low is suspicious)",
    ylabel="reviews",
    yscale="log",
)
ax.legend()
figure.tight_layout()
