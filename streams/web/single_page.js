"use strict";

/* ---- of every page ---- */

const at = (id) => document.getElementById(id);
const plural = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

function make(name, classes, text) {
  const made = document.createElement(name);
  if (classes) made.className = classes;
  if (text !== undefined) made.textContent = text;
  return made;
}

/* ---- a page of elsewhere in a frame, as a reader sees it ----
   The frame runs no scripts: its sandbox forbids them, and so does its policy. It shares the origin, for this
   script to hear clicks in it and to outline blocks. What belongs to the page in it is only reached by methods
   that the page cannot replace: its elements may bear any name. */

const on = (target, name, listener) => EventTarget.prototype.addEventListener.call(target, name, listener, true);
const of = (kind, property, element) => Object.getOwnPropertyDescriptor(kind.prototype, property).get.call(element);

function makeFrame(html, title) {
  const frame = make("iframe");
  frame.setAttribute("sandbox", "allow-same-origin");
  frame.setAttribute("referrerpolicy", "no-referrer");
  frame.tabIndex = -1;
  frame.title = title;
  frame.srcdoc = html;
  return frame;
}

/* Finds the elements with the texts of blocks: those of each block, and the block of each. */
function findTexts(shown, count) {
  const spans = [], blockOf = new WeakMap();
  for (const span of Document.prototype.querySelectorAll.call(shown, "span[class^='dehusk-block-']")) {
    const number = Number(span.className.slice("dehusk-block-".length));
    if (!(number < count)) continue;
    (spans[number] ||= []).push(span);
    blockOf.set(span, number);
  }
  return { spans, blockOf };
}

/* Has the page in a frame do nothing of its own where it is clicked on. */
function still(shown) {
  for (const name of ["mousedown", "dragstart", "submit", "auxclick", "selectstart"]) on(shown, name, (event) => event.preventDefault());
}

/* The block of the uppermost text at a point of the frame, whatever lies above it; -1 for none. */
function blockUnder(shown, texts, x, y) {
  for (const element of Document.prototype.elementsFromPoint.call(shown, x, y)) {
    if (texts.blockOf.has(element)) return texts.blockOf.get(element);
  }
  return -1;
}

/* The same, also of texts that the mouse does not reach. */
function blockAt(shown, texts, x, y) {
  const found = blockUnder(shown, texts, x, y);
  const holds = (box) => box.left <= x && x <= box.right && box.top <= y && y <= box.bottom;
  return found >= 0 ? found : texts.spans.findIndex((spans) => (spans || [])
    .some((span) => span.checkVisibility({ visibilityProperty: true }) && [...span.getClientRects()].some(holds)));
}

/* Outlines a text; inline and important, so that no style sheet of the page has a say. */
function outline(span, line, fill) {
  for (const [name, value] of [["outline", line], ["outline-offset", "0px"], ["cursor", "pointer"],
    ["background-image", `linear-gradient(${fill}, ${fill})`]]) {
    span.style.setProperty(name, value, "important");
  }
}

/* Scrolls the frame to the first of some texts that has a place in it; false if none has. */
function scrollToText(frame, spans) {
  const span = (spans || []).find((each) => each.getClientRects().length);
  if (!span) return false;
  const box = span.getBoundingClientRect();
  if (box.top < 0 || box.bottom > frame.clientHeight) frame.contentWindow.scrollBy(0, box.top - frame.clientHeight / 3);
  return true;
}

