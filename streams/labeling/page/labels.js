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
      if (turn === asked && number === work.number) notice(`No new suggestions: ${error.message}`, !error.status);
    }
  }, SUGGEST_AFTER);
}

/* ---- labels ---- */

const historyOf = (number) => {
  if (!histories.has(number)) histories.set(number, { done: [], undone: [] });
  return histories.get(number);
};

const storedName = () => `dehusk label ${overview.file} ${overview.pages[work.number].id}`;

/* What the tab keeps for a reload; null where the browser keeps nothing of sites. */
const storage = (() => {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
})();

/* Keeps the last steps of a page for a reload of the tab. */
function storeHistory() {
  if (!storage) return;
  const { done, undone } = historyOf(work.number);
  const kept = { labels: work.labels, done: done.slice(-STEPS_KEPT), undone: undone.slice(-STEPS_KEPT) };
  try {
    storage.setItem(storedName(), JSON.stringify(kept));
  } catch { // the browser keeps no more: without a history, a reload has nothing to undo
    storage.removeItem(storedName());
  }
}

/* Takes the steps that were kept, if they lead to the labels that the page has. */
function restoreHistory() {
  if (!storage || histories.has(work.number)) return;
  const { labels, done, undone } = JSON.parse(storage.getItem(storedName()) || "{}");
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
