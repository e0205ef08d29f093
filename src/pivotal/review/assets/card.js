// One row: what it is, what speaks against its label, who its neighbours are.

import { empty, make, named, percent, picture, scroller, small, whole } from "./dom.js";

const ACTIONS = {
  keep: "kept", fix: "fixed", label: "relabelled", drop: "dropped", unsure: "unsure", note: "noted",
};

export function decisionText({ action, label, reviewer }) {
  const to = action === "fix" || action === "label" ? ` to ${named(label)}` : "";
  return `${ACTIONS[action]}${to} by ${reviewer}`;
}

export function tag(text, kind) {
  return make("span", { class: `tag ${kind || ""}`, title: text }, named(text));
}

export function showCard(state, open, step) {
  const { item, about } = state;
  if (!item) {
    return [state.query.kind === "suspects" && !state.narrowed
      ? empty("No suspect is left.", "Look at random rows to learn what was missed, or finish.")
      : empty("No row here.", "Choose another queue, or clear the filters.")];
  }
  return [list(state, open), make("article", { class: "card", "aria-labelledby": "row-title" },
    head(item, state, step), looks(item, about), cells(item)), evidence(item, about, open)];
}

function list(state, open) {
  const { queue, about, item } = state;
  return make("aside", { class: "upcoming", "aria-label": "Next in the queue" },
    make("h2", null, "Next"),
    make("ol", null, queue.items.map((one) =>
      make("li", null, make("button", {
        type: "button", class: "line", "aria-current": one.row === item.row ? "true" : null, onclick: () => open(one.row),
      },
      picture(about, one.row, "tiny"),
      make("span", { class: "grow" },
        make("span", { class: "id" }, one.id),
        make("span", { class: "from" }, tag(one.given, "given"), "→", tag(one.suggested, "suggested"))),
      make("span", { class: "number" }, percent(one.confidence)))))));
}

// By mouse and on a phone: what J and H do, and Escape for a row that was opened from elsewhere.
function place(item, { queue, offset, pinned }, step) {
  const button = (name, text, label, by, disabled) => make("button", {
    type: "button", class: "quiet", "data-keep": name, "aria-label": label, title: label, disabled, onclick: () => step(by),
  }, text);
  const inOrder = pinned === null || queue.items[0]?.row === item.row;
  return make("div", { class: "place" }, inOrder ? [
    make("span", { class: "note" }, `${whole(offset + 1)} of ${whole(queue.total)}`),
    button("previous", "‹", "Previous row", -1, offset === 0),
    button("next", "›", "Next row", 1, offset + 1 >= queue.total),
  ] : button("back", "Back to the queue", null, 0, false));
}

function head(item, state, step) {
  const suggests = item.suggested !== item.given;
  const decided = item.decision
    ? make("p", { class: `ruling ${item.conflict ? "bad" : ""}` },
        `Decided: ${decisionText(item.decision)}${item.conflict ? ". Reviewers disagree; the last decision holds" : ""}.`)
    : null;
  const others = item.history.length > 1
    ? make("details", { class: "history" }, make("summary", null, `${item.history.length} entries`),
        make("ol", null, item.history.map((entry) => make("li", null,
          `${entry.at.slice(0, 16).replace("T", " ")} ${decisionText(entry)}${entry.note ? `: ${entry.note}` : ""}`))))
    : null;
  return make("header", { class: "head" },
    make("div", { class: "title" },
      make("h2", { id: "row-title", tabindex: "-1" }, `Row ${item.id}`),
      item.owner === null ? null : make("span", { class: "note" }, `owner ${named(item.owner)}`),
      place(item, state, step)),
    make("div", { class: "verdict" },
      make("div", { class: "side" }, make("span", { class: "caption" }, "Given label"), tag(item.given, "given big")),
      make("span", { class: "arrow", "aria-hidden": "true" }, "→"),
      make("div", { class: "side" },
        make("span", { class: "caption" }, suggests ? "Suggested" : "No other label suggested"),
        tag(item.suggested, suggests ? "suggested big" : "big")),
      make("div", { class: "side sure" }, make("span", { class: "caption" }, "Confidence"),
        make("span", { class: "big-number" }, percent(item.confidence)))),
    item.reasons.map(({ title, text }) => make("p", { class: "reason" }, make("strong", null, `${title}. `), text)),
    decided, others,
    item.note && !item.history.length ? make("p", { class: "ruling" }, `Note: ${item.note}`) : null);
}

function looks(item, about) {
  if (!about.pictures && item.full_text === null) return null;
  return make("div", { class: "looks" },
    picture(about, item.row, "large"),
    item.full_text === null ? null : make("p", { class: "words", tabindex: "0", "aria-label": "Text of the row" }, item.full_text));
}

function cells(item) {
  if (!item.cells.length) return null;
  const shown = 12;
  const row = (cell) => make("tr", { class: cell.differs >= 1 ? "differs" : null },
    make("th", { scope: "row", title: cell.name }, cell.name),
    make("td", { class: "own" }, make("span", { class: "snippet" }, cell.cell)),
    cell.near.map((text) => make("td", { class: text === cell.cell ? "same" : null }, make("span", { class: "snippet" }, text))));
  const head = make("tr", null, make("th", { scope: "col" }, "Column"), make("th", { scope: "col" }, "This row"),
    item.neighbors.slice(0, item.cells[0].near.length).map((other) =>
      make("th", { scope: "col" }, tag(other.label ?? "dropped", kindOf(other, item)))));
  const body = make("tbody", null, item.cells.slice(0, shown).map(row));
  const rest = item.cells.length - shown;
  const more = rest > 0
    ? make("button", { type: "button", class: "quiet", onclick: (event) => {
        body.append(...item.cells.slice(shown).map(row));
        event.target.remove();
      } }, `Show ${whole(rest)} more columns`)
    : null;
  return make("section", { class: "cells" },
    make("h3", null, "Columns, the largest differences from its neighbours first"),
    scroller("Columns of the row and its neighbours", make("table", null, make("thead", null, head), body)), more);
}

const kindOf = ({ label }, { given, suggested }) => (label === given ? "given" : label === suggested ? "suggested" : "");

function evidence(item, about, open) {
  const votes = make("section", null, make("h3", null, "What its neighbours vote for"),
    make("ul", { class: "votes" }, item.votes.map(({ label, share }) => {
      const kind = kindOf({ label }, item);
      return make("li", null, tag(label, kind),
        make("meter", { min: "0", max: "1", value: String(share), class: kind, "aria-label": `votes for ${named(label)}` }),
        make("span", { class: "number" }, percent(share)));
    })),
    make("p", { class: "note" }, "The nearer, the more votes. Confidence is the share of all voters together."));
  const line = (other, right) => make("li", null, make("button", { type: "button", class: "line", onclick: () => open(other.row) },
    picture(about, other.row, "tiny"),
    make("span", { class: "grow" }, make("span", { class: "id" }, other.id),
      other.text ? make("span", { class: "snippet" }, other.text) : null),
    tag(other.label ?? "dropped", kindOf(other, item)),
    right === null ? null : make("span", { class: "number" }, right)));
  const near = make("section", null, make("h3", null, "Nearest rows"),
    make("ol", { class: about.pictures && !about.text ? "near pictures" : "near" }, item.neighbors.map((other) =>
      line(other, null))));
  const harmed = item.harmed.length
    ? make("section", null, make("h3", null, "Predictions that it harms"),
        make("ol", { class: "near" }, item.harmed.map((other) => line(other, small(other.harm)))))
    : null;
  const facts = make("p", { class: "note" },
    `Value ${small(item.value)}. ${item.value < 0 ? "It harms more predictions than it helps." : ""}`);
  return make("aside", { class: "evidence", "aria-label": "What speaks for and against the label" },
    votes, near, harmed, facts);
}

