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
    tune: () => { at("tuning").showModal(); tune(false); }, "tuning-start": () => tune(true), "tuning-end": endTuning, "tuning-close": () => at("tuning").close(),
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
  const wanted = () => Number(location.hash.slice(1)) - 1;
  addEventListener("hashchange", () => overview.pages[wanted()] && open(wanted()));
  const first = overview.pages.findIndex((page) => FILTERS.todo(page.state));
  saySaved(`labels go to ${overview.file}`);
  open(overview.pages[wanted()] ? wanted() : Math.max(first, 0)).then(() => {
    if (at("notice").hidden) notice(said.filter(Boolean).join(" "));
  });
}

start();
