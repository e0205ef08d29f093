// Which queue, and which of its rows.

import { byId, make, named, percent, plural, whole } from "./dom.js";

const counts = { suspects: "suspects", unsure: "unsure", conflicts: "conflicts", decided: "decided" };

export function addFilters(state, askAll, changed) {
  const form = byId("filters");
  const { about } = state;
  const set = (name, content) => {
    state.query[name] = content;
    changed();
  };
  const option = (value, text) => make("option", { value }, text);
  const queue = make("select", { id: "queue", "aria-label": "Queue", onchange: () => set("kind", queue.value) },
    about.queues.map(({ name, title }) => option(name, title)));
  const search = make("input", {
    id: "search", type: "search", placeholder: "Search rows  ( / )", "aria-label": "Search rows", autocomplete: "off",
    spellcheck: "false",
  });
  let typing = 0;
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => set("search", search.value), 250);
  });
  const choice = (id, label, any, names) => make("select", {
    id, "aria-label": label, onchange: (event) => set(id, event.target.value || null),
  }, option("", any), names.map((name) => option(name, named(name))));
  const labels = about.classes.map(({ name }) => name);
  const given = choice("given", "Any label", "Any label", labels);
  const suggested = choice("suggested", "Any suggestion", "Any suggestion", labels);
  const owner = about.owners.length ? choice("owner", "Owner", "Any owner", about.owners) : null;
  const confidence = make("input", {
    id: "confidence", type: "range", min: "0", max: "1", step: "0.05", value: "0", "aria-label": "Least confidence",
  });
  const shown = make("output", { for: "confidence" }, "any");
  const showConfidence = () => {
    shown.textContent = Number(confidence.value) ? `≥ ${percent(Number(confidence.value))}` : "any";
  };
  confidence.addEventListener("input", showConfidence);
  confidence.addEventListener("change", () => set("confidence", Number(confidence.value)));
  const chips = make("span", { class: "chips" });
  const found = make("span", { id: "found", class: "note", "aria-live": "polite" });
  const more = make("details", { class: "more" },
    make("summary", null, "Filters"),
    make("div", { class: "fields" }, given, suggested, owner,
      make("label", { class: "range" }, "Confidence", confidence, shown)));
  const again = make("button", { type: "button", id: "again", class: "quiet", "aria-keyshortcuts": "R", onclick: askAll });
  form.replaceChildren(queue, search, more, chips, again, found);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  more.open = window.matchMedia("(min-width: 900px)").matches;

  const clear = () => {
    Object.assign(state.query, { given: null, suggested: null, owner: null, confidence: 0, search: "", rows: null });
    changed();
  };

  return {
    focus: () => search.focus(),
    clear,
    // Makes the controls say what the query is.
    show() {
      const { query, strip } = state;
      queue.value = query.kind;
      for (const entry of queue.options) {
        const { title } = about.queues.find(({ name }) => name === entry.value);
        const count = strip.findings[entry.value] ?? strip[counts[entry.value]];
        entry.textContent = count === undefined ? title : `${title} (${whole(count)})`;
      }
      given.value = query.given || "";
      suggested.value = query.suggested || "";
      if (owner) owner.value = query.owner || "";
      confidence.value = query.confidence;
      showConfidence();
      if (document.activeElement !== search) search.value = query.search;
      chips.replaceChildren(
        query.rows ? make("span", { class: "chip" }, `selected on the map: ${plural(query.rows.length, "row")}`) : "",
        state.narrowed ? make("button", { type: "button", class: "quiet chip", onclick: clear }, "Clear filters") : "",
      );
      const { asked } = strip;
      again.hidden = !asked.possible || !(asked.changed || asked.running);
      again.disabled = asked.running;
      again.textContent = asked.running ? "Fitting the voters …" : "Fit the voters again";
      again.title = `${plural(asked.changed, "label")} changed since trees, landmarks and weights of the voters were fitted. Votes follow every decision. ( R )`;
      const { sentence } = about.queues.find(({ name }) => name === query.kind);
      byId("sentence").textContent = query.kind === "suspects" ? "" : sentence;
      found.textContent = state.queue ? plural(state.queue.total, "row") : "";
    },
  };
}
