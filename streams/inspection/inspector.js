
"use strict";

const page = JSON.parse(document.getElementById("page-data").textContent);
const views = JSON.parse(document.getElementById("view-data").textContent);
const at = (id) => document.getElementById(id);
const shown = { view: null, number: 0, other: null, blocks: [], pieces: {}, flipped: [], current: -1,
  pointed: [] };
const TEXTS = ["text", "markdown", "comments"];

function make(name, classes, text) {
  const made = document.createElement(name);
  if (classes) made.className = classes;
  if (text !== undefined) made.textContent = text;
  return made;
}

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

const count = (kinds, kind) => kinds.filter((each) => each === kind).length.toLocaleString("en");
const plural = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

function summary() {
  const { view, other } = shown;
  const kinds = view.kinds;
  const least = view.least === null ? "no content" : `content from ${view.least.toFixed(2)} on`;
  const said = `${view.model} (${view.labeler}): ${count(kinds, "content")} content, ` +
    `${count(kinds, "comment")} comment, ${count(kinds, "boilerplate")} boilerplate; ${least}`;
  return other ? `${said}. ${plural(shown.flipped.length, "block")} differ${
    shown.flipped.length === 1 ? "s" : ""} from ${other.model}.` : said;
}

function describe(number) {
  const { view, other } = shown, block = page.blocks[number];
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
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

function originalDocument() {
  const { view } = shown;
  const rules = { content: "background:#d8f3dc!important;color:#123!important;outline:1px solid #2d8a4e!important",
    comment: "background:#dde8fd!important;color:#123!important;outline:1px solid #3b6fd4!important",
    boilerplate: "opacity:.5!important" };
  const style = Object.entries(rules).map(([kind, rule]) => {
    const chosen = view.kinds.flatMap((each, number) => each === kind ? [`.dehusk-block-${number}`] : []);
    return chosen.length ? `${chosen.join(",")}{${rule}}` : "";
  }).join("");
  return page.original.replace("</head>", () => `<style>${style}</style></head>`);
}

function showOriginal() {
  const pane = at("original");
  if (pane.hidden) return;
  if (page.original === undefined) {
    pane.replaceChildren(make("p", "boilerplate", `The page cannot be shown as it looked: ${page.refusal}`));
    return;
  }
  const frame = make("iframe", "");
  frame.setAttribute("sandbox", "");
  frame.setAttribute("referrerpolicy", "no-referrer");
  frame.title = "The page as it looked, without scripts and without what it loads";
  frame.srcdoc = originalDocument();
  pane.replaceChildren(frame);
}

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
    showOriginal();
    if (shown.current >= 0) point(shown.current);
    say(summary());
  } catch (error) {
    if (turn === asked) say(`${page.labelers[number]}: ${error.message}`, true);
  }
}

// Points at a block on both sides; it scrolls the sides that are named.
function point(number, ...scrolled) {
  const pieces = TEXTS.map((name) => shown.pieces[name][number]).filter(Boolean);
  for (const each of shown.pointed) each.classList.remove("pointed");
  shown.pointed = [shown.blocks[number], ...pieces];
  for (const each of shown.pointed) each.classList.add("pointed");
  shown.current = number;
  describe(number);
  if (scrolled.includes("blocks")) {
    choose("tab-blocks");
    shown.blocks[number].scrollIntoView({ block: "center" });
  }
  if (scrolled.includes("texts")) scrollTexts(number);
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

const blockOf = (event) => {
  const element = event.target.closest && event.target.closest("[data-block]");
  return element ? Number(element.dataset.block) : -1;
};

function watch(pane, otherSide) {
  pane.addEventListener("mouseover", (event) => { if (blockOf(event) >= 0) point(blockOf(event)); });
  pane.addEventListener("focusin", (event) => { if (blockOf(event) >= 0) point(blockOf(event)); });
  pane.addEventListener("click", (event) => {
    if (blockOf(event) >= 0) {
      focusOn(event.target.closest("[data-block]"));
      point(blockOf(event), otherSide);
    }
  });
  pane.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
    if (blockOf(event) < 0) return;
    if (event.key === "Enter") {
      point(blockOf(event), otherSide);
    } else if (steps[event.key]) {
      const all = [...pane.querySelectorAll("[data-block]")];
      const next = all[all.indexOf(event.target.closest("[data-block]")) + steps[event.key]];
      if (next) focusOn(next);
    } else {
      return;
    }
    event.preventDefault();
  });
}

function choose(id) {
  const list = at(id).closest("[role=tablist]");
  for (const tab of list.querySelectorAll("[role=tab]")) {
    const isChosen = tab.id === id, pane = at(tab.getAttribute("aria-controls"));
    tab.setAttribute("aria-selected", String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
    if (pane.hidden === isChosen) {
      pane.hidden = !isChosen;
      if (pane.id === "original" && shown.view) showOriginal();
    }
  }
}

function nextDifference() {
  const { flipped, current } = shown;
  if (!flipped.length) return;
  const number = flipped.find((each) => each > current) ?? flipped[0];
  point(number, "blocks", "texts");
  focusOn(shown.blocks[number]);
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
      if (!step) return;
      const all = [...tab.parentElement.children];
      const next = all[(all.indexOf(tab) + step + all.length) % all.length];
      choose(next.id);
      next.focus();
    });
  }
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.tagName === "SELECT";
    if ((event.key === "n" || event.key === "N") && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      nextDifference();
    }
  });
  buildBlocks();
  watch(at("blocks"), "texts");
  for (const name of TEXTS) watch(at(name), "blocks");
  show();
}

start();
