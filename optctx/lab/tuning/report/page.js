"use strict";
// Draws the figures, and sorts and filters the table of trials. Texts of the study come escaped.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const table = document.getElementById("trials");

  // Columns of numbers are written once; in a figure stands {"column": N}.
  function resolve(part) {
    if (Array.isArray(part)) return part.map(resolve);
    if (part === null || typeof part !== "object") return part;
    if (typeof part.column === "number") return data.columns[part.column];
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, resolve(value)]));
  }

  function showTrial(number) {
    const row = document.getElementById("t" + number);
    if (row === null) return;
    row.hidden = false;
    location.hash = "t" + number;
  }

  for (const [name, figure] of Object.entries(data.figures)) {
    const place = document.getElementById(name);
    const config = { displaylogo: false, responsive: true };
    Plotly.newPlot(place, resolve(figure.data), figure.layout, config).then(function () {
      place.dataset.drawn = "yes";
      place.on("plotly_click", function (event) {
        const point = event.points[0];
        if (point.customdata !== undefined) showTrial(point.customdata);
      });
    });
  }

  function key(row, column) {
    const cell = row.cells[column];
    const text = cell.dataset.v || cell.textContent;
    return [text === "" || isNaN(text) ? parseFloat(text) : Number(text), text];
  }

  // Empty cells last, numbers by size, other texts by name.
  function compare(one, other) {
    if ((one[1] === "") !== (other[1] === "")) return one[1] === "" ? 1 : -1;
    const numbers = !isNaN(one[0]) && !isNaN(other[0]);
    return numbers ? one[0] - other[0] : one[1].localeCompare(other[1]);
  }

  function sortBy(head) {
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const keyed = Array.from(table.tBodies[0].rows, (row) => [key(row, head.cellIndex), row]);
    keyed.sort((one, other) => {
      const empty = (one[0][1] === "") !== (other[0][1] === "");
      return compare(one[0], other[0]) * (up || empty ? 1 : -1);
    });
    table.tBodies[0].append(...keyed.map((each) => each[1]));
  }

  function filter() {
    const words = document.getElementById("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    document.getElementById("shown").textContent = words.length ? shown + " rows" : "";
  }

  for (const head of table.tHead.rows[0].cells) head.addEventListener("click", () => sortBy(head));
  document.getElementById("words").addEventListener("input", filter);
})();
