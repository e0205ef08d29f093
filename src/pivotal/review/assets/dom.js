// What all parts of the page share: elements, numbers, words.

import { byId, make } from "./shared.js"; // as the report has them

export * from "./shared.js";

// What stands where there is nothing to show.
export const empty = (title, text) => make("div", { class: "empty" }, make("h2", null, title), make("p", null, text));

// A part that scrolls by itself, by keyboard too.
export const scroller = (label, ...content) =>
  make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, content);

export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}\u00a0%`;
export const whole = (number) => Math.round(number).toLocaleString("en").replace(/,/g, "\u202f");
export const minus = (text) => text.replace(/-(?=[\d.])/g, "\u2212");
export const plural = (n, thing) => `${whole(n)} ${thing}${n === 1 ? "" : "s"}`;

export function small(number) {
  if (number === 0) return "0";
  const size = Math.abs(number);
  return minus(size >= 0.001 && size < 1000 ? String(Number(number.toPrecision(3))) : number.toExponential(1));
}

// A label, an id or a name that may be empty or blank is still seen.
export const named = (text) => (text.trim() === "" ? "(empty)" : text);

// A name that nothing else has. (randomUUID is there only at addresses of this machine, and others may be let in.)
export const unique = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");

// What this browser remembers; some keep nothing.
export const stored = (name) => {
  try {
    return localStorage.getItem(`pivotal-${name}`);
  } catch {
    return null;
  }
};
export const store = (name, content) => {
  try {
    localStorage.setItem(`pivotal-${name}`, content);
  } catch { /* a browser that keeps nothing */ }
};

let timer = 0;
export function say(text) {
  const place = byId("said");
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(timer);
  timer = setTimeout(() => place.classList.remove("shown"), 3500);
}

// Pictures that were shown before are shown again as they are, and asked for no second time.
const kept = new Map();
const MOST_KEPT = 600;
let used = new Set();
export const beginPictures = () => { used = new Set(); };

export function picture(about, row, kind) {
  if (!about.pictures) return null;
  const name = `${kind} ${row}`;
  const known = kept.get(name);
  if (known && !used.has(name)) {
    used.add(name);
    kept.delete(name); // to the end: what was not used for long goes first
    kept.set(name, known);
    return known;
  }
  const image = make("img", {
    src: `api/picture/${row}`, alt: "", loading: "lazy", draggable: "false",
    class: [kind, about.sharp && "sharp"].filter(Boolean).join(" "),
  });
  image.addEventListener("error", () => {
    kept.delete(name);
    image.replaceWith(make("span", { class: `${kind} missing` }, "no picture"));
  });
  used.add(name);
  kept.set(name, image);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
  return image;
}
