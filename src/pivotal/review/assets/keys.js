// What keys do. Those that fields, buttons and open lists have a use for stay theirs.

import { byId } from "./dom.js";
import { isOpen } from "./dialogs.js";
import { move } from "./grid.js";

// The focus leaves a dialog a moment after it is closed: keys pressed meanwhile are for the page.
const isShut = (target) => target.closest("dialog:not([open])") !== null;
const inField = (target) => target.closest("input, textarea, select") !== null && !isShut(target);

export function listen(state, page) {
  const { decide, setView, step } = page;
  const view = (name) => () => setView(state.view === name ? "one" : name);
  const keys = {
    k: () => decide("keep"), f: () => decide("fix"), l: () => decide("label"), d: () => decide("drop"), u: () => decide("unsure"),
    z: page.undo, n: page.startNote, j: () => step(1), h: () => step(-1), g: view("grid"), m: view("map"), c: view("confusion"),
    r: page.askAll, "/": page.search, "?": page.help,
  };
  const gridKeys = {
    " ": () => page.select.one(state.focus, false),
    a: () => {
      page.select.all();
      page.select.focus(state.focus);
    },
    Enter: () => state.queue.items[state.focus] && page.openRow(state.queue.items[state.focus].row),
  };
  for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) {
    gridKeys[key] = ({ shiftKey }) => {
      const place = move(byId("grid"), state.focus, key);
      if (shiftKey) {
        if (!state.selected.size) state.anchor = state.focus;
        page.select.range(state.anchor, place);
      }
      page.select.focus(place);
    };
  }
  const oneKeys = { ArrowRight: () => step(1), ArrowLeft: () => step(-1), Enter: () => decide("fix") };

  const escape = (target) => {
    if (inField(target)) target.blur();
    else if (state.selected.size) {
      state.selected.clear();
      page.render();
    } else if (state.pinned !== null) step(0);
    else if (state.narrowed) page.clear();
  };

  document.addEventListener("keydown", (event) => {
    if (!state.queue || state.finished || isOpen() || event.defaultPrevented) return; // the last: it closed a dialog
    if (event.ctrlKey || event.metaKey || event.altKey) {
      if (event.key === "Enter" && event.target.id === "note") page.saveNote();
      return;
    }
    if (event.key === "Escape") {
      escape(event.target);
      return;
    }
    const isPressed = event.target.closest("button, a, summary") !== null && !isShut(event.target) &&
      (event.key === "Enter" || event.key === " ");
    if (inField(event.target) || isPressed) return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const act = (state.view === "grid" && gridKeys[name]) || (state.view === "one" && oneKeys[name]) || keys[name];
    if (!act) return;
    event.preventDefault();
    act(event);
  });
}
