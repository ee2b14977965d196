"use strict";
(function () {
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));

  // Controls are of no use without this script: the page hides them until it runs.
  all(".controls").forEach((form) => {
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
  });

  const filter = document.getElementById("filter");
  if (filter) {
    filter.addEventListener("input", () => {
      const wanted = filter.value.trim().toLowerCase();
      all(".phase").forEach((phase) => {
        phase.hidden = !phase.dataset.name.toLowerCase().includes(wanted);
      });
      all(".workload").forEach((workload) => {
        workload.hidden = all(".phase", workload).every((phase) => phase.hidden);
      });
    });
  }

  all("input[name=show]").forEach((choice) => {
    choice.addEventListener("change", () => {
      document.body.classList.toggle("only-return", choice.value === "return");
      document.body.classList.toggle("only-durable", choice.value === "durable");
    });
  });

  // Rows move within their group; cells without a figure go last, whatever the direction.
  function sort(table, column, ascending) {
    const value = (row) => {
      const cell = row.cells[column];
      return cell && cell.dataset.v !== undefined ? Number(cell.dataset.v) : null;
    };
    Array.from(table.tBodies).forEach((body) => {
      const rows = all("tr:not(.group)", body);
      rows.sort((a, b) => {
        const x = value(a), y = value(b);
        if (x === null || y === null) return (x === null) - (y === null);
        return ascending ? x - y : y - x;
      });
      rows.forEach((row) => body.append(row));
    });
  }

  all("table.sortable").forEach((table) => {
    all("th[data-sort]", table).forEach((head) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const ascending = head.getAttribute("aria-sort") !== "ascending";
        all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        sort(table, head.cellIndex, ascending);
      });
    });
  });

  if (navigator.clipboard) {
    all("pre.copy").forEach((text) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "take";
      button.textContent = "Copy";
      button.addEventListener("click", () => {
        navigator.clipboard.writeText(text.textContent).then(
          () => { button.textContent = "Copied"; },
          () => { button.textContent = "The browser does not allow it"; }
        );
      });
      text.before(button);
    });
  }
})();
