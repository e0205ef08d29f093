// The points: the map, the suspects, the table of all of them, and what is shown of one that was chosen.

const points = (() => {
  const raw = Object.fromEntries(Object.entries(report.points).map(([name, content]) =>
    [name, content?.type ? unpack(content) : content]));
  const { value, index, label, owner, response, half_width: half, neighbours, width, none } = raw; // none: no neighbour
  return {
    ...raw, // of `sign`, 0 harms, 1 cannot be told, 2 helps
    low: half && ((at) => value[at] - half[at]),
    high: half && ((at) => value[at] + half[at]),
    count: value.length,
    hasLabel: Boolean(label || response),
    hasOwner: Boolean(owner),
    id: (at) => (raw.ids ? raw.ids[at] : String(index[at])),
    named: Boolean(raw.ids),
    label: (at) => (label ? raw.labels[label[at]] : tick(response[at])),
    owner: (at) => raw.owners[owner[at]],
    image: (at) => (raw.images ? raw.images[at] : undefined),
    hasImages: Boolean(raw.images),
    neighbours: (at) =>
      neighbours ? [...neighbours.subarray(at * width, (at + 1) * width)].filter((other) => other !== none) : [],
  };
})();
const valueText = formatter(points.value);
const suspicions = new Map((report.suspects ? report.suspects.rows : []).map((row) => [row.at, row]));

function picture(at, large) {
  const uri = points.image(at);
  if (!uri) return null;
  const kind = [points.sharp && "sharp", large && "large"].filter(Boolean).join(" ");
  return make("img", { src: uri, alt: "", class: kind || null });
}

// All that is known of one point, with its neighbours.
function describe(at) {
  const facts = make("dl", { class: "pairs" });
  const tell = (term, ...text) => facts.append(make("dt", null, term), make("dd", null, ...text));
  tell("Value", signed(points.value[at], valueText(points.value[at]) +
    (points.error ? ` ± ${valueText(points.error[at])}` : "")));
  if (points.low) {
    const known = ["harms beyond doubt", "the sign cannot be told", "helps beyond doubt"][points.sign[at]];
    tell("95 % interval", `${valueText(points.low(at))} to ${valueText(points.high(at))}: ${known}`);
  }
  const open = points.best ? `, may be ${whole(points.best[at])} to ${whole(points.worst[at])}` : "";
  tell("Rank", `${whole(points.rank[at])} of ${whole(report.n_train)}${open}`);
  if (points.hasLabel) tell("Label", points.label(at));
  if (points.hasOwner) tell("Owner", points.owner(at));
  // Not a row of the table: rows that were held out, or left out, are not counted.
  if (points.named) tell("Training index", String(points.index[at]));
  const words = make("div", null, make("h3", null, points.id(at)), facts);
  const suspicion = suspicions.get(at);
  if (suspicion) words.append(make("p", { class: "why" }, suspicion.why));
  if (points.text) words.append(make("p", { class: "words" }, points.text[at]));
  const box = make("div", { class: "point", "data-point": points.index[at] }, picture(at, true), words);
  const near = points.neighbours(at);
  if (near.length) {
    const list = make("ol", { class: "neighbours" }, near.map((other) => {
      const same = points.hasLabel && points.label(other) === points.label(at);
      return make("li", null,
        picture(other) || (points.hasImages ? make("span") : null),
        make("span", null, points.id(other)),
        make("span", { class: same || points.response ? null : "other" }, points.hasLabel ? points.label(other) : ""),
        make("span", { class: "number" }, signed(points.value[other], valueText(points.value[other]))));
    }));
    box.append(make("div", null, make("h4", null, "Nearest neighbours: label, value"), list), compare(at, near) ?? "");
  }
  return box;
}

// The row's own columns beside those of its neighbours, differences first; the texts where there are any.
function compare(at, near) {
  const { cells } = points;
  const there = cells ? near.filter((other) => cells.rows[other]) : [];
  const own = cells && cells.rows[at];
  const lines = own && there.length
    ? cells.names.map((name, column) => ({ name, column, far: cells.differs[at]?.[column] ?? 0 }))
        .sort((one, other) => other.far - one.far)
    : [];
  if (!lines.length && !points.text) return null;
  const shown = lines.length ? there : near;
  const head = ["Column", points.id(at), ...shown.map(points.id)].map((name) => make("th", { scope: "col" }, name));
  const body = make("tbody");
  const add = (name, content, differs) => body.append(make("tr", null,
    make("th", { scope: "row" }, name), make("td", null, content(at)),
    shown.map((other) => make("td", { class: differs(other) ? "other" : null }, content(other)))));
  if (points.hasLabel) add("Label", points.label, (other) => points.label(other) !== points.label(at));
  if (points.text) add("Text", (one) => points.text[one].slice(0, 160), () => false);
  for (const { name, column, far } of lines.slice(0, 12)) {
    // Numbers stand out from one standard deviation on: hardly any two are the same.
    add(name, (one) => cells.rows[one][column], (other) => far >= 1 && cells.rows[other][column] !== own[column]);
  }
  const table = make("table", { class: "compared" }, make("thead", null, make("tr", null, head)), body);
  const hidden = lines.length - 12 + (cells ? cells.left_out : 0);
  return make("div", { class: "across" }, make("h4", null, "Beside its neighbours, differences first"),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Columns beside those of the neighbours" }, table),
    hidden > 0 ? make("p", { class: "note" }, `${whole(hidden)} more columns differ less, or are left out.`) : null);
}

// -------------------------------------------------------------------------------------------------------------- map

let choose = () => {};

if (report.map) {
  byId("map").hidden = false;
  byId("map-note").textContent = tidy(report.map.note);
  const chosen = byId("chosen");
  chosen.append(make("p", { class: "note" }, "Click a point, or open one in the tables below, to see it here."));
  const host = byId("scatter");
  const flat = unpack(report.map.places);
  const place = (at) => [flat[2 * at], flat[2 * at + 1]];
  const sizes = [...points.value].map(Math.abs).sort((one, two) => one - two);
  const limit = sizes[Math.floor(0.98 * (sizes.length - 1))] || sizes[sizes.length - 1] || 1;
  // Strong values last, so that they lie on top.
  const order = [...points.value.keys()].sort((one, two) => Math.abs(points.value[one]) - Math.abs(points.value[two]));
  const dot = points.count < 400 ? 10 : points.count < 2500 ? 7 : 5;
  let marked = []; // the chosen point and its neighbours

  const paint = (number) => mix(colour("middle"), colour(number < 0 ? "down" : "up"), Math.min(1, Math.abs(number) / limit));
  const rings = () => marked.map((at, step) => ({
    value: place(at),
    symbolSize: step ? dot + 5 : dot + 9,
    itemStyle: { color: "transparent", borderColor: colour("ink"), borderWidth: step ? 1.2 : 2.5, opacity: 1 },
  }));
  const range = (axis) => {
    let low = Infinity;
    let high = -Infinity;
    for (let at = axis; at < flat.length; at += 2) {
      low = Math.min(low, flat[at]);
      high = Math.max(high, flat[at]);
    }
    const margin = (high - low) * 0.04 || 1;
    return { min: low - margin, max: high + margin };
  };
  const spans = [range(0), range(1)];
  const axis = (at) => ({
    ...look().axis,
    ...spans[at],
    type: "value",
    name: report.map.axes[at],
    nameLocation: "middle",
    nameGap: 8,
    axisLabel: { show: false },
    axisLine: { show: true, onZero: false, lineStyle: { color: colour("line") } },
    splitLine: { show: false },
  });
  const coarse = window.matchMedia("(pointer: coarse)").matches;
  const zoom = (name, extra) => ({
    type: "inside", [name]: 0, filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: !coarse, ...extra,
  });
  let windowOf = [[0, 100], [0, 100]];

  const { chart } = addChart(
    host,
    () => {
      byId("scale").replaceChildren();
      const stripe = make("i");
      stripe.style.background =
        `linear-gradient(90deg, ${colour("down")}, ${colour("middle")}, ${colour("up")})`;
      byId("scale").append(make("span", null, valueText(-limit)), stripe, make("span", null, valueText(limit)));
      const tints = order.map((at) => paint(points.value[at]));
      return {
        animation: false,
        grid: { left: 26, right: 8, top: 8, bottom: 26 },
        xAxis: axis(0),
        yAxis: axis(1),
        dataZoom: [
          zoom("xAxisIndex", { start: windowOf[0][0], end: windowOf[0][1] }),
          zoom("yAxisIndex", { start: windowOf[1][0], end: windowOf[1][1] }),
        ],
        tooltip: {
          ...look().tooltip,
          trigger: "item",
          formatter: ({ seriesIndex, dataIndex }) => tip(seriesIndex ? marked[dataIndex] : order[dataIndex]),
        },
        series: [
          {
            type: "scatter",
            id: "all",
            data: order.map(place),
            symbolSize: dot,
            itemStyle: { color: ({ dataIndex }) => tints[dataIndex], opacity: 0.9 },
            emphasis: { itemStyle: { borderColor: colour("ink"), borderWidth: 1.5, opacity: 1 } },
            progressive: 0,
          },
          { type: "scatter", id: "marked", z: 5, data: rings() },
        ],
      };
    },
    "canvas",
  );

  function tip(at) {
    const box = make("div", { class: "tip" }, picture(at), make("strong", null, points.id(at)));
    box.append(make("div", null, `value ${valueText(points.value[at])}`));
    if (points.hasLabel) box.append(make("div", null, `label ${points.label(at)}`));
    if (points.text) box.append(make("div", { class: "note" }, points.text[at].slice(0, 120)));
    return box;
  }

  choose = (at) => {
    marked = [at, ...points.neighbours(at)];
    chosen.replaceChildren(describe(at));
    chart.setOption({ series: [{ id: "marked", data: rings() }] });
  };

  chart.on("click", ({ seriesIndex, dataIndex }) => seriesIndex === 0 && choose(order[dataIndex]));
  chart.on("datazoom", () => {
    windowOf = chart.getOption().dataZoom.map(({ start, end }) => [start, end]);
  });
  const scaleBy = (factor) => move(([start, end]) => {
    const half = Math.min(50, Math.max(0.25, ((end - start) * factor) / 2));
    const middle = Math.min(100 - half, Math.max(half, (start + end) / 2));
    return [middle - half, middle + half];
  });
  const shift = (which, share) => move(([start, end], at) => {
    if (at !== which) return [start, end];
    const step = Math.max(-start, Math.min(100 - end, share * (end - start)));
    return [start + step, end + step];
  });
  function move(change) {
    const batch = windowOf.map(change).map(([start, end], dataZoomIndex) => ({ dataZoomIndex, start, end }));
    chart.dispatchAction({ type: "dataZoom", batch });
  }
  const all = () => move(() => [0, 100]);
  byId("zoom-in").addEventListener("click", () => scaleBy(1 / 1.6));
  byId("zoom-out").addEventListener("click", () => scaleBy(1.6));
  byId("zoom-all").addEventListener("click", all);
  const keys = {
    "+": () => scaleBy(1 / 1.6), "=": () => scaleBy(1 / 1.6), "-": () => scaleBy(1.6), 0: all,
    ArrowLeft: () => shift(0, -0.2), ArrowRight: () => shift(0, 0.2),
    ArrowUp: () => shift(1, 0.2), ArrowDown: () => shift(1, -0.2),
  };
  host.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    keys[event.key]();
    event.preventDefault();
  });
  host.setAttribute(
    "aria-label",
    "Map of the points, coloured by value. Plus and minus zoom, arrow keys move, 0 shows all points. " +
      "The tables below hold the same points.",
  );
}

// ---------------------------------------------------------------------------------------------------------- columns

const nameColumn = {
  title: "Point", value: points.named ? points.id : (at) => points.index[at], cell: points.id,
};
const imageColumn = points.hasImages ? [{ title: "", kind: "image", cell: (at) => picture(at) || "" }] : [];
const labelColumn = points.hasLabel
  ? [{ title: "Label", value: points.response ? (at) => points.response[at] : points.label, cell: points.label,
       kind: points.response ? "number" : null }]
  : [];
const textColumn = points.text
  ? [{ title: "Text", kind: "text", wide: true, value: (at) => points.text[at],
       cell: (at) => make("span", null, points.text[at]) }]
  : [];
const valueColumn = {
  title: "Value", kind: "number", first: "down", value: (at) => points.value[at],
  cell: (at) => signed(points.value[at], valueText(points.value[at])),
};

if (report.suspects) {
  byId("suspects").hidden = false;
  byId("suspects-note").textContent = report.suspects.note;
  const place = new Map(report.suspects.rows.map((row, at) => [row.at, at + 1]));
  addTable(byId("suspect-table"), {
    columns: [
      { title: "#", kind: "number", value: (at) => place.get(at), cell: (at) => whole(place.get(at)) },
      valueColumn,
      ...imageColumn,
      nameColumn,
      ...labelColumn,
      { title: "Suggested", value: (at) => suspicions.get(at).suggested, cell: (at) => suspicions.get(at).suggested },
      { title: "Why", kind: "text", wide: true, cell: (at) => make("span", null, suspicions.get(at).why) },
    ],
    rows: [...suspicions.keys()],
    sorted: 0,
    descending: false,
    size: 10,
    detail: describe,
    opened: (at) => choose(at),
  });
}

let found = [...points.value.keys()]; // the points that the search leaves, which are those of the download

{
  const rows = found;
  const columns = [
    { title: "Rank", kind: "number", value: (at) => points.rank[at], cell: (at) => whole(points.rank[at]) },
    valueColumn,
    ...(points.error
      ? [{ title: "Std. error", kind: "number", wide: true, first: "down", value: (at) => points.error[at],
           cell: (at) => valueText(points.error[at]) }]
      : []),
    ...(points.response ? labelColumn : []),
    ...imageColumn,
    nameColumn,
    ...(points.response ? [] : labelColumn),
    ...(points.hasOwner ? [{ title: "Owner", wide: true, value: points.owner, cell: points.owner }] : []),
    ...textColumn,
  ];
  const table = addTable(byId("point-table"), {
    columns, rows, sorted: 0, descending: false, size: 25, detail: describe, opened: (at) => choose(at),
  });
  const hay = rows.map((at) =>
    [points.id(at), points.hasLabel ? points.label(at) : "", points.hasOwner ? points.owner(at) : "",
      points.text ? points.text[at] : ""].join("\n").toLowerCase(),
  );
  byId("search").addEventListener("input", ({ target }) => {
    const needle = target.value.trim().toLowerCase();
    found = rows.filter((at) => hay[at].includes(needle));
    table.keep(found);
    nameDownload();
  });
  byId("points-note").textContent = points.note;
}

// --------------------------------------------------------------------------------------------------------- download

// A text that a spreadsheet would run as a formula is written with an apostrophe in front.
function quote(text) {
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

function nameDownload() {
  const all = found.length === report.n_train;
  const part = ` (${plural(found.length, "point")} of ${whole(report.n_train)})`;
  byId("download").textContent = `Download CSV${all ? "" : part}`;
}

function asCSV() {
  const columns = [
    ["id", (at) => quote(points.id(at))],
    ["value", (at) => String(points.value[at])],
    ["rank", (at) => String(points.rank[at])],
  ];
  if (points.error) columns.push(["standard_error", (at) => String(points.error[at])]);
  if (points.low) {
    columns.push(["low", (at) => String(points.low(at))], ["high", (at) => String(points.high(at))]);
  }
  if (points.response) columns.push(["label", (at) => String(points.response[at])]);
  else if (points.hasLabel) columns.push(["label", (at) => quote(points.label(at))]);
  if (points.hasOwner) columns.push(["owner", (at) => quote(points.owner(at))]);
  if (report.suspects) {
    columns.push(["suggested", (at) => (suspicions.has(at) ? quote(suspicions.get(at).suggested) : "")]);
  }
  const lines = [columns.map(([name]) => name).join(",")];
  for (const at of found) lines.push(columns.map(([, text]) => text(at)).join(","));
  return lines.join("\r\n") + "\r\n";
}

nameDownload();
byId("download").addEventListener("click", () => {
  const link = make("a", { href: URL.createObjectURL(new Blob([asCSV()], { type: "text/csv" })), download: "values.csv" });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
});

// --------------------------------------------------------------------------------------------------------- contents

for (const section of document.querySelectorAll("main > section:not([hidden])")) {
  byId("contents").append(make("a", { href: `#${section.id}` }, section.dataset.short));
}
