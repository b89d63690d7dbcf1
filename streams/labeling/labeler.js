
const overview = JSON.parse(document.getElementById("overview").textContent);
const NO_LABEL = null, CONTENT = 1, BOILERPLATE = 0;
const NAMES = { [CONTENT]: "content", [BOILERPLATE]: "boilerplate" };
const MARKS = { todo: "○", half: "◐", labeled: "✓", misfit: "!", refused: "✗" };
const FILTERS = {
  all: () => true,
  todo: (state) => ["todo", "half", "misfit"].includes(state),
  labeled: (state) => state === "labeled",
  trouble: (state) => ["misfit", "refused"].includes(state),
};
const DOUBT_FROM = 0.1, DOUBT_TO = 0.9, NAMED_TITLE = 70, NAMED = 120, LONG_TEXT = 120;
const FAR = 1e7, DOT = 2; // pixels of a margin around all pages, and those that a text cut off may have left
const STROKE_FROM = 5, EDGE = 24, SAVE_AFTER = 150, SUGGEST_AFTER = 100, RETRY_AFTER = 3000, STEPS_KEPT = 200;

/* The view: a page, its labels and suggestions, and the block that keys are for. */
const work = { number: -1, page: null, labels: [], suggestions: null, current: 0, anchor: 0, brush: CONTENT,
  editable: false, replaces: false };
/* The rendering: the row of each block, the mark of its text in the frame, and the painting of both. */
const view = { rows: [], spans: [], blockOf: new WeakMap(), unseen: 0, painted: [], touched: new Set(), whole: -1 };
const histories = new Map();
const revisions = new Map();
const saves = { waiting: new Map(), busy: false, timer: 0, stale: -1, conflict: "" };

const stateOf = (number) => overview.pages[number].state;

function notice(text) {
  at("notice").textContent = text || "";
  at("notice").hidden = !text;
}

/* ---- the server ---- */

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, asked) {
  const sent = asked && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked) };
  let answer;
  try {
    answer = await fetch(path, sent);
  } catch {
    throw new Refused(0, `dehusk label does not answer; has it ended? Start it again with --port ${location.port}`);
  }
  if (!answer.ok) throw new Refused(answer.status, (await answer.text()).trim() || answer.statusText);
  return answer.json();
}

/* ---- saving: the newest labels of each page, one page at a time ---- */

function keep() {
  saves.waiting.set(work.number, { labels: [...work.labels], replaces: work.replaces });
  saySaved("saving …");
  clearTimeout(saves.timer);
  saves.timer = setTimeout(save, SAVE_AFTER);
}

async function save() {
  clearTimeout(saves.timer);
  const number = [...saves.waiting.keys()].find((each) => each !== saves.stale);
  if (saves.busy || number === undefined) return;
  saves.busy = true;
  let goesOn = true;
  const wanted = saves.waiting.get(number);
  try {
    const saved = await ask(`pages/${number}/labels`, { ...wanted, revision: revisions.get(number) });
    revisions.set(number, saved.revision);
    if (saves.waiting.get(number) === wanted) saves.waiting.delete(number);
    if (number === work.number) work.replaces = false;
    setState(number, saved.state);
    if (!saves.waiting.size) saySaved(`saved ${new Date(saved.saved_at).toLocaleTimeString("en-GB")}`);
  } catch (error) {
    goesOn = notSaved(number, error);
  } finally {
    saves.busy = false;
  }
  if (goesOn) save();
}

/* Say that a page is not saved; return whether the next one can be saved at once. */
function notSaved(number, error) {
  const said = `NOT SAVED (page ${number + 1}): ${error.message}`;
  if (error.status === 409) {
    saves.stale = number;
    saves.conflict = said;
  }
  saySaved(said, true);
  if (error.status === 409) return true;
  if (error.status === 400 || error.status === 422) {
    saves.waiting.delete(number); // it would be refused each time, and hold up other pages
    saves.timer = setTimeout(save, SAVE_AFTER);
  } else {
    at("again").hidden = false;
    saves.timer = setTimeout(save, RETRY_AFTER);
  }
  return false;
}

/* What is said of other pages does not hide a conflict, which stands until it is settled. */
function saySaved(text, isTrouble) {
  const conflicts = saves.stale >= 0;
  at("saved").textContent = conflicts && !isTrouble ? saves.conflict : text;
  at("saved").classList.toggle("unsaved", conflicts || Boolean(isTrouble));
  at("again").hidden = true;
  at("theirs").hidden = at("mine").hidden = !conflicts;
}

async function settle(keepsMine) {
  const number = saves.stale;
  const mine = saves.waiting.get(number);
  try {
    const page = await ask(`pages/${number}`);
    revisions.set(number, page.revision);
    saves.stale = -1;
    if (keepsMine) {
      saves.waiting.set(number, { ...mine, replaces: true });
      saySaved("saving …");
      save();
    } else {
      saves.waiting.delete(number);
      histories.delete(number);
      saySaved("the saved labels were taken");
      open(number);
    }
  } catch (error) {
    saySaved(`NOT SAVED (page ${number + 1}): ${error.message}`, true);
  }
}

/* ---- fine-tuning: by the server, one at a time; asked for until it ends ---- */

const TUNED_EVERY = 1000;
const TUNES = { running: "Fine-tuning …", written: "Fine-tuned", "not-better": "Not better", failed: "Fine-tuning failed" };
let tuningTimer = 0;

async function tune(starts) {
  clearTimeout(tuningTimer);
  if (starts && (saves.waiting.size || saves.busy)) {
    at("tuning-message").textContent = "Not started: labels are not saved yet.";
    return;
  }
  try {
    showTuning(await ask("fine-tuning", starts ? {} : undefined));
  } catch (error) {
    showTuning({ state: "failed", message: error.message, progress: [], result: [], next: [] });
  }
}

function showTuning({ state, message, progress, result, next }) {
  const runs = state === "running";
  at("tune").textContent = TUNES[state] || "Fine-tune";
  at("tuning-start").disabled = runs;
  at("tuning-runs").hidden = !runs;
  const lines = { progress, result, message: [message], next };
  for (const [name, its] of Object.entries(lines)) at(`tuning-${name}`).textContent = its.join("\n");
  at("tuning-progress").scrollTop = at("tuning-progress").scrollHeight;
  if (runs) tuningTimer = setTimeout(tune, TUNED_EVERY);
}

/* ---- suggestions: asked for after each change; the newest answer counts ---- */

let asked = 0, suggestTimer = 0;
function suggest() {
  clearTimeout(suggestTimer);
  suggestTimer = setTimeout(async () => {
    const turn = ++asked, number = work.number;
    try {
      const answer = await ask(`pages/${number}/suggestions`, { labels: work.labels });
      if (turn !== asked || number !== work.number) return;
      work.suggestions = answer.suggestions;
      paint();
    } catch (error) {
      if (turn === asked && number === work.number) notice(`No new suggestions: ${error.message}`);
    }
  }, SUGGEST_AFTER);
}

/* ---- labels ---- */

const historyOf = (number) => {
  if (!histories.has(number)) histories.set(number, { done: [], undone: [] });
  return histories.get(number);
};

const storedName = () => `dehusk label ${overview.file} ${overview.pages[work.number].id}`;

/* Keeps the last steps of a page for a reload of the tab. */
function storeHistory() {
  const { done, undone } = historyOf(work.number);
  const kept = { labels: work.labels, done: done.slice(-STEPS_KEPT), undone: undone.slice(-STEPS_KEPT) };
  try {
    sessionStorage.setItem(storedName(), JSON.stringify(kept));
  } catch { // the browser keeps no more: without a history, a reload has nothing to undo
    sessionStorage.removeItem(storedName());
  }
}

/* Takes the steps that were kept, if they lead to the labels that the page has. */
function restoreHistory() {
  if (histories.has(work.number)) return;
  const { labels, done, undone } = JSON.parse(sessionStorage.getItem(storedName()) || "{}");
  if (labels && JSON.stringify(labels) === JSON.stringify(work.labels)) histories.set(work.number, { done, undone });
}

function mark(numbers, label) {
  change(numbers.map((number) => [number, label]));
}

/* Gives blocks the labels of pairs of both; what is so already is left out. */
function change(pairs) {
  if (!work.editable) {
    if (work.page && work.page.misfit) notice("Nothing was marked: choose “Label it anew” first.");
    return;
  }
  const changed = pairs.filter(([number, label]) => work.labels[number] !== label)
    .map(([number, label]) => [number, work.labels[number], label]);
  if (!changed.length) return;
  const history = historyOf(work.number);
  history.done.push(changed);
  history.undone = [];
  set(changed.map(([number, , after]) => [number, after]));
}

function set(pairs) {
  for (const [number, label] of pairs) work.labels[number] = label;
  storeHistory();
  paint();
  keep();
  suggest();
}

function undo() {
  const history = historyOf(work.number), changed = work.editable && history.done.pop();
  if (!changed) return;
  history.undone.push(changed);
  set(changed.map(([number, before]) => [number, before]));
}

function redo() {
  const history = historyOf(work.number), changed = work.editable && history.undone.pop();
  if (!changed) return;
  history.done.push(changed);
  set(changed.map(([number, , after]) => [number, after]));
}

const suggested = (number) => (work.suggestions ? (work.suggestions[number] >= 0.5 ? CONTENT : BOILERPLATE) : NO_LABEL);

function accept() {
  if (isDoneByHand()) keep();
  if (!work.suggestions) return;
  change(work.labels.flatMap((label, number) => (label === NO_LABEL ? [[number, suggested(number)]] : [])));
}

/* True if there is nothing to label on the page, and nobody has said so yet. */
const isDoneByHand = () => work.editable && !work.labels.length && FILTERS.todo(stateOf(work.number));

const otherBrush = () => (work.brush === NO_LABEL ? NO_LABEL : 1 - work.brush);

/* Marks a block that was clicked on, or with Shift all blocks from the current one to it. */
function clicked(number, isRange, label, ...shownIn) {
  if (isRange) {
    mark(range(work.current, number), label);
    work.current = number;
    go(number, true, ...shownIn);
  } else {
    go(number, false, ...shownIn);
    mark([number], label);
  }
}

function takeBrush(label) {
  work.brush = label;
  for (const each of document.querySelectorAll(".brush")) {
    each.setAttribute("aria-pressed", String(each.dataset.brush === (label === NO_LABEL ? "u" : String(label))));
  }
}

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
  const open = count(NO_LABEL);
  const likely = labels.filter((label, number) => label === NO_LABEL && suggested(number) === CONTENT).length;
  const doubtful = doubtfulBlocks(), place = doubtful.indexOf(work.current);
  const doubt = place < 0 ? doubtful.length : `${place + 1} of ${doubtful.length}`;
  at("counts").textContent = [plural(labels.length, "block"), `${count(CONTENT)} content`, `${count(BOILERPLATE)} boilerplate`,
    `${open} without a label${work.suggestions && open ? ` (${likely} suggested as content)` : ""}`, open && `${doubt || "none"} in doubt`,
    view.unseen && `${view.unseen} to be seen only in this list`].filter(Boolean).join(" · ");
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
  if (!view.rows.length) all.append(make("p", "", "The page has no text: there is nothing to label. A says so."));
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
    if (event.button !== 0 || event.pointerType === "touch") return;
    Object.assign(stroke, { from: rowAt(event), to: rowAt(event), swallows: false });
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

/* ---- the page as a reader sees it ---- */

function showPicture() {
  const { page } = work;
  view.unseen = 0;
  view.spans = [];
  view.blockOf = new WeakMap();
  if (page.original === null) {
    at("picture").replaceChildren(make("p", "", `The page cannot be shown as a reader sees it: ${page.not_shown}. All its blocks are in the list.`));
    return;
  }
  const frame = makeFrame(page.original,
    "The page as a reader sees it, without scripts and without what it loads; the list beside it has all its blocks");
  frame.addEventListener("load", () => {
    if (work.page === page && frame.contentDocument) watchPicture(frame);
  });
  at("picture").replaceChildren(frame);
}

function watchPicture(frame) {
  const shown = frame.contentDocument;
  Object.assign(view, findTexts(shown, view.rows.length));
  countUnseen(frame, shown);
  view.painted = [];
  paint();
  watchStrokes(frame, shown);
  still(shown);
  on(shown, "keydown", keys);
  const wanted = frame.contentWindow;
  if (work.current > 0) showInPicture(work.current);
  else wanted.scrollTo(0, 0);
}

/* Counts the blocks of which a reader sees nothing in the frame. What is cut off is told with the next layout, by an
   observer, so that none is forced. */
function countUnseen(frame, shown) {
  const { page } = work, seen = new Set(), spans = view.spans.flat();
  let left = spans.length;
  if (!left) view.unseen = view.rows.length;
  const observer = new IntersectionObserver((entries) => {
    if (work.page !== page) {
      observer.disconnect();
      return;
    }
    for (const entry of entries) {
      observer.unobserve(entry.target);
      if (isSeen(entry, frame.contentWindow)) seen.add(view.blockOf.get(entry.target));
    }
    left -= entries.length;
    if (left) return;
    view.unseen = view.rows.length - seen.size;
    paintCounts();
  }, { root: shown, rootMargin: `${FAR}px` });
  for (const span of spans) observer.observe(span);
}

/* True if a text has a place on the page, is not cut off but by what can be scrolled, and not transparent. */
function isSeen({ target, boundingClientRect: whole, intersectionRect: part }, within) {
  if (areaOf(whole) <= DOT || whole.bottom + within.scrollY <= 0) return false;
  if (whole.right + within.scrollX <= 0 && !isLeftward(target)) return false;
  if (areaOf(part) <= DOT && !isScrolledAway(target, whole)) return false;
  return target.checkVisibility({ visibilityProperty: true, opacityProperty: true });
}

/* True if a page goes on to the left, as those in Arabic and Hebrew do. */
const isLeftward = (element) => getComputedStyle(of(Node, "ownerDocument", element).documentElement).direction === "rtl";

/* True if it is something to scroll that cuts off a text, and nothing within that. */
function isScrolledAway(element, whole) {
  for (let around = of(Node, "parentElement", element); around; around = of(Node, "parentElement", around)) {
    const { overflowX, overflowY, clip, clipPath } = getComputedStyle(around);
    const cuts = (...ways) => ways.includes(overflowX) || ways.includes(overflowY);
    const box = Element.prototype.getBoundingClientRect.call(around);
    if (cuts("auto", "scroll")) return areaOf(box) > DOT;
    if (clip !== "auto" || clipPath !== "none" || (cuts("hidden", "clip") && !doMeet(box, whole))) return false;
  }
  return false;
}

const areaOf = (box) => box.width * box.height;
const doMeet = (one, other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;

function watchStrokes(frame, shown) {
  const stroke = { begun: null, boxes: null, swallows: false };
  const within = frame.contentWindow;
  const place = (event) => [event.clientX + within.scrollX, event.clientY + within.scrollY];
  const end = () => {
    Object.assign(stroke, { begun: null, boxes: null });
    const drawn = at("stroke");
    if (drawn) drawn.remove();
    touch([]);
  };
  on(shown, "pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    Object.assign(stroke, { begun: place(event), boxes: null, swallows: false });
  });
  on(shown, "pointermove", (event) => {
    if (!stroke.begun) return;
    if (!(event.buttons & 1)) {
      end();
      return;
    }
    const [x, y] = place(event);
    if (!stroke.boxes && Math.hypot(x - stroke.begun[0], y - stroke.begun[1]) < STROKE_FROM) return;
    stroke.boxes ??= boxesOfBlocks(within);
    stroke.swallows = true;
    if (event.clientY > frame.clientHeight - EDGE) within.scrollBy(0, EDGE);
    if (event.clientY < EDGE) within.scrollBy(0, -EDGE);
    drawStroke(stroke.begun, place(event), within);
    touch(blocksIn(stroke.boxes, stroke.begun, place(event)));
  });
  on(shown, "pointerup", (event) => {
    if (!stroke.begun) return;
    const numbers = stroke.boxes ? blocksIn(stroke.boxes, stroke.begun, place(event)) : [];
    end();
    if (numbers.length) {
      go(numbers[0], false, "list");
      mark(numbers, work.brush);
    }
  });
  on(shown, "pointercancel", end);
  const take = (event, label) => {
    event.preventDefault();
    const number = blockAt(shown, view, event.clientX, event.clientY);
    if (number < 0) return;
    clicked(number, event.shiftKey, label, "list");
    at("blocks").focus({ preventScroll: true });
  };
  on(shown, "click", (event) => (stroke.swallows ? event.preventDefault() : take(event, work.brush)));
  on(shown, "contextmenu", (event) => take(event, otherBrush()));
  cancels[1] = () => {
    if (stroke.begun) stroke.swallows = true;
    end();
  };
}

/* The boxes of all blocks in the coordinates of the whole page. */
function boxesOfBlocks(within) {
  const { scrollX, scrollY } = within;
  return view.spans.map((spans) => spans.flatMap((span) => [...span.getClientRects()])
    .map((box) => [box.left + scrollX, box.top + scrollY, box.right + scrollX, box.bottom + scrollY]));
}

function blocksIn(boxes, from, to) {
  const [left, right] = [Math.min(from[0], to[0]), Math.max(from[0], to[0])];
  const [top, bottom] = [Math.min(from[1], to[1]), Math.max(from[1], to[1])];
  const meets = (box) => box[0] < right && box[2] > left && box[1] < bottom && box[3] > top;
  return [...boxes.keys()].filter((number) => boxes[number] && boxes[number].some(meets));
}

function drawStroke(from, to, within) {
  const drawn = at("stroke") || at("picture").appendChild(make("div"));
  drawn.id = "stroke";
  drawn.style.left = `${Math.min(from[0], to[0]) - within.scrollX}px`;
  drawn.style.top = `${Math.min(from[1], to[1]) - within.scrollY}px`;
  drawn.style.width = `${Math.abs(from[0] - to[0])}px`;
  drawn.style.height = `${Math.abs(from[1] - to[1])}px`;
}

/* ---- moving among blocks and pages ---- */

/* Makes a block the current one, and shows it in the list, in the picture, or in both. */
function go(number, extends_, ...shownIn) {
  if (!view.rows.length) return;
  work.current = Math.max(0, Math.min(number, view.rows.length - 1));
  if (!extends_) work.anchor = work.current;
  paint();
  if (shownIn.includes("list")) view.rows[work.current].scrollIntoView({ block: "nearest" });
  if (shownIn.includes("picture")) showInPicture(work.current);
}

const showInPicture = (number) => scrollToText(at("picture").firstChild, view.spans[number]);

function showWhole() {
  view.whole = view.whole === work.current ? -1 : work.current;
  paint();
  if (view.rows.length) view.rows[work.current].scrollIntoView({ block: "nearest" });
}

const selection = () => (view.rows.length ? range(work.anchor, work.current) : []);

function doubtfulBlocks() {
  const isDoubtful = (number) => work.labels[number] === NO_LABEL &&
    (!work.suggestions || (work.suggestions[number] > DOUBT_FROM && work.suggestions[number] < DOUBT_TO));
  return [...work.labels.keys()].filter(isDoubtful);
}

function nextDoubtful() {
  const found = doubtfulBlocks();
  if (found.length) go(found.find((number) => number > work.current) ?? found[0], false, "list", "picture");
}

function step(by) {
  const fits = FILTERS[at("filter").value];
  for (let number = work.number + by; number >= 0 && number < overview.pages.length; number += by) {
    if (fits(stateOf(number))) return open(number);
  }
  notice(by > 0 ? "There is no further page of these." : "There is no earlier page of these.");
  return undefined;
}

function nextToDo() {
  const pages = overview.pages.map((_, number) => number), todo = (number) => FILTERS.todo(stateOf(number));
  const next = pages.slice(work.number + 1).find(todo) ?? pages.slice(0, work.number).find(todo);
  if (next !== undefined) return open(next);
  notice(todo(work.number) ? "This page is the last one to do." : "All pages are labeled.");
  return undefined;
}

/* ---- pages ---- */

/* Return the name of a page in the menu: its title, where it has one, and its id. */
function nameOf(number) {
  const { id, url, title } = overview.pages[number];
  const shown = title && title.length > NAMED_TITLE ? `${title.slice(0, NAMED_TITLE - 1)}…` : title;
  return `${MARKS[stateOf(number)]} ${number + 1}. ${[shown, id || url || "(no id)"].filter(Boolean).join(" · ")}`.slice(0, NAMED);
}

function setState(number, state) {
  if (stateOf(number) === state) return;
  overview.pages[number].state = state;
  showProgress();
  const option = at("pages").querySelector(`option[value="${number}"]`);
  if (option) option.textContent = nameOf(number);
}

function showProgress() {
  const count = (state) => overview.pages.filter((page) => page.state === state).length;
  const all = overview.pages.length, refused = count("refused");
  const left = { half: "half-labeled", misfit: "with labels that do not fit", refused: "cannot be" };
  at("progress").max = Math.max(all - refused, 1);
  at("progress").value = count("labeled");
  at("done").textContent = [`${count("labeled")} of ${plural(all, "page")} labeled`,
    ...Object.entries(left).map(([state, what]) => count(state) && `${count(state)} ${what}`)].filter(Boolean).join(", ");
}

function listPages() {
  const fits = FILTERS[at("filter").value];
  const options = overview.pages.flatMap((page, number) => {
    if (!fits(page.state) && number !== work.number) return [];
    const option = make("option", "", nameOf(number));
    option.value = number;
    return [option];
  });
  at("pages").replaceChildren(...options);
  at("pages").value = String(work.number);
}

let turns = 0;
async function open(number) {
  const turn = ++turns;
  save();
  notice("");
  const before = at("about").textContent;
  at("about").textContent = `opening page ${number + 1} …`;
  try {
    const page = await ask(`pages/${number}`);
    if (turn !== turns) return;
    show(number, page);
    if (number + 1 < overview.pages.length) ask(`pages/${number + 1}`).catch(() => undefined);
  } catch (error) {
    if (turn !== turns) return;
    notice(`Page ${number + 1} cannot be opened: ${error.message}`);
    at("about").textContent = before;
  }
}

function show(number, page) {
  const waiting = saves.waiting.get(number);
  if (!waiting) revisions.set(number, page.revision);
  Object.assign(work, { number, page: { blocks: [], original: null, not_shown: page.refusal, ...page }, current: 0, anchor: 0,
    labels: waiting ? [...waiting.labels] : [...(page.labels || [])], suggestions: page.suggestions || null,
    editable: !page.refusal && (!page.misfit || Boolean(waiting)), replaces: Boolean(waiting && waiting.replaces) });
  Object.assign(view, { painted: [], touched: new Set(), whole: -1 });
  restoreHistory();
  setState(number, page.state);
  history.replaceState(null, "", `#${number + 1}`);
  const name = overview.pages[number].title || page.id || "(no title)";
  at("title").textContent = name;
  document.title = `${name} – dehusk label`;
  at("about").textContent = [`Page ${number + 1} of ${overview.pages.length}`, page.id !== page.url && page.id, page.url]
    .filter(Boolean).join(" · ");
  listPages();
  showProgress();
  showTrouble(page);
  buildRows();
  showPicture();
  at("counts").textContent = "";
  paint();
  if (work.editable && work.labels.some((label) => label !== NO_LABEL)) suggest();
}

const WHY = { "changed-page": "of other HTML of this page than this", "other-blocks": "of other blocks of this page, as another version of dehusk cut them" };

function showTrouble(page) {
  at("misfit").hidden = !page.misfit || work.editable;
  if (page.misfit) {
    const { why, labeled, blocks, labeled_at: time } = page.misfit;
    at("misfit-text").textContent = `The file has labels ${WHY[why]}: ${labeled} of ${plural(blocks, "block")}, of ${
      new Date(time).toLocaleString("en-GB")}. They stay until you label the page anew; then ${
      page.carried.filter((label) => label !== NO_LABEL).length} carry over to blocks of the same text.`;
  }
  if (page.refusal) notice(`This page cannot be labeled: ${page.refusal}. N goes on to the next.`);
  else if (page.trouble) notice(`Nothing is suggested: ${page.trouble}`);
}

/* ---- keys ---- */

const KEYS = [
  [["J", "ArrowDown"], "next block; with Shift, also select it", (event) => go(work.current + 1, event.shiftKey, "list", "picture")],
  [["K", "ArrowUp"], "previous block; with Shift, also select it", (event) => go(work.current - 1, event.shiftKey, "list", "picture")],
  [["Home"], "first block; with Shift, select up to it", (event) => go(0, event.shiftKey, "list", "picture")],
  [["End"], "last block; with Shift, select up to it", (event) => go(view.rows.length - 1, event.shiftKey, "list", "picture")],
  [["D"], "next doubtful block", nextDoubtful],
  [["X"], "the whole text of the current block in the list, or its beginning", showWhole],
  [["C"], "the selected blocks are content", () => mark(selection(), CONTENT)],
  [["B"], "the selected blocks are boilerplate", () => mark(selection(), BOILERPLATE)],
  [["U"], "the selected blocks have no label", () => mark(selection(), NO_LABEL)],
  [["A"], "accept all suggestions", accept],
  [["Z"], "undo", undo],
  [["Y"], "redo", redo],
  [["1"], "brush: content", () => takeBrush(CONTENT)],
  [["2"], "brush: boilerplate", () => takeBrush(BOILERPLATE)],
  [["3"], "brush: no label", () => takeBrush(NO_LABEL)],
  [["N", "ArrowRight"], "next page", () => step(1)],
  [["P", "ArrowLeft"], "previous page", () => step(-1)],
  [["T"], "next page to do", nextToDo],
  [["Escape"], "give up a stroke", () => cancels.forEach((cancel) => cancel())],
  [["?"], "these keys", () => at("keys").showModal()],
];
const ACTIONS = new Map(KEYS.flatMap(([names, , action]) => names.map((name) => [name.toLowerCase(), action])));

function keys(event) {
  const key = event.key.toLowerCase();
  if (document.querySelector("dialog[open]") || event.altKey || event.target.tagName === "SELECT") return;
  const isUndo = (event.ctrlKey || event.metaKey) && ["z", "y"].includes(key);
  if ((event.ctrlKey || event.metaKey) && !isUndo) return;
  const action = isUndo && event.shiftKey ? redo : ACTIONS.get(key);
  if (!action) return;
  event.preventDefault();
  action(event);
}

function start() {
  for (const [names, meaning] of KEYS) {
    const row = make("tr");
    row.append(make("th", "", names.join(", ").replaceAll("Arrow", "")), make("td", "", meaning));
    at("keys-table").append(row);
  }
  const clicks = { previous: () => step(-1), next: () => step(1), todo: nextToDo, accept, undo, redo, again: save,
    theirs: () => settle(false), mine: () => settle(true), help: () => at("keys").showModal(), close: () => at("keys").close(),
    tune: () => { at("tuning").showModal(); tune(false); }, "tuning-start": () => tune(true), "tuning-close": () => at("tuning").close(),
    anew: () => {
      Object.assign(work, { editable: true, replaces: true });
      at("misfit").hidden = true;
      notice("");
      paint();
      change(work.page.carried.map((label, number) => [number, label]));
    } };
  for (const [id, action] of Object.entries(clicks)) at(id).addEventListener("click", action);
  for (const each of document.querySelectorAll(".brush")) {
    each.addEventListener("click", () => takeBrush(each.dataset.brush === "u" ? NO_LABEL : Number(each.dataset.brush)));
  }
  at("filter").addEventListener("change", listPages);
  at("pages").addEventListener("change", () => open(Number(at("pages").value)));
  document.addEventListener("keydown", keys);
  addEventListener("beforeunload", (event) => {
    if (saves.waiting.size) event.preventDefault();
  });
  watchList();
  at("tune").hidden = !overview.tunes;
  if (overview.tunes) tune(false);
  const said = [overview.set_aside && `The last line of ${overview.file} was torn, as a crash leaves it; it is kept in ${overview.set_aside}.`,
    overview.others && `${overview.file} has labels of ${plural(overview.others, "page")} not among these; they stay.`];
  const wanted = Number(location.hash.slice(1)) - 1;
  const first = overview.pages.findIndex((page) => FILTERS.todo(page.state));
  saySaved(`labels go to ${overview.file}`);
  open(overview.pages[wanted] ? wanted : Math.max(first, 0)).then(() => {
    if (at("notice").hidden) notice(said.filter(Boolean).join(" "));
  });
}

start();
