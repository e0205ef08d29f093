// What the report and the review page share: elements, colours, packed numbers.

export const byId = (id) => document.getElementById(id);

// The only way in which the pages make elements: children are elements or plain text, never markup.
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

export function unpack({ type, data }) {
  const types = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array };
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return new types[type](bytes.buffer);
}

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export function mix(from, to, share) {
  const part = (text, at) => parseInt(text.slice(at, at + 2), 16);
  const mixed = [1, 3, 5].map((at) => Math.round(part(from, at) + share * (part(to, at) - part(from, at))));
  return `rgb(${mixed.join(",")})`;
}
