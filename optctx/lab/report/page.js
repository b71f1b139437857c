"use strict";
// Unpacks and draws the figures, and sorts and filters the table of trials. Texts of the study come escaped.
(async function () {
  const table = document.getElementById("trials");
  const heads = Array.from(table.tHead.rows[0].cells);
  const names = heads.map((head) => head.textContent.toLowerCase());
  const dark = matchMedia("(prefers-color-scheme: dark)");

  async function unpacked(id) {
    const text = atob(document.getElementById(id).textContent);
    const bytes = Uint8Array.from(text, (each) => each.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  function showTrial(number) {
    const row = document.getElementById("t" + number);
    if (row === null) return;
    row.hidden = false;
    location.hash = "t" + number;
  }

  function colours() {
    const line = dark.matches ? "#444" : "#ddd";
    const shown = { "font.color": dark.matches ? "#ddd" : "#222" };
    for (const axis of ["xaxis", "yaxis"]) {
      shown[axis + ".gridcolor"] = line;
      shown[axis + ".linecolor"] = line;
      shown[axis + ".zeroline"] = false;
    }
    return shown;
  }

  async function draw(name, figure, labels) {
    const place = document.getElementById(name);
    for (const trace of figure.data) {
      if (trace.customdata === undefined) continue;
      trace.text = trace.customdata.map((number) => labels[number]);
      trace.hovertemplate = "%{text}<extra></extra>";
    }
    const layout = { margin: { l: 70, r: 20, t: 40, b: 60 }, hovermode: "closest", height: place.clientHeight,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", ...figure.layout };
    await Plotly.newPlot(place, figure.data, layout, { displaylogo: false, responsive: true });
    await Plotly.relayout(place, colours());
    dark.addEventListener("change", () => Plotly.relayout(place, colours()));
    place.on("plotly_click", function (event) {
      const point = event.points && event.points[0];
      if (point && point.customdata !== undefined) showTrial(point.customdata);
    });
    place.dataset.drawn = "yes";
  }

  function key(row, column) {
    const cell = row.cells[column];
    const text = cell.dataset.v || cell.textContent;
    return [text === "" || isNaN(text) ? parseFloat(text) : Number(text), text];
  }

  // Empty cells last, numbers by size, other texts by name.
  function compare(one, other) {
    const numbers = !isNaN(one[0]) && !isNaN(other[0]);
    return numbers ? one[0] - other[0] : one[1].localeCompare(other[1]);
  }

  function sortBy(head) {
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const each of heads) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const keyed = Array.from(table.tBodies[0].rows, (row) => [key(row, head.cellIndex), row]);
    keyed.sort((one, other) => {
      const empty = (one[0][1] === "") - (other[0][1] === "");
      return empty || compare(one[0], other[0]) * (up ? 1 : -1);
    });
    table.tBodies[0].append(...keyed.map((each) => each[1]));
  }

  // column=value is of that column alone, and of the whole cell; a number is a whole cell of any column.
  function matches(row, word) {
    const [, name, sign, value] = /^(.+?)([=<>])(.*)$/.exec(word) || [];
    const column = names.findIndex((each) => each === name || each.startsWith(name + " ("));
    if (column >= 0) {
      const [number, text] = key(row, column);
      if (sign === "=") return text.toLowerCase() === value || (value !== "" && number === Number(value));
      return sign === "<" ? number < Number(value) : number > Number(value);
    }
    const texts = Array.from(row.cells, (cell) => cell.textContent.toLowerCase());
    return texts.some((text) => (isNaN(word) ? text.includes(word) : text === word));
  }

  function filter() {
    const words = document.getElementById("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !words.every((word) => matches(row, word));
      shown += !row.hidden;
    }
    document.getElementById("shown").textContent = words.length ? shown + " of " + table.tBodies[0].rows.length + " rows" : "";
  }

  for (const head of heads) head.firstElementChild.addEventListener("click", () => sortBy(head));
  document.getElementById("words").addEventListener("input", filter);

  const data = JSON.parse(await unpacked("data"));
  if (Object.keys(data.figures).length === 0) return;
  const script = document.createElement("script");
  script.textContent = await unpacked("plotly");
  document.head.append(script);
  for (const [name, figure] of Object.entries(data.figures)) await draw(name, figure, data.labels);
})();
