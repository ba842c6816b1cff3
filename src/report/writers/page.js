// What a page can do where scripts run: sort its tables, tell how a number was
// made, show one figure of a kind at a time. Without scripts all is there.
"use strict";
{
  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes))
      element.setAttribute(name, value);
    element.append(...children);
    return element;
  };

  // The number that a cell begins with, or its text; nothing if it was not run.
  const valueOf = (cell) => {
    const text = cell.firstChild?.textContent.trim() ?? "";
    if (text === "" || text === "\u2014") return null;
    const number = Number.parseFloat(text.replace("\u2212", "-"));
    return Number.isNaN(number) ? text.toLowerCase() : number;
  };

  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });

  // What was not run stays at the end, whichever way.
  const sortRows = (rows, column, sign) => [...rows].sort((left, right) => {
    const [a, b] = [left, right].map((row) => valueOf(row.cells[column]));
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * compare(a, b);
  });

  // Numbers begin with the highest, names with the first; the third time the
  // rows are as they were.
  const makeSortable = (table) => {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    if (rows.length < 2) return;
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const numeric = rows.some((row) => typeof valueOf(row.cells[column]) === "number");
        const turns = numeric ? ["descending", "ascending"] : ["ascending", "descending"];
        const turn = turns[turns.indexOf(head.getAttribute("aria-sort")) + 1];
        for (const other of heads) other.removeAttribute("aria-sort");
        if (turn) head.setAttribute("aria-sort", turn);
        body.append(...(turn ? sortRows(rows, column, turn === "ascending" ? 1 : -1) : rows));
      });
    });
  };

  // A flag and its value stay on one line where they can.
  const unbroken = (command) => command.split(/ (?=--)/)
    .flatMap((part, i) => [i === 0 ? "" : " ", make("span", {}, part)]);

  const tip = make("div", { id: "tip", role: "status", hidden: "" });
  let pinned = null;

  const tell = (cell) => {
    const row = cell.parentElement;
    const head = cell.closest("table").tHead.rows[0].cells[cell.cellIndex];
    const lines = [`${row.cells[0].textContent}, ${head.textContent}`];
    if (cell.dataset.s) lines.push(`Seeds: ${cell.dataset.s}`);
    const command = [row.dataset.c, cell.dataset.f].filter(Boolean).join(" ");
    tip.replaceChildren(...lines.map((line) => make("p", {}, line)));
    if (row.dataset.c) tip.append(make("code", {}, ...unbroken(command)));
    tip.hidden = false;
    const place = cell.getBoundingClientRect();
    const widest = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const below = place.bottom + 4;
    const fits = below + tip.offsetHeight < document.documentElement.clientHeight;
    tip.style.left = `${scrollX + Math.max(8, Math.min(place.left, widest))}px`;
    tip.style.top = `${scrollY + (fits ? below : Math.max(4, place.top - tip.offsetHeight - 4))}px`;
  };

  const hide = () => {
    pinned = null;
    tip.hidden = true;
  };

  // The cell an arrow key leads to.
  const neighbour = (cell, key) => {
    const row = cell.parentElement;
    if (key === "ArrowRight") return cell.nextElementSibling;
    if (key === "ArrowLeft") return cell.previousElementSibling;
    const other = key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling;
    return other?.cells[cell.cellIndex];
  };

  // Of a table's cells one can be reached by Tab, the others by arrows.
  const makeTelling = (table) => {
    const told = [...table.querySelectorAll("tbody td[data-s], tbody td[data-f]")];
    if (told.length === 0) return;
    for (const cell of told) cell.classList.add("told");
    const cellOf = (event) => event.target.closest?.("td.told");
    for (const cell of told) cell.tabIndex = -1;
    told[0].tabIndex = 0;
    table.addEventListener("mouseover", (event) => {
      if (!pinned && cellOf(event)) tell(cellOf(event));
    });
    table.addEventListener("mouseout", () => pinned || hide());
    table.addEventListener("focusin", (event) => cellOf(event) && tell(cellOf(event)));
    table.addEventListener("focusout", () => pinned || hide());
    table.addEventListener("click", (event) => {
      const cell = cellOf(event);
      if (!cell) return;
      if (pinned === cell) return hide();
      tell(pinned = cell);
    });
    table.addEventListener("keydown", (event) => {
      const cell = cellOf(event);
      if (!cell || !event.key.startsWith("Arrow")) return;
      const next = neighbour(cell, event.key);
      event.preventDefault();
      if (!next?.classList.contains("told")) return;
      cell.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  };

  const makeChoosable = (group) => {
    const figures = [...group.querySelectorAll("figure")];
    const buttons = figures.map((figure) =>
      make("button", { type: "button" }, figure.dataset.choice));
    const choose = (chosen) => figures.forEach((figure, i) => {
      figure.hidden = i !== chosen;
      buttons[i].setAttribute("aria-pressed", i === chosen);
    });
    buttons.forEach((button, i) => button.addEventListener("click", () => choose(i)));
    group.prepend(make("div", { class: "choices", role: "group", "aria-label": group.dataset.kind }, ...buttons));
    choose(figures.length - 1);
  };

  for (const table of document.querySelectorAll("table")) {
    makeSortable(table);
    makeTelling(table);
  }
  for (const group of document.querySelectorAll("div.choice")) makeChoosable(group);
  document.querySelector("main").append(tip);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("click", (event) => {
    if (!event.target.closest("td.told, #tip")) hide();
  });
}
