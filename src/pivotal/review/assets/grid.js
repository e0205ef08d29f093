// Many rows at once: cards to select, and one decision for all of them.

import { byId, empty, make, named, percent, picture, plural, whole } from "./dom.js";
import { decisionText, tag } from "./card.js";

export function showGrid(state, { open, select, selectAll, note, page }) {
  const { queue, about, selected } = state;
  const cards = queue.items.map((item, place) => {
    const chosen = selected.has(item.row);
    const label = `Row ${item.id}: ${named(item.given)}, suggested ${named(item.suggested)}, ${percent(item.confidence)}`;
    return make("div", {
      class: `tile ${chosen ? "chosen" : ""}`, role: "option", "aria-selected": String(chosen), "aria-label": label,
      tabindex: place === state.focus ? "0" : "-1", "data-place": String(place), "data-row": String(item.row),
      onclick: (event) => select(place, event.shiftKey),
      ondblclick: () => open(item.row),
    },
    picture(about, item.row, "tile-picture"),
    item.text === null ? null : make("p", { class: "snippet" }, item.text),
    make("div", { class: "from" }, tag(item.given, "given"), "→", tag(item.suggested, "suggested")),
    make("div", { class: "foot" }, make("span", { class: "id" }, item.id), make("span", null, percent(item.confidence))),
    item.decision ? make("p", { class: "ruling" }, decisionText(item.decision)) : null);
  });
  const button = (name, text, there, act) => there && make("button", {
    type: "button", class: "quiet", "data-keep": name, onclick: act,
  }, text);
  const last = state.offset + queue.items.length;
  return [
    make("div", { class: "bar" },
      make("p", { class: "note grow" },
        selected.size ? `${plural(selected.size, "row")} selected: the next decision is about all of them.`
          : "Click or Space selects, Shift selects a range, A selects all, double click or Enter opens a row."),
      button("open", "Open", selected.size === 1, () => open([...selected][0])),
      button("note", "Note", selected.size > 0, note),
      button("all", chosenAll(state) ? "Select none" : "Select all", queue.items.length > 0, selectAll)),
    queue.items.length
      ? make("div", { class: "tiles", role: "listbox", "aria-multiselectable": "true", "aria-label": "Rows" }, cards)
      : empty("No row here.", "Choose another queue, or clear the filters."),
    make("div", { class: "pager" },
      make("span", { class: "note" }, queue.total ? `${whole(state.offset + 1)} to ${whole(last)} of ${whole(queue.total)}` : ""),
      make("button", { type: "button", class: "quiet", disabled: state.offset === 0, onclick: () => page(-1) }, "Previous"),
      make("button", { type: "button", class: "quiet", disabled: last >= queue.total, onclick: () => page(1) }, "Next")),
  ];
}

const chosenAll = ({ queue, selected }) => queue.items.every(({ row }) => selected.has(row));

// What is selected, and where the keys are.
export function selecting(state, render) {
  const range = (from, to) => {
    for (const { row } of state.queue.items.slice(Math.min(from, to), Math.max(from, to) + 1)) state.selected.add(row);
  };
  const focus = (place) => {
    state.focus = place;
    render();
    byId("grid").querySelector(`[data-place="${place}"]`)?.focus();
  };
  const one = (place, asRange) => {
    const item = state.queue.items[place];
    if (!item) return;
    if (asRange) range(state.anchor, place);
    else {
      if (!state.selected.delete(item.row)) state.selected.add(item.row);
      state.anchor = place;
    }
    focus(place);
  };
  const all = () => {
    const none = chosenAll(state);
    for (const { row } of state.queue.items) none ? state.selected.delete(row) : state.selected.add(row);
    render();
  };
  return { one, range, focus, all };
}

// Where an arrow key leads, from how the tiles lie.
export function move(grid, place, key) {
  const tiles = [...grid.querySelectorAll(".tile")];
  if (!tiles.length) return 0;
  const top = tiles[0].offsetTop;
  const columns = Math.max(1, tiles.filter((tile) => tile.offsetTop === top).length);
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  return Math.max(0, Math.min(tiles.length - 1, place + steps[key]));
}
