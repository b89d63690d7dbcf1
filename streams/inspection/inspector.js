
const page = JSON.parse(document.getElementById("page-data").textContent);
const views = JSON.parse(document.getElementById("view-data").textContent);
const shown = { view: null, number: 0, other: null, blocks: [], pieces: {}, flipped: [], current: -1, pointed: -1,
  frame: null, texts: { spans: [], blockOf: new WeakMap() }, sheets: null };
const TEXTS = ["text", "markdown", "comments"];

// The page, built of its blocks: paragraphs of rows of cells of lines; all text is set as text.
function buildBlocks() {
  const all = document.createDocumentFragment();
  let paragraph = null, row = null, cell = null;
  page.blocks.forEach((block, number) => {
    const begins = paragraph === null ? "paragraph" : block.begins;
    if (begins === "paragraph") {
      paragraph = all.appendChild(make("div", `paragraph depth-${block.depth}`));
    }
    if (begins === "paragraph" || begins === "row") row = paragraph.appendChild(make("div", "row"));
    if (begins === "paragraph" || begins === "row" || begins === "cell") {
      cell = row.appendChild(make("div", "cell"));
    } else if (begins === "line") {
      cell.append(document.createElement("br"));
    } else {
      cell.append(" ");
    }
    if (block.marker) cell.append(make("span", "marker", block.marker));
    const element = cell.appendChild(make("span", "", block.text));
    element.dataset.block = number;
    element.tabIndex = -1;
    if (/^h[1-6]$/.test(block.kind)) {
      element.setAttribute("role", "heading");
      element.setAttribute("aria-level", block.kind[1]);
    }
    shown.blocks.push(element);
  });
  at("blocks").replaceChildren(all);
  if (!page.blocks.length) at("blocks").append(make("p", "boilerplate", "The page has no text."));
}

function paintBlocks() {
  const { view, other } = shown;
  shown.flipped = [];
  shown.blocks.forEach((element, number) => {
    const block = page.blocks[number];
    const flips = other !== null && view.kinds[number] !== other.kinds[number];
    if (flips) shown.flipped.push(number);
    element.className = ["block", block.kind, view.kinds[number], block.hidden && "secret", flips && "flipped"]
      .filter(Boolean).join(" ");
  });
  const first = shown.current >= 0 ? shown.current : 0;
  if (shown.blocks[first]) shown.blocks[first].tabIndex = 0;
  at("next").disabled = !shown.flipped.length;
}

function buildTexts() {
  for (const name of TEXTS) {
    const pane = at(name), found = {};
    const pieces = shown.view[name];
    const parts = (pieces || []).map(([text, block]) => {
      const part = make("span", block < 0 ? "" : "piece", text);
      if (block >= 0) {
        part.dataset.block = block;
        part.tabIndex = -1;
        found[block] = part;
      }
      return part;
    });
    const first = parts.find((part) => part.dataset.block !== undefined);
    if (first) first.tabIndex = 0;
    const nothing = pieces === null ? "Comments are not told apart." : "Empty: nothing was found.";
    pane.replaceChildren(...(parts.length ? parts : [make("span", "boilerplate", nothing)]));
    shown.pieces[name] = found;
  }
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const count = (kinds, kind) => kinds.filter((each) => each === kind).length.toLocaleString("en");
function summary() {
  const { view, other } = shown;
  const kinds = view.kinds;
  const least = view.least === null ? "no content" : `content from ${view.least.toFixed(2)} on`;
  const kind = view.page_kind === null ? "" : `; ${view.page_kind}, ${percent(view.page_kind_probability)}`;
  const said = `${view.model} (${view.labeler}): ${count(kinds, "content")} content, ` +
    `${count(kinds, "comment")} comment, ${count(kinds, "boilerplate")} boilerplate; ${least}${kind}`;
  return other ? `${said}. ${plural(shown.flipped.length, "block")} differ${
    shown.flipped.length === 1 ? "s" : ""} from ${other.model}.` : said;
}

function describe(number) {
  const { view, other } = shown, block = page.blocks[number];
  const numbers = make("p", "numbers");
  numbers.append(make("strong", "", `Block ${number + 1} of ${page.blocks.length}: ${view.kinds[number]}`),
    document.createElement("br"), `content ${percent(view.content[number])}`);
  if (view.comment) numbers.append(`, comment ${percent(view.comment[number])}`);
  const why = make("p", "");
  why.append(view.sentences[view.why[number]]);
  if (block.hidden) why.append(" The page hides it at first.");
  if (other && other.kinds[number] !== view.kinds[number]) {
    why.append(` ${other.model}: ${other.kinds[number]}, content ${percent(other.content[number])}. ${
      other.sentences[other.why[number]]}`);
  }
  why.append(document.createElement("br"), make("span", "path", block.path));
  at("details").replaceChildren(numbers, why);
}

/* ---- the page as readers see it ---- */

const EDGES = { content: "45, 138, 78", comment: "59, 111, 212", boilerplate: "110, 115, 122" };
const FILLS = { content: 0.18, comment: 0.18, boilerplate: 0.05 };

function showOriginal() {
  const pane = at("original");
  if (page.original === undefined) {
    pane.replaceChildren(make("p", "boilerplate", `The page cannot be shown as readers see it: ${page.refusal}`));
    choose("tab-blocks");
    return;
  }
  const frame = makeFrame(page.original, "The page as readers see it, without scripts and without what it loads");
  frame.addEventListener("load", () => { if (frame.contentDocument) watchFrame(frame); });
  pane.replaceChildren(frame);
}

function watchFrame(frame) {
  const within = frame.contentDocument;
  shown.frame = frame;
  shown.texts = findTexts(within, page.blocks.length);
  still(within);
  on(within, "mousemove", (event) => {
    const number = blockUnder(within, shown.texts, event.clientX, event.clientY);
    if (number >= 0 && number !== shown.pointed) point(number);
  });
  on(within, "click", (event) => {
    event.preventDefault();
    const number = blockAt(within, shown.texts, event.clientX, event.clientY);
    if (number < 0) return;
    at("original").focus({ preventScroll: true });
    select(number, "texts");
  });
  on(within, "keydown", onKey);
  if (shown.sheets) putSheets();
  paintTexts();
}

function paintTexts() {
  if (shown.view) for (const number of shown.texts.spans.keys()) paintText(number);
}

function paintText(number) {
  const kind = shown.view.kinds[number], isFlipped = shown.other !== null && shown.other.kinds[number] !== kind;
  const line = number === shown.current ? "3px solid #7a3df0" : isFlipped ? "2px dashed #c2570c" :
    `1px ${kind === "boilerplate" ? "dashed" : "solid"} rgb(${EDGES[kind]})`;
  const fill = number === shown.pointed ? "rgba(255, 214, 70, .45)" : `rgba(${EDGES[kind]}, ${FILLS[kind]})`;
  for (const span of shown.texts.spans[number] || []) outline(span, line, fill);
}

async function loadSheets() {
  at("styles").disabled = true;
  const before = at("status").textContent;
  say("loading style sheets …");
  try {
    const answer = await fetch("styles", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
    if (!answer.ok) throw new Error(`the inspector answers ${answer.status}: ${(await answer.text()).trim()}`);
    shown.sheets = await answer.json();
    if (shown.frame) putSheets();
    const failed = shown.sheets.filter((sheet) => sheet.error);
    say([`${shown.sheets.length - failed.length} of ${plural(shown.sheets.length, "style sheet")} loaded.`,
      ...failed.map(({ url, error }) => `${url}: ${error}`)].join(" "), failed.length);
  } catch (error) {
    say(`No style sheets: ${error.message}. ${before}`, true);
    at("styles").disabled = false;
  }
}

/* Fills the places of the style sheets, which are in the order that the page has them in. */
function putSheets() {
  const within = shown.frame.contentDocument;
  shown.sheets.forEach(({ text }, number) => {
    const place = Document.prototype.querySelector.call(within, `head > style.dehusk-sheet-${number}`);
    if (place) place.textContent = text;
  });
}

/* ---- labels ---- */

async function viewOf(number) {
  if (views[number] === undefined) {
    const answer = await fetch(`views/${number}`);
    if (!answer.ok) throw new Error(`the inspector answers ${answer.status}: ${await answer.text()}`);
    const view = await answer.json();
    if (view.error) throw new Error(view.error);
    views[number] = view;
  }
  if (views[number].error) throw new Error(views[number].error);
  return views[number];
}

function say(text, isError) {
  at("status").textContent = text;
  at("status").classList.toggle("error", Boolean(isError));
}

let asked = 0;
async function show() {
  const turn = ++asked, number = Number(at("labeler").value), other = Number(at("other").value);
  try {
    say("labeling …");
    const [view, against] = [await viewOf(number), other < 0 ? null : await viewOf(other)];
    if (turn !== asked) return;
    Object.assign(shown, { view, other: against, number });
    paintBlocks();
    buildTexts();
    paintTexts();
    if (shown.current >= 0) select(shown.current);
    say(summary());
  } catch (error) {
    if (turn === asked) say(`${page.labelers[number]}: ${error.message}`, true);
  }
}

const elementsOf = (number) => [shown.blocks[number], ...TEXTS.map((name) => shown.pieces[name][number])].filter(Boolean);

/* Says what there is to say of a block while the mouse is over it. */
function point(number) {
  mark("pointed", number);
  describe(number);
}

/* Makes a block the current one, and scrolls to it on the sides that are named. */
function select(number, ...scrolled) {
  mark("current", number);
  point(number);
  if (scrolled.includes("page")) scrollPage(number);
  if (scrolled.includes("texts")) scrollTexts(number);
}

function mark(name, number) {
  const before = shown[name];
  shown[name] = number;
  if (before >= 0) for (const each of elementsOf(before)) each.classList.remove(name);
  for (const each of elementsOf(number)) each.classList.add(name);
  for (const each of new Set([before, number])) if (each >= 0) paintText(each);
}

/* Scrolls the side of the page: where readers do not see a block, its list of blocks shows it. */
function scrollPage(number) {
  if (!at("original").hidden && scrollToText(shown.frame, shown.texts.spans[number])) return;
  choose("tab-blocks");
  shown.blocks[number].scrollIntoView({ block: "center" });
}

function scrollTexts(number) {
  const open = TEXTS.find((name) => !at(name).hidden);
  const name = [open, ...TEXTS].find((each) => shown.pieces[each][number]);
  if (!name) return;
  choose(`tab-${name}`);
  shown.pieces[name][number].scrollIntoView({ block: "center" });
}

function focusOn(element) {
  const pane = element.closest(".pane");
  for (const each of pane.querySelectorAll('[tabindex="0"]')) each.tabIndex = -1;
  element.tabIndex = 0;
  element.focus();
}

const STEPS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

const blockOf = (event) => {
  const element = event.target.closest && event.target.closest("[data-block]");
  return element ? Number(element.dataset.block) : -1;
};

function watch(pane, otherSide) {
  pane.addEventListener("mouseover", (event) => { if (blockOf(event) >= 0) point(blockOf(event)); });
  pane.addEventListener("focusin", (event) => { if (blockOf(event) >= 0) select(blockOf(event)); });
  pane.addEventListener("click", (event) => {
    if (blockOf(event) >= 0) {
      focusOn(event.target.closest("[data-block]"));
      select(blockOf(event), otherSide);
    }
  });
  pane.addEventListener("keydown", (event) => {
    if (blockOf(event) < 0 || isOfBrowser(event)) return;
    if (event.key === "Enter") {
      select(blockOf(event), otherSide);
    } else if (STEPS[event.key]) {
      const all = [...pane.querySelectorAll("[data-block]")];
      const next = all[all.indexOf(event.target.closest("[data-block]")) + STEPS[event.key]];
      if (next) focusOn(next);
    } else {
      return;
    }
    event.preventDefault();
  });
}

/* True for a key that is a shortcut of the browser, such as Alt and an arrow. */
const isOfBrowser = (event) => event.altKey || event.ctrlKey || event.metaKey;

function choose(id) {
  const list = at(id).closest("[role=tablist]");
  for (const tab of list.querySelectorAll("[role=tab]")) {
    const isChosen = tab.id === id, pane = at(tab.getAttribute("aria-controls"));
    tab.setAttribute("aria-selected", String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
    if (pane.hidden === isChosen) {
      pane.hidden = !isChosen;
    }
  }
}

function nextDifference() {
  const { flipped, current } = shown;
  if (!flipped.length) return;
  const number = flipped.find((each) => each > current) ?? flipped[0];
  select(number, "page", "texts");
  if (at("original").hidden) focusOn(shown.blocks[number]);
}

/* Goes on among the blocks of the page as readers see it, past those that they do not see. */
function step(by) {
  let number = shown.current + by;
  while (page.blocks[number] && !(shown.texts.spans[number] || []).some((span) => span.getClientRects().length)) number += by;
  if (page.blocks[number]) select(number, "page", "texts");
}

function onKey(event) {
  if (event.target.tagName === "SELECT" || event.ctrlKey || event.metaKey || event.altKey) return;
  const isInPage = event.currentTarget !== document || document.activeElement === at("original");
  if (event.key === "n" || event.key === "N") nextDifference();
  else if (isInPage && STEPS[event.key]) step(STEPS[event.key]);
  else return;
  event.preventDefault();
}

function start() {
  document.title = `${page.title || page.url || "a page"} – dehusk inspect`;
  at("title").textContent = page.title || "(no title)";
  at("about").textContent = [page.url, `${page.bytes.toLocaleString("en")} bytes`, page.encoding,
    plural(page.blocks.length, "block")].filter(Boolean).join(" · ");
  page.labelers.forEach((name, number) => {
    for (const id of ["labeler", "other"]) {
      const option = make("option", "", name);
      option.value = number;
      at(id).append(option);
    }
  });
  at("labeler").addEventListener("change", show);
  at("other").addEventListener("change", show);
  at("next").addEventListener("click", nextDifference);
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.addEventListener("click", () => choose(tab.id));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step || isOfBrowser(event)) return;
      const all = [...tab.parentElement.children];
      const next = all[(all.indexOf(tab) + step + all.length) % all.length];
      choose(next.id);
      next.focus();
    });
  }
  document.addEventListener("keydown", onKey);
  for (const pane of document.querySelectorAll(".pane")) {
    pane.addEventListener("mouseleave", () => { if (shown.current >= 0) point(shown.current); });
  }
  const styles = at("styles");
  if (styles && page.sheets) {
    styles.disabled = false;
    styles.addEventListener("click", loadSheets);
  }
  buildBlocks();
  watch(at("blocks"), "texts");
  for (const name of TEXTS) watch(at(name), "page");
  showOriginal();
  show();
}

start();
