"use strict";
(function () {
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
  const KINDS = ["contender", "workload", "cache", "phase"];
  const form = document.getElementById("filters");

  // What is hidden and how ratios are shown is in the address, so that a view can be shared:
  // `#hide-contender=a&hide-cache=cache+warm&to=best`. An address without `=` names a place.
  function read() {
    const text = location.hash.includes("=") ? location.hash.slice(1) : "";
    const parameters = new URLSearchParams(text);
    KINDS.forEach((kind) => {
      const hidden = parameters.getAll("hide-" + kind);
      boxes(kind).forEach((box) => { box.checked = !hidden.includes(box.value); });
    });
    const show = parameters.get("show") || "both";
    all("input[name=show]").forEach((choice) => { choice.checked = choice.value === show; });
    const to = parameters.get("to") || "base";
    all(".switch input").forEach((choice) => { choice.checked = choice.value === to; });
    apply();
  }

  function write() {
    const parameters = new URLSearchParams();
    KINDS.forEach((kind) => boxes(kind).forEach((box) => {
      if (!box.checked) parameters.append("hide-" + kind, box.value);
    }));
    if (shown() !== "both") parameters.append("show", shown());
    if (toBest()) parameters.append("to", "best");
    const text = parameters.toString();
    history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
  }

  const boxes = (kind) => form ? all("input[name=" + kind + "]", form) : [];
  const shown = () => (document.querySelector("input[name=show]:checked") || { value: "both" }).value;
  const toBest = () => (document.querySelector(".switch input:checked") || {}).value === "best";

  function apply() {
    const off = {};
    KINDS.forEach((kind) => {
      off[kind] = new Set(boxes(kind).filter((box) => !box.checked).map((box) => box.value));
    });
    boxes("phase").forEach((box) => {
      const hidden = off.workload.has(box.dataset.workload) || off.cache.has(box.dataset.cache);
      box.closest("label").classList.toggle("gone", hidden);
      if (hidden) off.phase.add(box.value);
    });
    all("[data-c]").forEach((one) => { one.toggleAttribute("hidden", off.contender.has(one.dataset.c)); });
    all("[data-p]").forEach((one) => { one.hidden = off.phase.has(one.dataset.p); });
    // What has nothing left to show goes with it.
    all(".workload, tbody:not([data-p])").forEach((group) => {
      const inside = all("[data-p]", group);
      group.hidden = inside.length > 0 && inside.every((one) => one.hidden);
    });
    document.body.classList.toggle("only-return", shown() === "return");
    document.body.classList.toggle("only-durable", shown() === "durable");
    reportHidden(off);
  }

  function reportHidden(off) {
    if (!form) return;
    const parts = all("fieldset[data-kind]", form).flatMap((set) => {
      const kind = set.dataset.kind;
      // Hidden workloads and cache states show as phases.
      if (kind === "workload" || kind === "cache") return [];
      const many = boxes(kind).length, hidden = off[kind].size;
      return hidden ? [hidden + " of " + many + " " + set.dataset.several] : [];
    });
    if (shown() !== "both") parts.push("the times to " + (shown() === "return" ? "durable" : "return"));
    const line = form.querySelector(".hidden-count");
    line.firstElementChild.textContent = parts.length ? "Hidden: " + parts.join(", ") + "." : "";
    document.getElementById("show-all").hidden = parts.length === 0;
  }

  // Controls are of no use without this script: the page hides them until it runs.
  if (form) {
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", () => { apply(); write(); });
    document.getElementById("show-all").addEventListener("click", () => {
      all("input[type=checkbox]", form).forEach((box) => { box.checked = true; });
      all("input[name=show]", form).forEach((one) => { one.checked = one.value === "both"; });
      apply();
      write();
      form.querySelector("summary").focus();
    });
  }
  all(".switch input").forEach((choice) => choice.addEventListener("change", () => {
    all(".switch input").forEach((other) => { other.checked = other.value === choice.value; });
    write();
  }));
  // A link to folded details unfolds them.
  function unfold() {
    const named = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (named && named.tagName === "DETAILS") named.open = true;
  }
  addEventListener("hashchange", () => { if (location.hash.includes("=")) read(); else unfold(); });
  read();
  unfold();

  // Rows move within their group; cells without a figure are last in both directions.
  function sort(table, column, ascending) {
    const value = (row) => {
      const cell = row.cells[column];
      if (!cell || cell.dataset.v === undefined) return null;
      const key = toBest() && cell.dataset.best !== undefined ? cell.dataset.best : cell.dataset.v;
      return key === "" ? null : Number(key);
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
      button.append(...head.childNodes);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const ascending = head.getAttribute("aria-sort") !== "ascending";
        all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        sort(table, head.cellIndex, ascending);
      });
    });
  });

  // The words of a mark, for those who point at it, touch it or walk to it.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.append(tip);
  // Marks of drawings have titles, which a browser shows to a mouse alone.
  function marked(event) {
    if (!event.target.closest) return null;
    const tipped = event.target.closest("[data-tip]");
    if (tipped || event.type !== "click") return tipped;
    const drawn = event.target.closest("svg :not(title)");
    return drawn && drawn.querySelector(":scope > title") ? drawn : null;
  }
  function show(event) {
    const mark = marked(event);
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip || mark.querySelector("title").textContent;
    const box = mark.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.min(box.left + box.width / 2 - own.width / 2, innerWidth - own.width - 4);
    const above = box.top - own.height - 6;
    tip.style.left = scrollX + Math.max(4, left) + "px";
    tip.style.top = scrollY + (above < 0 ? box.bottom + 6 : above) + "px";
  }
  ["pointerover", "click", "focusin"].forEach((kind) => document.addEventListener(kind, show));
  addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });

  // Finds the boxes of a flame graph by a part of the name of their function.
  all("figure.functions").forEach((figure) => {
    const label = document.createElement("label"), field = document.createElement("input");
    const found = document.createElement("output");
    field.type = "search";
    label.append("Find a function: ", field, " ", found);
    figure.before(label);
    field.addEventListener("input", () => {
      const text = field.value.trim().toLowerCase();
      const boxes = all("g", figure);
      const fits = (box) => box.querySelector("title").textContent.split(":")[0].toLowerCase().includes(text);
      boxes.forEach((box) => box.classList.toggle("off", !fits(box)));
      found.textContent = text ? boxes.filter(fits).length + " of " + boxes.length + " boxes" : "";
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
