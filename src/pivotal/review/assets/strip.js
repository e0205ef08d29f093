// How the review stands, in a row of figures, and when to stop.

import { byId, make, minus, percent, plural, whole } from "./dom.js";

const figure = (big, text, detail) => make("div", { class: "figure" }, make("dt", null, text),
  make("dd", null, make("strong", null, big), detail ? make("small", null, detail) : null));

function left({ count, low, high, sampled }) {
  const range = `${whole(Math.floor(low))} to ${whole(Math.ceil(high))}`;
  return figure(`≈\u202f${whole(count)}`, sampled ? "wrong labels left" : "wrong among suspects left",
    sampled ? `${range}, ${plural(sampled, "random row")} seen` : range);
}

function people({ conflicts, agreement }) {
  const first = agreement[0];
  if (conflicts) return figure(whole(conflicts), conflicts === 1 ? "conflict" : "conflicts", first ? `agree on ${percent(first.share)}` : null);
  return first ? figure(percent(first.share), "reviewers agree", plural(first.rows, "row")) : null;
}

export function showStrip({ strip, about }) {
  const gain = strip.accuracy - strip.first_accuracy;
  const { latest, caught } = strip;
  byId("strip").replaceChildren(make("dl", null,
    figure(whole(strip.decided), "decided", `${whole(strip.changed)} changed, ${whole(strip.dropped)} dropped`),
    figure(whole(strip.suspects), "suspects left", null),
    figure(`${about.estimated ? "≈\u202f" : ""}${percent(strip.accuracy, 2)}`, "leave-one-out accuracy",
      gain ? minus(`${gain > 0 ? "+" : ""}${(100 * gain).toFixed(2)} points`) : null),
    left(strip.left),
    figure(latest.decided ? percent(latest.wrong / latest.decided) : "–", `of the last ${latest.decided || 20} were wrong`, null),
    caught ? figure(`${whole(caught.found)} / ${whole(caught.planted)}`, "planted errors caught",
      caught.harmed ? `${plural(caught.harmed, "right label")} changed` : null) : null,
    people(strip)));
  byId("strip").hidden = false;
  byId("stop").hidden = !strip.stop;
  byId("stop").textContent = strip.stop;
}
