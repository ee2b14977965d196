"use strict";
(function () {
  const form = document.getElementById("search");
  if (!form) return;
  const rows = Array.from(document.querySelectorAll(".found tbody tr"));
  const lower = (text) => text.trim().toLowerCase();
  const names = (text) => text ? text.toLowerCase().split("\n") : [];
  rows.forEach((row) => {
    row.found = {
      contenders: names(row.dataset.contenders),
      phases: names(row.dataset.phases),
      text: row.textContent.toLowerCase(),
    };
  });
  const value = (name) => lower(form.elements[name].value);
  const some = (all, wanted) => !wanted || all.some((one) => one.includes(wanted));

  // The search is in the address, so that it can be shared: `#contender=ext4&phase=copy`.
  function apply() {
    const contender = value("contender"), phase = value("phase"), text = value("text");
    let shown = 0;
    rows.forEach((row) => {
      const is = some(row.found.contenders, contender) && some(row.found.phases, phase)
        && row.found.text.includes(text);
      row.hidden = !is;
      shown += is;
    });
    document.querySelectorAll(".found").forEach((section) => {
      section.hidden = !section.querySelector("tbody tr:not([hidden])");
    });
    const searched = contender || phase || text;
    form.querySelector("[role=status]").textContent =
      searched ? shown + " of " + rows.length + " entries" : "";
  }

  function read() {
    const parameters = new URLSearchParams(location.hash.slice(1));
    Array.from(form.elements).forEach((field) => {
      if (field.name) field.value = parameters.get(field.name) || "";
    });
    apply();
  }

  function write() {
    const parameters = new URLSearchParams();
    Array.from(form.elements).forEach((field) => {
      if (field.name && field.value) parameters.set(field.name, field.value);
    });
    const text = parameters.toString();
    history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => { apply(); write(); });
  addEventListener("hashchange", read);
  read();
})();
