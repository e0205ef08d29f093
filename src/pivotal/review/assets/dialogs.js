// What opens above the page: another label, help, who decides, and the end.

import { byId, make, named, percent, plural, whole } from "./dom.js";

const dialog = byId("dialog");

function open(title, ...content) {
  dialog.replaceChildren(make("form", { method: "dialog" },
    make("header", null, make("h2", { id: "dialog-title" }, title),
      make("button", { type: "submit", class: "quiet icon", "aria-label": "Close" }, "×")), ...content));
  dialog.setAttribute("aria-labelledby", "dialog-title");
  dialog.showModal();
}

export const isOpen = () => dialog.open;
export const close = () => dialog.close();

// A field that narrows the classes as one types; Enter takes the first, arrows another, or a new label.
export function chooseLabel(state, item, chosen) {
  const counts = new Map(item ? item.votes.map(({ label, share }) => [label, share]) : []);
  const all = state.about.classes.map(({ name }) => name);
  const first = all.filter((name) => counts.has(name)).sort((one, two) => counts.get(two) - counts.get(one));
  const ordered = [...first, ...all.filter((name) => !counts.has(name))];
  let shown = [];
  let at = 0;
  const field = make("input", {
    type: "text", autocomplete: "off", spellcheck: "false", role: "combobox", "aria-expanded": "true",
    "aria-controls": "labels", "aria-label": "Label", placeholder: "Type a label", maxlength: "500",
  });
  const list = make("ul", { id: "labels", role: "listbox", "aria-label": "Labels" });
  const about = (name, isNew) => [
    isNew && "new label", item && name === item.given && "given", item && item.suggested !== item.given && name === item.suggested && "suggested",
    counts.has(name) && `${percent(counts.get(name))} of its neighbours' votes`,
  ].filter(Boolean).join(", ");
  const take = (name) => {
    dialog.close();
    chosen(name);
  };
  const draw = () => {
    const words = field.value.trim().toLowerCase();
    shown = ordered.filter((name) => name.toLowerCase().includes(words))
      .sort((one, two) => Number(two.toLowerCase() === words) - Number(one.toLowerCase() === words)).slice(0, 50);
    const fresh = field.value.trim() !== "" && !all.includes(field.value.trim());
    if (fresh) shown.push(field.value.trim());
    at = Math.min(at, Math.max(0, shown.length - 1));
    list.replaceChildren(...shown.map((name, place) => make("li", {
      role: "option", id: `label-${place}`, "aria-selected": String(place === at), onclick: () => take(name),
    }, make("span", { class: "grow" }, named(name)),
    make("span", { class: "note" }, about(name, fresh && place === shown.length - 1)))));
    field.setAttribute("aria-activedescendant", shown.length ? `label-${at}` : "");
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  field.addEventListener("input", () => {
    at = 0;
    draw();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      at = Math.max(0, Math.min(shown.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)));
      draw();
    } else if (event.key === "Enter") {
      if (shown.length) take(shown[at]);
    } else return;
    event.preventDefault();
  });
  open("Another label", field, list);
  draw();
  field.focus();
}

function askText(title, note, field, chosen) {
  const save = () => {
    const text = field.value.trim();
    dialog.close();
    if (text) chosen(text);
  };
  open(title, make("p", { class: "note" }, note), field,
    make("footer", null, make("button", { type: "button", class: "primary", onclick: save }, "Save")));
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    save();
  });
  field.select();
}

export function askReviewer(state, chosen) {
  askText("Who decides?", "Every decision carries this name. Undo takes back your own.",
    make("input", { type: "text", value: state.reviewer, "aria-label": "Your name", maxlength: "80" }), chosen);
}

export function askNote(count, chosen) {
  askText(count > 1 ? `A note on ${plural(count, "row")}` : "A note on this row", "Enter saves it, Shift and Enter begins a new line.",
    make("textarea", { rows: "3", "aria-label": "Note", maxlength: "10000" }), chosen);
}

const KEYS = [
  ["K", "keep the label"], ["F or Enter", "fix it to the suggestion"], ["L", "give another label"], ["D", "drop the row"],
  ["U", "unsure, decide later"], ["Z", "undo, as often as you like"], ["N", "write a note"],
  ["J or →", "next row, without a decision; in the grid, J is the next page"], ["H or ←", "previous row or page"],
  ["G", "grid, and back"], ["M", "map"], ["C", "confusions"], ["/", "search"], ["R", "fit the voters again"],
  ["Space", "in the grid: select; arrows move, with Shift they select"], ["A", "in the grid: select all of the page"],
  ["Esc", "close, clear the selection, go back to the queue"], ["?", "this list"],
];

export function showHelp(state) {
  const { about } = state;
  open("Keys",
    make("dl", { class: "keys" }, KEYS.map(([key, text]) => [make("dt", null, make("kbd", null, key)), make("dd", null, text)])),
    make("p", { class: "note" },
      "Every decision is on the disk before the next row is shown, and values, votes, suggestions and suspects are exact " +
      "for the labels as they are by then. The trees, landmarks, penalties and weights of the voters stay as they were " +
      "fitted; R fits them again to the labels as they are now."),
    about.estimated ? make("p", { class: "note" }, about.estimated) : null,
    make("p", { class: "note" }, `Journal: ${about.journal}. The table itself is never changed.`));
}

export function showFinish(state, finish) {
  const { strip, about } = state;
  const link = (name, text, what) => make("a", { class: "download", href: `out/${name}`, download: "" },
    make("strong", null, text), make("span", { class: "note" }, what));
  const agreement = strip.agreement.map((one) => make("li", null,
    `${one.reviewers.join(" and ")} agree on ${percent(one.share)} of ${plural(one.rows, "row")}` +
    (one.kappa === null ? "" : `, Cohen's kappa ${one.kappa.toFixed(2)}`)));
  open("Finish",
    make("p", null, `${plural(strip.decided, "row")} decided: ${plural(strip.changed, "label")} changed, ` +
      `${whole(strip.dropped)} dropped, ${whole(strip.kept)} kept, ${whole(strip.unsure)} unsure.`),
    strip.caught ? make("p", null, `You caught ${strip.caught.found} of ${strip.caught.planted} wrong labels that were planted` +
      ` (${strip.caught.right} with the right label), and changed ${plural(strip.caught.harmed, "right label")}.`) : null,
    agreement.length ? make("ul", { class: "plain" }, agreement) : null,
    strip.conflicts ? make("p", null, `Reviewers decided differently on ${plural(strip.conflicts, "row")}; the last decision holds.`) : null,
    make("div", { class: "downloads" },
      about.cleaned ? link("cleaned", `cleaned.${about.cleaned}`, "the table with the decisions applied") : null,
      link("decisions", "decisions.csv", "who decided what, when and why"),
      link("before-after", "before-after.html", "a page to send: accuracy, values, classes")),
    make("footer", null, make("span", { class: "note" }, "The journal stays. Start again to continue."),
      make("button", { type: "button", class: "primary", onclick: finish }, "Finish and stop")));
}
