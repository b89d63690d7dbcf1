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
const saves = { waiting: new Map(), busy: false, timer: 0, conflicts: new Map() };

const stateOf = (number) => overview.pages[number].state;

/* Says something above the page; that the server does not answer is said until it does. */
let saysLost = false;
function notice(text, isLost = false) {
  at("notice").textContent = text || "";
  at("notice").hidden = !text;
  saysLost = isLost;
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
    throw new Refused(0, `dehusk label does not answer; has it ended? Start it again with --listen ${location.host}`);
  }
  if (saysLost) notice("");
  if (!answer.ok) throw new Refused(answer.status, (await answer.text()).trim() || answer.statusText);
  return answer.json();
}
