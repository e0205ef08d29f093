// What all parts of the page share: the data, text and numbers, the theme, charts that follow it.

const report = JSON.parse(document.getElementById("data").textContent);

const minus = (text) => text.replace(/-/g, "\u2212");
// Numbers keep to their line.
const tidy = (text) => text.replace(/ ([×%])/g, "\u00a0$1").replace(/× /g, "×\u00a0");
const whole = (number) => number.toLocaleString("en").replace(/,/g, "\u202f");
const plural = (n, thing) => `${whole(n)} ${thing}${n === 1 ? "" : "s"}`;

// Numbers of one kind get as many decimals as the largest of them needs for four digits, so that they align.
function formatter(numbers) {
  let largest = 0;
  for (const number of numbers) largest = Math.max(largest, Math.abs(number));
  if (largest === 0) return () => "0";
  const power = Math.floor(Math.log10(largest));
  if (power < -7 || power > 6) return (number) => minus(number.toExponential(3));
  const decimals = Math.max(0, 3 - power);
  return (number) => minus(number.toFixed(decimals).replace(/^-(0\.?0*)$/, "$1"));
}

// Ticks of an axis: as few digits as tell them apart.
const tick = (number) => minus(String(Number(number.toPrecision(6))));

// ---------------------------------------------------------------------------------------------------------- theme

const drawings = []; // called again when the theme changes

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  byId("theme").textContent = name === "dark" ? "Light mode" : "Dark mode";
  for (const draw of drawings) draw();
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
setTheme(dark.matches ? "dark" : "light");
byId("theme").addEventListener("click", () =>
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
);

// ----------------------------------------------------------------------------------------------------------- charts

// A chart that is drawn anew with every theme and follows the size of its host.
function addChart(host, options, renderer) {
  const chart = echarts.init(host, null, { renderer });
  const draw = () => chart.setOption(options(), { notMerge: true });
  draw();
  drawings.push(draw);
  let width = host.clientWidth;
  let height = host.clientHeight;
  new ResizeObserver(() => {
    if (host.clientWidth === width && host.clientHeight === height) return;
    width = host.clientWidth;
    height = host.clientHeight;
    chart.resize();
    draw();
  }).observe(host);
  return { chart, draw };
}

// A legend: a swatch and a text per entry. Returns what paints the swatches in the colours of the theme.
function addKey(host, entries) {
  const swatches = entries.map(({ text, shade }) => {
    const swatch = make("i");
    host.append(make("span", null, swatch, text));
    return () => (swatch.style.background = colour(shade));
  });
  return () => {
    for (const paint of swatches) paint();
  };
}

const look = () => ({
  axis: {
    axisLine: { lineStyle: { color: colour("quiet") } },
    axisTick: { show: false },
    axisLabel: { color: colour("muted"), fontSize: 12, hideOverlap: true },
    splitLine: { lineStyle: { color: colour("line") } },
    nameTextStyle: { color: colour("muted"), fontSize: 12 },
  },
  tooltip: {
    confine: true,
    backgroundColor: colour("paper"),
    borderColor: colour("line"),
    textStyle: { color: colour("ink"), fontSize: 13 },
    extraCssText: "box-shadow: 0 2px 10px rgba(0,0,0,.14); border-radius: 6px;",
    transitionDuration: 0,
  },
});

// A tooltip of what there is at one place of the axis.
const axisTip = (formatter) => ({
  ...look().tooltip, trigger: "axis", formatter,
  axisPointer: { type: "line", lineStyle: { color: colour("quiet"), type: "solid" } },
});

// Axes of charts over counts or ranks: integers across under a name, numbers as they are upwards.
const countAxis = (name, more = {}, label = {}) => ({
  ...look().axis, type: "value", name, nameLocation: "middle", nameGap: 28, splitLine: { show: false }, ...more,
  axisLabel: { ...look().axis.axisLabel, formatter: whole, showMaxLabel: false, ...label },
});
const numberAxis = (more = {}) => ({
  ...look().axis, type: "value", axisLine: { show: false }, ...more,
  axisLabel: { ...look().axis.axisLabel, formatter: tick },
});
