// How sure the values are: intervals by rank, coloured by what is known of their sign.

if (report.certainty) {
  const { note, rank, value, low, high, sign, counts } = report.certainty;
  const kinds = [
    { shade: "up", sign: 1, text: `${whole(counts.up)} ${counts.up === 1 ? "helps" : "help"} beyond doubt` },
    { shade: "quiet", sign: 0, text: `of ${whole(counts.quiet)} the sign cannot be told` },
    { shade: "down", sign: -1, text: `${whole(counts.down)} ${counts.down === 1 ? "harms" : "harm"} beyond doubt` },
  ];
  byId("certainty").hidden = false;
  byId("certainty-note").textContent = tidy(note);
  const host = byId("interval-chart");
  host.setAttribute("aria-label", `Values by rank, with intervals. ${note}`);
  const paint = addKey(byId("certainty-key"), kinds);
  const format = formatter([...low, ...high]);
  // Bars that float: from 0 to where they begin nothing is drawn. Each sign has a stack of its own.
  const bars = ({ shade, sign: kind }) => {
    const own = rank.map((_, at) => at).filter((at) => sign[at] === kind);
    const part = (size) => own.map((at) => [rank[at], size(at)]);
    const inner = (at) => (low[at] > 0 ? low[at] : high[at] < 0 ? high[at] : 0);
    const bar = (data, seen) => ({
      type: "bar", stack: shade, barWidth: Math.max(1, Math.floor((host.clientWidth - 80) / rank.length) - 1),
      barGap: "-100%", silent: true, data, animation: false,
      itemStyle: { color: seen ? colour(shade) : "transparent", opacity: seen ? 0.35 : 0 },
    });
    return [
      bar(part(inner), false),
      bar(part((at) => Math.max(0, high[at]) - Math.max(inner(at), 0)), true),
      bar(part((at) => Math.min(0, low[at]) - Math.min(inner(at), 0)), true),
      { type: "scatter", symbolSize: 4, itemStyle: { color: colour(shade) }, z: 3,
        data: own.map((at) => [rank[at], value[at], at]) },
    ];
  };
  addChart(
    host,
    () => {
      paint();
      return {
        animation: false,
        grid: { left: 64, right: 16, top: 12, bottom: 44 },
        xAxis: countAxis(
          "rank, most valuable first",
          { min: 0, max: rank[rank.length - 1] + 1, axisLine: { ...look().axis.axisLine, onZero: true } },
          { showMinLabel: false },
        ),
        yAxis: numberAxis(),
        tooltip: {
          ...look().tooltip,
          trigger: "item",
          formatter: ({ value: [place, worth, at] }) =>
            make("div", { class: "tip" }, `rank ${whole(place)}: `, make("strong", null, format(worth)),
              ` (${format(low[at])} to ${format(high[at])})`),
        },
        series: kinds.flatMap(bars),
      };
    },
    "svg",
  );
}
