// The page as a whole: what is shown, what keys do, what is sent to the server.

import { beginPictures, byId, empty, make, named, percent, plural, say, store, stored, unique } from "./dom.js";
import { Refused, ask, leave, page } from "./server.js";
import { addFilters } from "./filters.js";
import { showCard } from "./card.js";
import { showStrip } from "./strip.js";
import { selecting, showGrid } from "./grid.js";
import { listen } from "./keys.js";
import { showConfusion, showMap } from "./chart.js";
import { askNote, askReviewer, chooseLabel, close, isOpen, showFinish, showHelp } from "./dialogs.js";

const state = {
  about: null, strip: null, queue: null, item: null, reviewer: "", view: "one", offset: 0, pinned: null,
  query: { kind: "suspects", given: null, suggested: null, owner: null, confidence: 0, search: "", rows: null },
  selected: new Set(), focus: 0, anchor: 0, busy: false, finished: false,
  get narrowed() {
    const { given, suggested, owner, confidence, search, rows } = this.query;
    return Boolean(given || suggested || owner || confidence || search || rows);
  },
};
const SIZES = { one: 25, grid: 60, map: 1, confusion: 1 };
const ACTIONS = [
  ["keep", "Keep", "K"], ["fix", "Fix", "F"], ["label", "Other", "L"], ["drop", "Drop", "D"], ["unsure", "Unsure", "U"],
  ["undo", "Undo", "Z"],
];
let filters = null;
let redrawMap = null;
const select = selecting(state, () => render());

// ------------------------------------------------------------------------------------------------------------ start

async function start() {
  setTheme(stored("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  for (;;) {
    const answer = await ask("api/progress");
    if (answer.failed) {
      byId("stage").textContent = answer.failed;
      byId("share").hidden = true;
      return;
    }
    state.reviewer ||= stored("reviewer") || answer.reviewer;
    if (answer.ready) break;
    byId("stage").textContent = answer.share > 0 ? `${answer.stage}: ${percent(answer.share)}` : answer.stage;
    if (answer.share > 0) byId("share").value = answer.share;
    else byId("share").removeAttribute("value");
    await new Promise((done) => setTimeout(done, 150));
  }
  state.about = await ask("api/about");
  state.strip = state.about.strip;
  sortClasses();
  document.title = `${state.about.name} · review`;
  byId("name").textContent = state.about.name;
  byId("column").textContent = `${plural(state.about.n_rows, "row")}, label column “${state.about.label}”`;
  byId("reviewer").textContent = state.reviewer;
  byId("estimated").textContent = state.about.estimated;
  byId("estimated").hidden = !state.about.estimated;
  byId("waiting").hidden = true;
  filters = addFilters(state, askAll, async () => {
    await saveNote();
    state.offset = 0;
    state.pinned = null;
    state.selected.clear();
    await refresh();
    await draw();
  });
  addActions();
  await refresh();
  beat();
}

// 2 before 10, and capitals beside small letters.
function sortClasses() {
  const { compare } = new Intl.Collator("en", { numeric: true });
  state.about.codes = state.about.classes.map(({ name }) => name); // by the numbers that the map has
  state.about.classes = [...state.about.classes].sort((one, two) => compare(one.name, two.name));
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  byId("theme").setAttribute("aria-label", name === "dark" ? "Light mode" : "Dark mode");
  if (redrawMap && state.view === "map") redrawMap();
}

// ------------------------------------------------------------------------------------------------------- the server

const wanted = () => ({
  query: { ...state.query, reviewer: state.reviewer }, offset: state.offset, limit: SIZES[state.view], open: state.pinned,
});

let newest = 0; // answers may overtake each other; only the one asked for last is shown

async function refresh() {
  const asked = ++newest;
  const answer = await ask("api/queue", wanted()).catch(refused);
  if (answer && asked === newest) take(answer);
}

function take(answer) {
  newest += 1; // an older question is not answered after this
  if (answer.n_classes > state.about.classes.length) {
    ask("api/about").then(({ classes }) => {
      state.about.classes = classes;
      sortClasses();
    });
  }
  state.strip = answer.strip;
  state.queue = answer.queue;
  state.offset = answer.queue.offset;
  state.item = answer.item;
  render();
}

function refused(error) {
  if (!(error instanceof Refused)) throw error;
  say(error.message);
}

// Rows that a decision is about: those selected in the grid, or the one that is shown.
const subject = () => (state.view === "grid"
  ? state.selected.size ? [...state.selected] : state.queue.items[state.focus] ? [state.queue.items[state.focus].row] : []
  : state.view === "one" && state.item ? [state.item.row] : []);

const decision = (rows, action, note) => ({
  ...wanted(), rows, action, note, label: null, reviewer: state.reviewer, batch: unique(), queue: state.query.kind,
});

async function decide(action, label) {
  const rows = subject();
  if (state.busy || state.finished || !rows.length) return;
  if (action === "label" && label === undefined) {
    chooseLabel(state, state.view === "one" ? state.item : null, (name) => decide("label", name));
    return;
  }
  state.busy = true;
  const note = state.view === "one" ? draft() : "";
  const shown = state.view === "grid" ? state.queue.items.find(({ row }) => row === rows[0]) : state.item;
  const opened = state.pinned;
  state.pinned = null;
  try {
    const answer = await ask("api/decide", { ...decision(rows, action, note), label: label ?? null });
    state.selected.clear();
    take(answer);
    const done = { keep: "Kept", fix: "Fixed", label: `Labelled ${named(label ?? "")}`, drop: "Dropped", unsure: "Unsure" }[action];
    const what = rows.length > 1 ? plural(rows.length, "row") : `row ${shown ? shown.id : rows[0]}`;
    say(`${done}: ${what}. Z takes it back.`);
  } catch (error) {
    state.pinned = opened;
    refused(error);
  } finally {
    state.busy = false;
  }
}

// What is written in the field for a note and not saved yet.
function draft() {
  const field = byId("note");
  return field && state.view === "one" && field.dataset.row === String(state.item?.row) ? field.value.trim() : "";
}

async function writeNote(rows, note, open) {
  const answer = await ask("api/decide", { ...decision(rows, "note", note), open }).catch(refused);
  if (!answer) return;
  byId("note")?.removeAttribute("data-row"); // written, so no draft any more
  take(answer);
  say(rows.length > 1 ? `Note saved for ${plural(rows.length, "row")}.` : "Note saved.");
}

const saveNote = () => (draft() ? writeNote([state.item.row], draft(), state.item.row) : null);

// In the grid a note is about all rows that are selected.
function startNote() {
  if (state.view === "one") byId("note")?.focus();
  else if (subject().length) askNote(subject().length, (note) => writeNote(subject(), note, null));
}

async function undo() {
  if (state.busy || state.finished) return;
  state.busy = true;
  try {
    const answer = await ask("api/undo", { ...wanted(), open: null, reviewer: state.reviewer, batch: unique() });
    if (answer.undone.length) {
      state.pinned = answer.undone[0];
      answer.item = await ask(`api/item/${state.pinned}`);
      say(`Taken back: ${answer.undone.length > 1 ? plural(answer.undone.length, "row") : `row ${answer.item.id}`}.`);
    } else say("There is nothing of yours to take back.");
    take(answer);
  } catch (error) {
    refused(error);
  } finally {
    state.busy = false;
  }
}

// All voters judge the table as it is now; decisions continue meanwhile.
async function askAll() {
  const { asked } = state.strip;
  if (!asked.possible || asked.running || state.finished) return;
  if (!await ask("api/again", {}).catch(refused)) return;
  asked.running = true;
  filters.show();
  say("The voters are being fitted again; go on meanwhile.");
}

// Others may decide too, in another tab or on another machine.
async function beat() {
  while (!state.finished) {
    await new Promise((done) => setTimeout(done, 2000));
    const known = state.strip.version;
    const answer = await ask(`api/pulse?page=${page}`);
    const isOthers = answer.version !== known && known === state.strip.version; // not a decision made here meanwhile
    if (answer.finished) ended();
    else if (state.strip.asked.running && !answer.asking) {
      await refresh();
      say(answer.failed || "The voters have been fitted again; the queue is up to date.");
    } else if (isOthers && !state.busy && !isOpen()) {
      state.pinned ??= state.view === "one" && state.item ? state.item.row : null;
      await refresh();
      say("Another reviewer decided; the queue is up to date.");
    }
  }
}

// ---------------------------------------------------------------------------------------------------------- showing

function render() {
  beginPictures();
  const kept = document.activeElement?.dataset.keep;
  for (const name of Object.keys(SIZES)) byId(name).hidden = name !== state.view;
  for (const button of byId("views").children) button.setAttribute("aria-pressed", String(button.dataset.view === state.view));
  showStrip(state);
  filters.show();
  const note = byId("note");
  const typed = note && note.dataset.row === String(state.item?.row) ? note.value : "";
  if (state.view === "one") {
    byId("one").replaceChildren(...showCard(state, openRow, step));
    if (state.item) byId("one").querySelector(".card").append(noteField(typed));
  }
  if (state.view === "grid") {
    byId("grid").replaceChildren(...showGrid(state, {
      open: openRow, select: select.one, selectAll: select.all, note: startNote, page: turn,
    }));
  }
  if (kept) byId(state.view).querySelector(`[data-keep="${kept}"]:enabled`)?.focus(); // where the keys were
  renderActions();
}

function noteField(typed) {
  return make("section", { class: "note-field" },
    make("label", { for: "note" }, "Note"),
    make("textarea", { id: "note", rows: "2", maxlength: "10000", placeholder: "Why? Goes with the decision.  ( N )", "data-row": String(state.item.row) }, typed),
    make("button", { type: "button", class: "quiet", onclick: saveNote }, "Save note only"));
}

function addActions() {
  byId("actions").replaceChildren(...ACTIONS.map(([action, text, key]) => make("button", {
    type: "button", "data-action": action, class: action === "fix" ? "primary" : "quiet", "aria-keyshortcuts": key,
    onclick: () => (action === "undo" ? undo() : decide(action)),
  }, make("span", { class: "text" }, text), make("kbd", { "aria-hidden": "true" }, key))));
}

function renderActions() {
  const rows = subject();
  byId("actions").hidden = state.view !== "one" && state.view !== "grid";
  for (const button of byId("actions").children) {
    const { action } = button.dataset;
    button.disabled = action !== "undo" && !rows.length;
    if (action !== "fix") continue;
    const text = button.querySelector(".text");
    const suggestion = state.view === "one" && state.item && state.item.suggested !== state.item.given;
    text.textContent = suggestion ? `Fix: ${named(state.item.suggested)}` : "Fix";
    if (state.view === "one" && state.item && !suggestion) button.disabled = true;
  }
}

// --------------------------------------------------------------------------------------------------------- going about

async function setView(name) {
  if (state.view === name) return;
  await saveNote(); // what was written about a row is not lost by looking at another
  if (state.view === "grid") state.offset += state.focus; // the row that one was at stays the one that one is at
  state.focus = name === "grid" ? state.offset % SIZES.grid : 0;
  state.offset -= state.focus;
  state.view = name;
  state.selected.clear();
  if (name !== "one") state.pinned = null;
  await refresh();
  if (name === "one") byId("row-title")?.focus({ preventScroll: true });
  if (name === "grid") byId("grid").querySelector(`[data-place="${state.focus}"]`)?.focus({ preventScroll: true });
  await draw();
}

// What the map and the confusions show, by the filters as they are.
async function draw() {
  const query = { ...state.query, reviewer: state.reviewer };
  if (state.view === "map") {
    redrawMap = await showMap(state, {
      load: () => ask("api/map", { query }), open: openRow,
      chosen: (rows) => {
        Object.assign(state.query, { kind: "all", rows });
        state.offset = 0;
        setView("grid").then(() => say(`${plural(rows.length, "row")} selected on the map.`));
      },
    });
  }
  if (state.view === "confusion") {
    const answer = await ask("api/confusion", { query });
    showConfusion(state, answer, (given, suggested) => {
      Object.assign(state.query, { given, suggested });
      state.offset = 0;
      setView("one");
    });
  }
}

async function openRow(row) {
  await saveNote();
  state.pinned = row;
  state.view = "one";
  await refresh();
  byId("row-title")?.focus({ preventScroll: true });
}

async function step(by) {
  if (!state.queue) return;
  if (state.view === "grid") {
    turn(by);
    return;
  }
  await saveNote();
  const back = state.pinned !== null && state.queue.items[0]?.row !== state.item?.row;
  state.pinned = null;
  if (!back) state.offset = Math.max(0, Math.min(state.queue.total - 1, state.offset + by));
  refresh();
}

function turn(by) {
  const offset = Math.max(0, state.offset + by * SIZES.grid);
  if (offset >= state.queue.total || offset === state.offset) return;
  state.offset = offset;
  state.focus = 0;
  refresh().then(() => byId("work").scrollIntoView());
}

function ended() {
  state.finished = true;
  if (isOpen()) close();
  for (const id of ["strip", "estimated", "stop", "filters", "sentence", "actions", "views", "lost", "finish"]) {
    byId(id).hidden = true;
  }
  byId("work").replaceChildren(empty("Finished.", "Every decision is in the journal. You can close this page."));
}

listen(state, {
  decide, undo, startNote, saveNote, step, setView, askAll, select, openRow, render,
  search: () => filters.focus(), clear: () => filters.clear(), help: () => showHelp(state),
});

byId("views").addEventListener("click", ({ target }) => target.dataset.view && setView(target.dataset.view));
byId("help").addEventListener("click", () => showHelp(state));
byId("theme").addEventListener("click", () => {
  const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  store("theme", name);
  setTheme(name);
});
byId("reviewer").addEventListener("click", () => askReviewer(state, (name) => {
  state.reviewer = name;
  store("reviewer", name);
  byId("reviewer").textContent = name;
  refresh();
}));
byId("finish").addEventListener("click", () => state.strip && showFinish(state, async () => {
  await ask("api/finish", {});
  ended();
}));
window.addEventListener("pagehide", leave);

start();
