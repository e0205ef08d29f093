// One kind of table for the whole page: sorted by its headers, cut into pages, walked with the arrow keys.

const collator = new Intl.Collator("en", { numeric: true });

// columns: [{ title, value(row), cell(row), kind, wide, first }]; `first` is the direction of the first click.
// detail(row): an element shown below a row when it is opened, or nothing.
function addTable(host, { caption, columns, rows, sorted, descending, size, detail, opened }) {
  let column = sorted;
  let down = descending;
  let page = 0;
  let listed = rows;
  let open = null;

  const body = make("tbody");
  const heads = columns.map((entry, at) => {
    const sort = () => {
      down = at === column ? !down : entry.first === "down";
      column = at;
      page = 0;
      show();
    };
    return make("th", { scope: "col", class: classes(entry) }, entry.value
      ? make("button", { type: "button", onclick: sort }, entry.title, make("span", { "aria-hidden": "true" }))
      : entry.title);
  });
  const table = make("table", null, make("thead", null, make("tr", null, ...heads)), body);
  if (caption) table.prepend(make("caption", null, caption));
  const position = make("span", { "aria-live": "polite" });
  const back = make("button", { type: "button", class: "quiet", onclick: () => turn(-1) }, "Previous");
  const on = make("button", { type: "button", class: "quiet", onclick: () => turn(1) }, "Next");
  const pager = make("div", { class: "pager" }, position, back, on);
  host.append(make("div", { class: "table" }, table), pager);

  function classes({ kind, wide }) {
    return [kind, wide && "wide"].filter(Boolean).join(" ") || null;
  }

  function turn(by) {
    page += by;
    show();
  }

  function ordered() {
    const { value } = columns[column];
    const sign = down ? -1 : 1;
    const keys = new Map(listed.map((row) => [row, value(row)]));
    return [...listed].sort((one, two) => {
      const a = keys.get(one);
      const b = keys.get(two);
      return sign * (typeof a === "number" ? a - b : collator.compare(a, b)) || one - two;
    });
  }

  function toggle(row, line) {
    const was = open;
    close();
    if (was && was.row === row) return;
    const below = make("tr", { class: "detail" }, make("td", { colspan: columns.length }, detail(row)));
    line.after(below);
    line.setAttribute("aria-expanded", "true");
    open = { row, line, below };
    if (opened) opened(row);
  }

  function close() {
    if (!open) return;
    open.below.remove();
    open.line.setAttribute("aria-expanded", "false");
    open = null;
  }

  function walk(line, key) {
    const lines = [...body.querySelectorAll("tr[tabindex]")];
    const next = lines[lines.indexOf(line) + (key === "ArrowDown" ? 1 : -1)];
    if (next) next.focus();
  }

  function addRow(row) {
    const cells = columns.map((entry) => make("td", { class: classes(entry) }, entry.cell(row)));
    const line = make("tr", detail ? { tabindex: 0, "aria-expanded": "false" } : null, ...cells);
    if (detail) {
      line.addEventListener("click", () => toggle(row, line));
      line.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") toggle(row, line);
        else if (event.key === "Escape") close();
        else if (event.key === "ArrowDown" || event.key === "ArrowUp") walk(line, event.key);
        else return;
        event.preventDefault();
      });
    }
    body.append(line);
  }

  function show() {
    open = null;
    const order = ordered();
    const last = Math.max(0, Math.ceil(order.length / size) - 1);
    page = Math.min(Math.max(page, 0), last);
    body.replaceChildren();
    order.slice(page * size, (page + 1) * size).forEach(addRow);
    heads.forEach((head, at) => {
      const sign = head.querySelector("span");
      if (!sign) return;
      sign.textContent = at === column ? (down ? " ↓" : " ↑") : "";
      if (at === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const start = order.length ? page * size + 1 : 0;
    const stop = Math.min((page + 1) * size, order.length);
    position.textContent = order.length
      ? `${whole(start)}–${whole(stop)} of ${whole(order.length)}`
      : "Nothing found";
    back.disabled = page === 0;
    on.disabled = page === last;
    pager.hidden = rows.length <= size && listed.length === rows.length;
  }

  show();
  return {
    keep(some) {
      listed = some;
      page = 0;
      show();
    },
  };
}

const signed = (number, text) => make("span", { class: number < 0 ? "neg" : null }, text);

// ----------------------------------------------------------------------------------------------------------- groups

for (const { title, note, name: head, table } of report.groups) {
  byId("groups").hidden = false;
  const host = make("div", null);
  byId("group-tables").append(host);
  const { name, points, mean, sum, negative, ordered } = table;
  const low = Math.min(0, ...mean);
  const high = Math.max(0, ...mean);
  const place = (number) => (100 * (number - low)) / (high - low || 1);
  const meanText = formatter(mean);
  const sumText = formatter(sum);
  const bar = (row) => {
    const track = make("span", { class: "track", "aria-hidden": "true" }, make("i"));
    const fill = track.firstChild;
    track.style.setProperty("--zero", `${place(0)}%`);
    fill.style.left = `${place(Math.min(0, mean[row]))}%`;
    fill.style.width = `${Math.abs(place(mean[row]) - place(0))}%`;
    fill.style.background = `var(--${mean[row] < 0 ? "down" : "up"})`;
    return track;
  };
  addTable(host, {
    caption: title,
    columns: [
      { title: head, value: (row) => (ordered ? row : name[row]), cell: (row) => name[row] },
      { title: "Points", kind: "number", first: "down", value: (row) => points[row], cell: (row) => whole(points[row]) },
      { title: "Mean", kind: "number", first: "down", value: (row) => mean[row],
        cell: (row) => signed(mean[row], meanText(mean[row])) },
      { title: "", kind: "wide", cell: bar },
      { title: "Sum", kind: "number", first: "down", value: (row) => sum[row],
        cell: (row) => signed(sum[row], sumText(sum[row])) },
      { title: "Below 0", kind: "number", wide: true, first: "down", value: (row) => negative[row],
        cell: (row) => `${Math.round(100 * negative[row])} %` },
    ],
    rows: name.map((_, row) => row),
    sorted: ordered ? 0 : 4,
    descending: !ordered,
    size: 12,
  });
  if (note) host.append(make("p", { class: "note" }, note));
}
