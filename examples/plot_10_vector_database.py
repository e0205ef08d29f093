"""
# Vectors in a database

Embeddings often live in a vector database already. An adapter asks it for the neighbours; whether they are exact is
measured, not believed. DuckDB is used here; LanceDB, Qdrant, Chroma, pgvector and usearch work alike.
"""

import duckdb
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import pivotal
from pivotal.interop import DuckDBNeighbors

digits = load_digits()
connection = duckdb.connect()
connection.execute("create table digits (id integer, vector float[64], label integer)")
rows = [
    (row, pixels.tolist(), int(label))
    for row, (pixels, label) in enumerate(zip(digits.data, digits.target, strict=True))
]
connection.executemany("insert into digits values (?, ?, ?)", rows[:800])

store = DuckDBNeighbors(connection, "digits")
values = pivotal.value(
    store.vectors(),
    store.column("label"),
    k=5,
    utility="soft",
    neighbors=store,
    ids=store.keys,
)
print(values)
print(
    f"neighbours exact: {values.neighbors_exact}, recall {values.recall:.0%} on a sample of the queries"
)

# %%
# The keys of the table come back as ids, so that results can be joined to it.

lowest = values.bottom(8)
frame = lowest.reset_index()
connection.execute("create table worth as select id::integer as id, value from frame")
print(
    connection.sql(
        "select digits.id, label, value from worth join digits using (id) order by value limit 8"
    )
)

figure, axes = plt.subplots(1, 8, figsize=(9, 1.6))
for ax, row in zip(axes, lowest.index, strict=True):
    ax.imshow(digits.images[int(row)], cmap="gray_r")
    ax.set_title(f"a {digits.target[int(row)]}?", fontsize=10)
    ax.axis("off")
figure.suptitle("Digits of lowest value")
figure.tight_layout()
