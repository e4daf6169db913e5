"use strict";
(function () {
  var table = document.getElementById("label-table");
  var tools = document.querySelector("form.tools");
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (d) { d.open = true; });
  });
  if (!table || !tools) { return; }
  tools.hidden = false;
  tools.addEventListener("submit", function (event) { event.preventDefault(); });
  var body = table.tBodies[0];
  var rows = Array.from(body.rows);
  var task = document.getElementById("pick-task");
  var label = document.getElementById("pick-label");
  var judged = document.getElementById("pick-judged");
  var picked = document.getElementById("picked");

  function filter() {
    var wanted = label.value.trim().toLowerCase(), shown = 0;
    rows.forEach(function (row) {
      var keep = (!task.value || row.cells[0].textContent === task.value)
        && row.cells[1].textContent.toLowerCase().includes(wanted)
        && (!judged.checked || !row.classList.contains("unjudged"));
      row.hidden = !keep;
      if (keep) { shown += 1; }
    });
    picked.textContent = shown + " of " + rows.length + " labels shown";
  }
  [task, judged].forEach(function (input) { input.addEventListener("change", filter); });
  label.addEventListener("input", filter);
  filter();

  function order(cell, numeric) {
    if (!numeric) { return cell.textContent.toLowerCase(); }
    var text = cell.dataset.sort || (cell.querySelector("abbr") ? "" : cell.textContent);
    return text === "" || isNaN(text) ? null : Number(text);
  }
  var heads = table.tHead.rows[1].cells;
  Array.from(heads).forEach(function (head, column) {
    var button = document.createElement("button");
    button.type = "button";
    while (head.firstChild) { button.appendChild(head.firstChild); }
    head.appendChild(button);
    var numeric = head.classList.contains("n");
    button.addEventListener("click", function () {
      var was = head.getAttribute("aria-sort");
      var up = was ? was === "descending" : !numeric;
      Array.from(heads).forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      var keyed = rows.map(function (row, index) { return [order(row.cells[column], numeric), index, row]; });
      keyed.sort(function (a, b) {
        if (a[0] === b[0]) { return a[1] - b[1]; }
        if (a[0] === null) { return 1; }
        if (b[0] === null) { return -1; }
        return (a[0] < b[0] ? -1 : 1) * (up ? 1 : -1);
      });
      keyed.forEach(function (item) { body.appendChild(item[2]); });
    });
  });
})();
