/* ---- the page as a reader sees it ---- */

function showPicture() {
  const { page } = work;
  view.unseen = 0;
  view.spans = [];
  view.blockOf = new WeakMap();
  if (page.original === null) {
    const instead = page.refusal ? "" : " All its blocks are in the list.";
    at("picture").replaceChildren(make("p", "", `The page cannot be shown as a reader sees it: ${page.not_shown}.${instead}`));
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
    stroke.swallows = false; // a finger or another device may come after the mouse
    if (event.button !== 0 || event.pointerType === "touch") return;
    Object.assign(stroke, { begun: place(event), boxes: null });
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
  on(shown, "click", (event) => {
    if (stroke.swallows) event.preventDefault();
    else take(event, work.brush);
    stroke.swallows = false;
  });
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
