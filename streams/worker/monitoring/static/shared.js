"use strict";

/* Formats of figures, and elements of the page. */

const STEPS = ["prepare", "label", "observe", "extract", "deliver"];

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const decimal = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const clockWithSeconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

const known = (format) => (value) => (value === null || value === undefined ? "–" : format(value));
const count = known((value) => whole.format(value));
const rate = known((value) => (value < 100 ? decimal : whole).format(value));
const percent = known((value) => `${decimal.format(100 * value)} %`);
const megabytes = known((value) => `${whole.format(value / 1e6)} MB`);
const megabytesPerSecond = known((value) => (value / 1e6).toFixed(value < 1e7 ? 2 : 1));
const seconds = known((value) => (value < 1 ? `${rate(1000 * value)} ms` : `${decimal.format(value)} s`));

const duration = known((value) => {
  if (value < 60) return `${Math.floor(value)} s`;
  const [unit, name, below, nameBelow] = value < 3600 ? [60, "min"] : value < 86400 ? [3600, "h", 60, "min"] : [86400, "d", 3600, "h"];
  const rest = below && Math.floor((value % unit) / below);
  return `${whole.format(Math.floor(value / unit))} ${name}${rest ? ` ${rest} ${nameBelow}` : ""}`;
});

const byId = (id) => document.getElementById(id);

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function make(name, text = "", className = "") {
  const node = document.createElement(name);
  if (text) node.textContent = text;
  if (className) node.className = className;
  return node;
}

/* Give a parent one child for each item, in order; those that stay are kept, with their focus and state. */
function sync(parent, items, key, create, update) {
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  items.forEach((item, index) => {
    const name = String(key(item));
    let child = before.get(name);
    before.delete(name);
    if (!child) {
      child = create(item);
      child.dataset.key = name;
    }
    if (parent.children[index] !== child) parent.insertBefore(child, parent.children[index] ?? null);
    update(child, item);
  });
  while (parent.children.length > items.length) parent.lastElementChild.remove();
}

function row(columns) {
  const line = make("tr");
  for (let column = 0; column < columns; column += 1) {
    const cell = make(column ? "td" : "th");
    if (!column) cell.scope = "row";
    line.append(cell);
  }
  return line;
}
