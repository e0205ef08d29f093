// The head of the page, the histogram and the curves.

byId("title").textContent = report.title;
byId("sentence").textContent = report.sentence;
byId("made").textContent = `Made with pivotal ${report.version}. This file is complete: it loads nothing from elsewhere.`;
for (const [name, text] of report.stats) {
  byId("stats").append(make("div", null, make("dt", null, name), make("dd", null, text)));
}
for (const { title, text, ok } of report.guarantees) {
  const state = ok === true ? "yes" : ok === false ? "no" : null;
  byId("guarantees").append(
    make("li", null, make("strong", { class: state }, title), make("span", null, tidy(text))),
  );
}
for (const [name, text] of report.settings) {
  byId("settings").append(make("dt", null, name), make("dd", null, text));
}
for (const { part, needs } of report.left_out) {
  byId("left-out").hidden = false;
  byId("left-out-list").append(make("li", null, `${part}: ${needs}`));
}

// -------------------------------------------------------------------------------------------------------- histogram

{
  const { edges, counts } = report.histogram;
  const host = byId("histogram");
  const button = byId("logarithmic");
  let logarithmic = false;
  const width = 44 + 12; // taken by the labels
  const tell = (bin) =>
    make(
      "div",
      { class: "tip" },
      `${tick(edges[bin])} to ${tick(edges[bin + 1])}: `,
      make("strong", null, plural(counts[bin], "point")),
    );

  const { draw } = addChart(
    host,
    () => ({
      animation: false,
      grid: { left: 44, right: 12, top: 12, bottom: 28 },
      xAxis: {
        ...look().axis,
        type: "value",
        min: edges[0],
        max: edges[edges.length - 1],
        splitLine: { show: false },
        axisLine: { ...look().axis.axisLine, onZero: false },
        axisLabel: { ...look().axis.axisLabel, formatter: tick, showMinLabel: false, showMaxLabel: false },
      },
      yAxis: {
        ...look().axis,
        type: logarithmic ? "log" : "value",
        min: logarithmic ? 0.5 : 0,
        startValue: logarithmic ? 0.5 : undefined, // where bars begin: at 1, a bin with one point would not be seen
        minInterval: 1,
        axisLine: { show: false },
        axisLabel: { ...look().axis.axisLabel, formatter: (count) => (count < 1 && count ? "" : whole(count)) },
      },
      tooltip: axisTip(([hit]) => (hit ? tell(hit.dataIndex) : "")),
      series: {
        type: "bar",
        barWidth: counts.length === 1 ? 60 : Math.max(1, Math.floor((host.clientWidth - width) / counts.length) - 1),
        data: counts.map((count, bin) => ({
          value: [(edges[bin] + edges[bin + 1]) / 2, count || (logarithmic ? null : 0)],
          itemStyle: { color: colour(edges[bin] + edges[bin + 1] > 0 ? "up" : "down") },
        })),
        markLine:
          edges[0] < 0 && edges[edges.length - 1] > 0
            ? {
                silent: true,
                symbol: "none",
                label: { show: false },
                lineStyle: { color: colour("quiet"), type: "solid", width: 1 },
                data: [{ xAxis: 0 }],
              }
            : undefined,
      },
    }),
    "svg",
  );
  button.addEventListener("click", () => {
    logarithmic = !logarithmic;
    button.setAttribute("aria-pressed", String(logarithmic));
    draw();
  });
  byId("distribution-note").textContent = tidy(report.histogram.note);
  host.setAttribute("aria-label", `Histogram. ${report.histogram.note}`);
}

// ----------------------------------------------------------------------------------------------------------- curves

if (report.curves) {
  byId("curves").hidden = false;
  byId("curves-note").textContent = report.curves.note;
  for (const { title, axis, score, lines, band } of report.curves.charts) {
    const key = make("div", { class: "key" });
    const host = make("div", { class: "chart", role: "img", "aria-label": `${title}: ${score} over ${axis}.` });
    byId("curve-charts").append(make("div", null, make("h3", null, title), key, host));
    const paint = addKey(key, lines.map(({ name, colour: shade }) => ({ text: name, shade })));
    const format = formatter(lines.flatMap((line) => line.scores));
    const edge = (scores) => ({
      type: "line",
      data: band.counts.map((count, at) => [count, scores[at]]),
      showSymbol: false,
      silent: true,
      lineStyle: { width: 0 },
      stack: "band",
      stackStrategy: "all",
    });
    addChart(
      host,
      () => {
        paint();
        return {
          animation: false,
          grid: { left: 52, right: 16, top: 12, bottom: 44 },
          xAxis: countAxis(axis, { max: "dataMax" }),
          yAxis: numberAxis({ scale: true }),
          tooltip: axisTip((hits) => {
            const named = hits.filter((hit) => lines.some((line) => line.name === hit.seriesName));
            if (!named.length) return "";
            return make("div", { class: "tip" }, `${whole(named[0].value[0])} ${axis}`,
              named.map((hit) => make("div", null, `${hit.seriesName}: `, make("strong", null, format(hit.value[1])))));
          }),
          series: [
            ...(band
              ? [
                  edge(band.low),
                  { ...edge(band.high.map((high, at) => high - band.low[at])),
                    areaStyle: { color: colour("quiet"), opacity: 0.2 } },
                ]
              : []),
            ...lines.map(({ name, colour: shade, counts, scores }) => ({
              type: "line",
              name,
              data: counts.map((count, at) => [count, scores[at]]),
              showSymbol: false,
              lineStyle: { width: 2, color: colour(shade) },
              itemStyle: { color: colour(shade) },
            })),
          ],
        };
      },
      "svg",
    );
  }
}
