/* ---- painting: only what has changed since ---- */

function lookOf(number) {
  const label = work.labels[number];
  const isSuggested = label === NO_LABEL;
  return { kind: isSuggested ? suggested(number) : label, isSuggested, isTouched: view.touched.has(number),
    isWhole: number === view.whole,
    isCurrent: number === work.current, isSelected: isSelected(number),
    share: isSuggested && work.suggestions ? Math.round(100 * work.suggestions[number]) : null };
}

const isSelected = (number) => number >= Math.min(work.anchor, work.current) && number <= Math.max(work.anchor, work.current);

function paint() {
  view.rows.forEach((row, number) => {
    const look = lookOf(number), key = Object.values(look).join();
    if (view.painted[number] === key) return;
    view.painted[number] = key;
    paintRow(row, number, look);
    for (const span of view.spans[number] || []) paintSpan(span, look);
  });
  paintCounts();
  const history = work.page ? historyOf(work.number) : { done: [], undone: [] };
  at("undo").disabled = !work.editable || !history.done.length;
  at("redo").disabled = !work.editable || !history.undone.length;
  at("accept").disabled = !isDoneByHand() && (!work.editable || !work.suggestions || !work.labels.includes(NO_LABEL));
  at("blocks").setAttribute("aria-activedescendant", view.rows.length ? `block-${work.current}` : "");
}

function paintRow(row, number, look) {
  const block = work.page.blocks[number];
  row.className = ["block", block.kind, NAMES[look.kind], look.isSuggested && "suggested", look.isTouched && "touched",
    look.isCurrent && "current", look.isWhole && "whole", block.hidden && "secret"].filter(Boolean).join(" ");
  row.setAttribute("aria-selected", String(look.isSelected));
  const name = NAMES[look.kind] || "no label";
  row.firstChild.textContent = look.isSuggested && NAMES[look.kind] ? `${name}?` : name;
  row.title = look.share === null ? "" : `suggested: content ${look.share} %`;
}

const EDGES = { [CONTENT]: "45, 138, 78", [BOILERPLATE]: "194, 87, 12" };

function paintSpan(span, look) {
  const color = EDGES[look.kind] || "110, 115, 122";
  const line = look.isSuggested ? `1px dashed rgba(${color}, .75)` : `2px solid rgb(${color})`;
  const fill = look.isTouched ? "rgba(255, 214, 70, .6)" : `rgba(${color}, ${look.isSuggested ? 0.07 : 0.22})`;
  outline(span, look.isCurrent ? "3px solid #7a3df0" : line, fill);
}

function paintCounts() {
  const { labels, page } = work;
  if (!page || !page.blocks) return;
  const count = (label) => labels.filter((each) => each === label).length;
  const said = (number) => number.toLocaleString("en");
  const open = count(NO_LABEL);
  const likely = labels.filter((label, number) => label === NO_LABEL && suggested(number) === CONTENT).length;
  const doubtful = doubtfulBlocks(), place = doubtful.indexOf(work.current);
  const doubt = place < 0 ? doubtful.length && said(doubtful.length) : `${said(place + 1)} of ${said(doubtful.length)}`;
  at("counts").textContent = [plural(labels.length, "block"), `${said(count(CONTENT))} content`, `${said(count(BOILERPLATE))} boilerplate`,
    `${said(open)} without a label${work.suggestions && open ? ` (${said(likely)} suggested as content)` : ""}`,
    open && `${doubt || "none"} in doubt`, view.unseen && `${said(view.unseen)} to be seen only in this list`].filter(Boolean).join(" · ");
}

function touch(numbers) {
  view.touched = new Set(numbers);
  paint();
}

/* ---- the list of blocks ---- */

function buildRows() {
  const all = document.createDocumentFragment();
  view.rows = work.page.blocks.map((block, number) => {
    const row = make("div", "block");
    row.id = `block-${number}`;
    row.dataset.block = number;
    row.setAttribute("role", "option");
    const text = make("span", "text", block.text);
    if (block.text.length > LONG_TEXT || block.text.includes("\n")) text.title = block.text;
    row.append(make("span", "says"), text);
    return all.appendChild(row);
  });
  if (!view.rows.length && !work.page.refusal) all.append(make("p", "", "The page has no text: there is nothing to label. A says so."));
  at("blocks").replaceChildren(all);
  at("blocks").scrollTop = 0;
}

const rowAt = (event) => {
  const element = document.elementFromPoint(event.clientX, event.clientY);
  const row = element && element.closest("#blocks [data-block]");
  return row ? Number(row.dataset.block) : -1;
};

const range = (one, other) => {
  const first = Math.min(one, other);
  return Array.from({ length: Math.abs(one - other) + 1 }, (_, index) => first + index);
};

function watchList() {
  const pane = at("blocks");
  const stroke = { from: -1, to: -1, swallows: false };
  const end = () => {
    stroke.from = -1;
    touch([]);
  };
  pane.addEventListener("pointerdown", (event) => {
    stroke.swallows = false; // a finger or another device may come after the mouse
    if (event.button !== 0 || event.pointerType === "touch") return;
    Object.assign(stroke, { from: rowAt(event), to: rowAt(event) });
  });
  pane.addEventListener("pointermove", (event) => {
    if (stroke.from < 0 || !(event.buttons & 1)) return;
    const box = pane.getBoundingClientRect();
    if (event.clientY > box.bottom - EDGE) pane.scrollTop += EDGE;
    if (event.clientY < box.top + EDGE) pane.scrollTop -= EDGE;
    const row = rowAt(event);
    if (row < 0 || row === stroke.to) return;
    if (stroke.to === stroke.from && !pane.hasPointerCapture(event.pointerId)) pane.setPointerCapture(event.pointerId);
    stroke.to = row;
    stroke.swallows = true;
    touch(range(stroke.from, row));
  });
  pane.addEventListener("pointerup", (event) => {
    if (stroke.from < 0) return;
    const { from, to, swallows } = stroke;
    end();
    if (swallows) mark(range(from, to), work.brush);
  });
  pane.addEventListener("pointercancel", end);
  cancels.push(() => {
    if (stroke.from >= 0) stroke.swallows = true;
    end();
  });
  pane.addEventListener("click", (event) => {
    const row = event.target.closest("[data-block]");
    if (row && !stroke.swallows) clicked(Number(row.dataset.block), event.shiftKey, work.brush, "picture");
    stroke.swallows = false;
  });
  pane.addEventListener("contextmenu", (event) => {
    const row = event.target.closest("[data-block]");
    if (!row) return;
    event.preventDefault();
    clicked(Number(row.dataset.block), event.shiftKey, otherBrush(), "picture");
  });
}

/* Functions that give up a stroke that has begun. */
const cancels = [];
