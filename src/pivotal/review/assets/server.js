// Talking to the server: one function for all, which tries again what can be tried again.

import { byId, unique } from "./dom.js";

export const page = unique();

export class Refused extends Error {}

const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export async function ask(path, content) {
  const options = content === undefined
    ? {}
    : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content) };
  for (let attempt = 0; ; attempt += 1) {
    let answer;
    let body;
    try {
      answer = await fetch(path, { cache: "no-store", ...options });
      body = await answer.json().catch((error) => {
        if (answer.ok) throw error; // cut off: the server was stopped while it answered
        return {};
      });
    } catch {
      // A decision has a name of its own, so that asking twice takes it once.
      byId("lost").hidden = false;
      await wait(Math.min(4000, 250 * 2 ** attempt));
      continue;
    }
    byId("lost").hidden = true;
    if (answer.status === 503) return { waiting: body };
    if (!answer.ok) throw new Refused(body.error || `The server answered with ${answer.status}.`);
    return body;
  }
}

export function leave() {
  navigator.sendBeacon("api/leave", page);
}
