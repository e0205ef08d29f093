// What all parts of the page share: elements, numbers, words.

export const byId = (id) => document.getElementById(id);

// The only way in which the page makes elements: children are elements or plain text, never markup.
export function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, content] of Object.entries(attributes || {})) {
    if (content === null || content === undefined || content === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), content);
    else element.setAttribute(name, content === true ? "" : content);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

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

export function unpack({ type, data }) {
  const types = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array };
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return new types[type](bytes.buffer);
}

// A name that nothing else has. (randomUUID is there only at addresses of this machine, and others may be let in.)
export const unique = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

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
