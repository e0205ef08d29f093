// The map of points with its lasso, and the table of confusions.

import { byId, colour, empty, make, mix, named, plural, scroller, small, unpack, whole } from "./dom.js";

const PALETTE = ["#1f64a5", "#c8641b", "#2f8f5b", "#a8437f", "#7a6bc2", "#8a7a1f", "#3a9fb5", "#b5453a", "#5b7a8c", "#6f9a2e"];
let library = null;

function loadLibrary() {
  library ??= new Promise((done, failed) => {
    const script = make("script", { src: "assets/echarts.min.js" });
    script.addEventListener("load", () => done(window.echarts));
    script.addEventListener("error", failed);
    document.head.append(script);
  });
  return library;
}

export async function showMap(state, { load, open, chosen }) {
  const host = byId("map");
  const echarts = await loadLibrary();
  const data = await load();
  const [rows, places, labels, values, matches, suspect, decided] =
    ["rows", "places", "labels", "values", "matches", "suspect", "decided"].map((name) => unpack(data[name]));
  const owners = data.owners && { names: data.owners.names, codes: unpack(data.owners.codes) };
  const names = state.about.codes;
  const by = make("select", { "aria-label": "Colour by" },
    [["suspect", "Colour by suspect"], ["label", "Colour by label"], ["value", "Colour by value"],
      owners && ["owner", "Colour by owner"]].filter(Boolean).map(([value, text]) =>
      make("option", { value, selected: value === state.mapBy }, text)));
  const lasso = make("button", { type: "button", class: "quiet", "aria-pressed": "true" }, "Lasso");
  const key = make("p", { class: "key note" });
  const canvas = make("div", { class: "scatter", role: "img", "aria-label":
    "Map of the rows. The same rows are in the queue and the grid, which work by keyboard." });
  const overlay = make("canvas", { class: "overlay", "aria-hidden": "true" });
  const some = rows.length < data.total ? ` ${whole(rows.length)} of ${whole(data.total)} rows are shown: suspects and a random sample.` : "";
  const narrowed = state.narrowed ? ` ${whole(matches.reduce((sum, one) => sum + one, 0))} of them match the filters; the others are pale.` : "";
  const before = host.querySelector(".scatter");
  if (before) echarts.getInstanceByDom(before)?.dispose();
  host.replaceChildren(
    make("div", { class: "bar" }, by, lasso, make("span", { class: "note" }, "Draw around points to decide about them; click one to open it; the wheel zooms.")),
    make("div", { class: "frame" }, canvas, overlay), key,
    make("p", { class: "note" }, data.note + some + narrowed));
  const chart = echarts.init(canvas, null, { renderer: "canvas" });
  const height = (at) => 4 * matches[at] + 2 * suspect[at] + decided[at];
  const order = [...rows.keys()].sort((one, two) => height(one) - height(two));
  const largest = [...values].map(Math.abs).sort((one, two) => one - two)[Math.floor(0.98 * (values.length - 1))] || 1;
  const paint = {
    suspect: (at) => (suspect[at] ? colour("down") : decided[at] ? colour("good") : colour("middle")),
    label: (at) => PALETTE[labels[at] % PALETTE.length],
    value: (at) => mix(colour("middle"), colour(values[at] < 0 ? "down" : "up"), Math.min(1, Math.abs(values[at]) / largest)),
    owner: (at) => PALETTE[owners.codes[at] % PALETTE.length],
  };
  const keyOf = {
    suspect: () => [["suspect", colour("down")], ["decided", colour("good")], ["other rows", colour("middle")]],
    label: () => state.about.classes.map(({ name }) => [name, names.indexOf(name)]).filter(([, at]) => at >= 0 && at < 10)
      .map(([name, at]) => [named(name), PALETTE[at]]),
    value: () => [[`harms (${small(-largest)})`, colour("down")], ["neither", colour("middle")], [`helps (${small(largest)})`, colour("up")]],
    owner: () => owners.names.slice(0, 10).map((name, at) => [named(name), PALETTE[at]]),
  };
  const axis = (at) => ({
    type: "value", scale: true, name: data.axes[at], nameLocation: "middle", nameGap: 10, nameTextStyle: { color: colour("muted") },
    axisLabel: { show: false }, axisTick: { show: false }, splitLine: { show: false },
    axisLine: { onZero: false, lineStyle: { color: colour("line") } },
  });
  // The wheel, or two fingers, zoom; with the lasso put away the plane can be moved.
  const zooms = () => ["xAxisIndex", "yAxisIndex"].map((name, at) => ({
    ...chart.getOption()?.dataZoom?.[at], type: "inside", [name]: 0, filterMode: "none", moveOnMouseMove: !isLasso(),
  }));
  const isLasso = () => lasso.getAttribute("aria-pressed") === "true";
  const draw = () => {
    const tone = paint[by.value];
    const tint = (at) => (matches[at] ? tone(at) : colour("line"));
    state.mapBy = by.value;
    key.replaceChildren(...keyOf[by.value]().map(([text, tone]) => {
      const dot = make("i");
      dot.style.background = tone;
      return make("span", null, dot, text);
    }), names.length > 10 && by.value === "label" ? make("span", null, "colours repeat") : "");
    chart.setOption({
      animation: false,
      grid: { left: 28, right: 12, top: 12, bottom: 28 },
      xAxis: axis(0), yAxis: axis(1), dataZoom: zooms(),
      tooltip: {
        trigger: "item", backgroundColor: colour("paper"), borderColor: colour("line"), textStyle: { color: colour("ink"), fontSize: 13 },
        transitionDuration: 0,
        formatter: ({ dataIndex }) => {
          const at = order[dataIndex];
          return make("div", null, make("strong", null, `Row ${data.ids[at]}`),
            make("div", null, `${named(names[labels[at]] ?? "")}${suspect[at] ? ", suspect" : ""}`), make("div", null, `value ${small(values[at])}`));
        },
      },
      series: [{
        type: "scatter", symbolSize: rows.length < 400 ? 10 : rows.length < 2500 ? 7 : 5, progressive: 0,
        data: order.map((at) => [places[2 * at], places[2 * at + 1]]),
        itemStyle: { color: ({ dataIndex }) => tint(order[dataIndex]), opacity: 0.85 },
      }],
    }, true);
  };
  by.addEventListener("change", draw);
  draw();
  chart.on("click", ({ dataIndex }) => open(rows[order[dataIndex]]));

  // The lasso is drawn on a sheet above the chart, which lets clicks through unless something is being drawn.
  const sheet = overlay.getContext("2d");
  let path = [];
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const fit = () => {
    overlay.width = canvas.clientWidth;
    overlay.height = canvas.clientHeight;
  };
  fit();
  canvas.addEventListener("pointerdown", (event) => {
    if (!isLasso() || event.button !== 0 || !event.isPrimary) return;
    path = [at(event)];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!path.length) return;
    path.push(at(event));
    sheet.clearRect(0, 0, overlay.width, overlay.height);
    sheet.beginPath();
    path.forEach(([x, y], step) => (step ? sheet.lineTo(x, y) : sheet.moveTo(x, y)));
    sheet.closePath();
    sheet.fillStyle = "rgba(31, 100, 165, 0.15)";
    sheet.strokeStyle = colour("accent");
    sheet.fill();
    sheet.stroke();
  });
  const end = () => {
    const drawn = path;
    path = [];
    sheet.clearRect(0, 0, overlay.width, overlay.height);
    if (drawn.length < 8) return;
    const area = new Path2D();
    drawn.forEach(([x, y], step) => (step ? area.lineTo(x, y) : area.moveTo(x, y)));
    area.closePath();
    const inside = [...rows.keys()].filter((one) => {
      const [x, y] = chart.convertToPixel("grid", [places[2 * one], places[2 * one + 1]]);
      return sheet.isPointInPath(area, x, y);
    }).filter((one) => matches[one]).map((one) => rows[one]);
    if (inside.length) chosen(inside);
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", () => { path = []; });
  lasso.addEventListener("click", () => {
    lasso.setAttribute("aria-pressed", String(!isLasso()));
    draw();
  });
  new ResizeObserver(() => {
    if (!host.isConnected || host.hidden) return;
    chart.resize();
    fit();
  }).observe(canvas);
  return draw;
}

export function showConfusion(state, data, filter) {
  const thing = state.query.kind === "suspects" ? "suspect" : "row";
  const host = byId("confusion");
  if (!data.cells.length) {
    host.replaceChildren(empty(`No ${thing} here.`, "Choose another queue, or clear the filters."));
    return;
  }
  const total = (name) => {
    const sums = new Map();
    for (const cell of data.cells) sums.set(cell[name], (sums.get(cell[name]) || 0) + cell.count);
    const frequent = new Set([...sums].sort((one, two) => two[1] - one[1]).slice(0, 24).map(([label]) => label));
    return state.about.classes.map((one) => one.name).filter((label) => frequent.has(label));
  };
  const givens = total("given");
  const suggestions = total("suggested");
  const counts = new Map(data.cells.map((cell) => [JSON.stringify([cell.given, cell.suggested]), cell.count]));
  const highest = Math.max(...data.cells.map(({ count }) => count));
  const cell = (given, suggested) => {
    const count = counts.get(JSON.stringify([given, suggested]));
    if (!count) return make("td", null, "");
    const button = make("button", { type: "button", class: "cell", onclick: () => filter(given, suggested),
      "aria-label": `${plural(count, thing)} given ${named(given)}, suggested ${named(suggested)}` }, whole(count));
    button.style.setProperty("--heat", String(0.12 + 0.7 * (count / highest)));
    return make("td", null, button);
  };
  host.replaceChildren(
    make("p", { class: "note" }, `${plural(data.total, thing)} by given label (rows) and suggested label (columns). A cell opens its ${thing}s.`),
    scroller("Confusions", make("table", { class: "confusions" },
      make("thead", null, make("tr", null, make("td", { class: "corner" }, "given ↓  suggested →"),
        suggestions.map((name) => make("th", { scope: "col", title: name }, named(name))))),
      make("tbody", null, givens.map((given) => make("tr", null, make("th", { scope: "row", title: given }, named(given)),
        suggestions.map((suggested) => cell(given, suggested))))))));
}
