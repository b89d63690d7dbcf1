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
    notice(`Page ${number + 1} cannot be opened: ${error.message}`, !error.status);
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
