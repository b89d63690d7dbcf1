"use strict";

const RETRY_MS = 5000;
const SILENT_MS = 4000;
const GROUP = "group";

/* The view now */

function showNow({ point, state, group, of }) {
  setText(byId("pages-now"), rate(point.pages_per_second));
  setText(byId("bytes-now"), megabytesPerSecond(point.bytes_per_second));
  setText(byId("lag-now"), count(point.lag));
  setText(byId("lag-age"), lagInWords(point));
  setText(byId("text-now"), percent(point.kept));
  setText(byId("memory-now"), megabytes(point.memory));
  setText(byId("processes"), state.processes === null ? "" : `of ${count(state.processes)} ${state.processes === 1 ? "process" : "processes"}`);
  setText(byId("in-flight-now"), count(point.in_flight));
  setText(byId("in-flight-most"), `of ${count(state.most_in_flight)}`);
  const meter = byId("in-flight-meter");
  meter.max = state.most_in_flight;
  meter.value = point.in_flight;
  const model = state.model ? `model ${state.model}` : "no page labeled yet";
  const started = of === GROUP ? "the first one started" : "started";
  setText(byId("about"), `version ${state.version} · ${model} · ${started} ${day.format(state.started * 1000)}`);
  const title = of === GROUP ? `dehusk group ${group.name}` : group ? `dehusk worker ${of}` : "dehusk worker";
  setText(document.querySelector("h1"), title);
  if (document.title !== title) document.title = title;
}

/* The age of the oldest message of the lag, and the time until there is none, at the rates of now. */
function lagInWords({ lag, lag_seconds: age, arriving_per_second: arriving, done_per_second: done }) {
  if (!lag) return "";
  const progress = done - arriving;
  const isKnown = (arriving ?? null) !== null && (done ?? null) !== null;
  const end = !isKnown ? "" : progress > 0 ? `caught up in ${duration(lag / progress)}` : "it grows";
  return [(age ?? null) === null ? "" : `oldest ${duration(age)}`, end].filter(Boolean).join(", ");
}

/* Whom to show: the group, or one of its workers */

function showChoice({ own, of, group }) {
  byId("choice-label").hidden = !group;
  if (!group) return;
  const others = group.workers.map(({ worker }) => worker).filter((worker) => worker !== own);
  const labels = new Map([[GROUP, `group ${group.name}`], [own, `this worker, ${own}`]]);
  const choice = byId("choice");
  sync(choice, [GROUP, own, ...others], (worker) => worker, (worker) => new Option(labels.get(worker) ?? worker, worker), () => {});
  if (choice.value !== of) choice.value = of;
}

function choose(worker) {
  wanted = worker;
  keepInAddress();
  connect();
}

/* The address leads to the same worker and time again. */
function keepInAddress() {
  const address = new URL(location.href);
  address.searchParams.delete("token");
  const set = (name, value) => (value === null ? address.searchParams.delete(name) : address.searchParams.set(name, value));
  set("of", wanted === GROUP ? null : wanted);
  set("from", zoom && zoom[0].toFixed());
  set("to", zoom && zoom[1].toFixed());
  history.replaceState(null, "", address);
}

function readAddress() {
  const { searchParams } = new URL(location.href);
  const range = ["from", "to"].map((name) => Number(searchParams.get(name)));
  wanted = searchParams.get("of") || GROUP;
  zoom = range[0] > 0 && range[0] < range[1] ? range : null;
  showZoom();
  keepInAddress();
}

function pageOf({ page, host }, ownHost) {
  if (!page || !URL.canParse(page)) return null;
  const isLoopback = (name) => /^(localhost|127\.[\d.]+|\[::1\])$/.test(name);
  const url = new URL(page);
  const isReached = !isLoopback(url.hostname) || (host === ownHost && isLoopback(location.hostname));
  return isReached && /^https?:$/.test(url.protocol) ? url.href : null;
}

function createWorker({ worker }) {
  const line = row(9);
  const button = make("button", worker, "link");
  button.type = "button";
  button.addEventListener("click", () => choose(worker));
  line.cells[0].append(button);
  line.cells[8].append(make("span"), make("span", " "), make("a", "its page"));
  return line;
}

function stateOf(worker) {
  if (worker.gone_since !== null) return ["down-state", `silent since ${day.format(worker.gone_since * 1000)}`];
  if (worker.unavailable.length) return ["down-state", `misses ${worker.unavailable.join(", ")}`];
  return ["up-state", worker.lag === null && !worker.partitions ? "waits for its partitions" : "works"];
}

function showWorkers({ group, own, of }) {
  byId("workers-section").hidden = !group;
  if (!group) return;
  const ownHost = group.workers.find(({ worker }) => worker === own)?.host;
  const works = group.workers.filter((worker) => worker.gone_since === null).length;
  const gone = group.workers.length - works;
  setText(byId("workers-count"), `${count(works)} ${works === 1 ? "worker" : "workers"}${gone ? `, and ${count(gone)} silent` : ""}`);
  sync(byId("workers"), group.workers, ({ worker }) => worker, createWorker, (line, worker) => {
    line.classList.toggle("gone", worker.gone_since !== null);
    line.cells[0].firstChild.setAttribute("aria-pressed", String(worker.worker === of));
    const now = (figure) => (worker.gone_since === null ? figure : null);
    const texts = [rate(now(worker.pages_per_second)), megabytesPerSecond(now(worker.bytes_per_second)), count(worker.lag),
      count(worker.partitions), count(now(worker.in_flight)), megabytes(now(worker.memory)),
      `${worker.version}, ${worker.model ?? "no model yet"}`];
    texts.forEach((text, index) => setText(line.cells[index + 1], text));
    const [state, , link] = line.cells[8].children;
    const [className, text] = stateOf(worker);
    state.className = className;
    setText(state, text);
    const href = worker.worker === own ? null : pageOf(worker, ownHost);
    link.hidden = !href;
    if (href && link.href !== href) link.href = href;
  });
}

function hindrancesOf({ state, group }) {
  if (!group || group.silent_since === null) return state.hindrances;
  const since = day.format(group.silent_since * 1000);
  return [`nothing is heard of the group since ${since}: what is shown is this worker alone`, ...state.hindrances];
}

function showTotals(totals) {
  for (const name of ["pages", "documents", "tombstones", "skipped"]) setText(byId(`total-${name}`), count(totals[name]));
  setText(byId("total-dead-letters"), count(totals.dead_letters));
  setText(byId("total-empty"), `${count(totals.empty_documents)} without text`);
}

function showHindrances(hindrances) {
  sync(byId("hindrances"), hindrances, (text) => text, (text) => make("li", text), () => {});
}

/* The step that batches spend most time in, which is the one to speed up if messages wait. */
function showSteps({ steps, lag }) {
  const done = STEPS.filter((step) => steps[step]);
  const all = done.reduce((sum, step) => sum + steps[step].seconds, 0);
  const longest = done.reduce((one, other) => (one && steps[one].seconds >= steps[other].seconds ? one : other), undefined);
  sync(byId("steps"), done, (step) => step, () => row(6), (line, step) => {
    const { batches, p50, p95, p99, seconds: taken } = steps[step];
    line.classList.toggle("longest", step === longest);
    [step, percent(all ? taken / all : null), count(batches), seconds(p50), seconds(p95), seconds(p99)]
      .forEach((text, index) => setText(line.cells[index], text));
  });
  const most = longest && `Batches spend most of their time in: ${longest}`;
  setText(byId("bottleneck"), most ? `${most}${lag ? ", which limits the throughput." : ". Nothing waits, so the crawl limits the throughput."}` : "");
}

function showPartitions({ partitions: ofState, more_partitions: more }) {
  partitions = ofState;
  const most = Math.max(1, ...partitions.map(({ lag }) => lag));
  const create = () => {
    const line = row(5);
    const bar = make("progress");
    bar.setAttribute("aria-hidden", "true");
    line.cells[3].append(bar);
    return line;
  };
  sync(byId("partitions"), partitions, ({ topic, partition }) => `${partition} ${topic}`, create, (line, { topic, partition, lag, worker }) => {
    [topic, String(partition), count(lag)].forEach((text, index) => setText(line.cells[index], text));
    line.cells[4].className = "group-only";
    setText(line.cells[4], worker ?? "");
    const bar = line.cells[3].firstChild;
    bar.max = most;
    bar.value = lag;
  });
  byId("partition-chart").hidden = !partitions.length;
  if (partitions.length && partitionChart.holder.clientWidth) draw(partitionChart);
  setText(byId("more-partitions"), more ? `and ${count(more)} more, of less lag` : "");
}

/* Metrics that servers give of themselves, beside their availability. */
function figuresOf(name, { triton, redis, counts }) {
  if (name === "triton" && triton) {
    const batch = triton.batch_size === null ? "" : `, ${rate(triton.batch_size)} at once, after ${seconds(triton.queue_seconds)} in the queue`;
    return `${rate(triton.requests_per_second)} requests/s${batch}; ${count(triton.errors)} errors since its start`;
  }
  if (name === "redis" && redis) {
    const most = redis.most_memory === null ? "without a limit" : `of ${megabytes(redis.most_memory)}`;
    const hits = redis.hits === null ? "" : `, ${percent(redis.hits)} of lookups find something`;
    return `${megabytes(redis.memory)} ${most}${hits}; ${count(counts.degraded.frequencies ?? 0)} documents made without it`;
  }
  return "";
}

function createDependency() {
  const line = row(2);
  line.cells[1].append(make("div"), make("div", "", "detail"));
  return line;
}

function showDependencies({ dependencies, ...state }) {
  sync(byId("dependencies"), dependencies, ({ name }) => name, createDependency, (line, dependency) => {
    const { name, unavailable_since: since, consequence, reason } = dependency;
    const isUp = since === null;
    setText(line.cells[0], name);
    const [answer, figures] = line.cells[1].children;
    setText(answer, isUp ? "available" : `unavailable since ${day.format(since * 1000)}, ${consequence}: ${reason}`);
    answer.className = isUp ? "up-state" : "down-state";
    setText(figures, figuresOf(name, state));
  });
}

/* What happened in the last hour: outages, and changes of the roll-out */

function showEvents({ outages }, rollout) {
  const missing = outages.map(({ name, since, until, reason }) => ({
    time: since, until: until ?? Date.now() / 1000, color: "--bad",
    text: `${name} ${until === null ? "is missing" : `was missing for ${duration(Math.max(1, until - since))}`}: ${reason}`,
  }));
  const changes = (rollout?.changes ?? []).map(({ time, by, reason, taken_back: unfit }) => ({
    time, until: null, color: unfit ? "--bad" : "--three", text: `${reason} (by ${by})`,
  }));
  marks = [...missing, ...changes].sort((one, other) => other.time - one.time);
  byId("events-part").hidden = !marks.length;
  sync(byId("events"), marks, ({ time, color }) => `${time} ${color}`, () => make("li"), (item, { time, text }) => {
    setText(item, `${day.format(time * 1000)}: ${text}`);
  });
}

function showRollout(rollout) {
  byId("rollout-part").hidden = !rollout;
  if (!rollout) return;
  sync(byId("versions"), rollout.versions, ({ role, version }) => `${role} ${version}`, () => row(8), (line, each) => {
    const figures = [each.version, each.role, percent(each.share), count(each.pages), count(each.failed), percent(each.kept), seconds(each.p50), seconds(each.p99)];
    figures.forEach((text, index) => setText(line.cells[index], text));
  });
  const trials = rollout.trials.map(({ trial, pages, disagreement, f1, kept, trusted_kept: trusted, slowdown }) => {
    const time = slowdown === null ? "" : `, ${slowdown.toFixed(2)} times the time of a call`;
    return `${trial}, beside the trusted version on the same ${count(pages)} pages: ${percent(disagreement)} of the blocks otherwise, ${percent(kept)} of the words kept instead of ${percent(trusted)}, F1 ${percent(f1)}${time}`;
  });
  const following = `${count(rollout.following)} of ${count(rollout.workers)} workers follow revision ${rollout.revision}`;
  const last = rollout.changes.at(-1);
  const change = `${day.format(last.time * 1000)}, ${last.by}: ${last.reason}`;
  sync(byId("rollout-lines"), [following, change, ...rollout.refused, ...trials], (text) => text, (text) => make("li", text), () => {});
}

function createReason() {
  const details = make("details");
  const summary = make("summary");
  summary.append(make("span", "", "count"), make("span"));
  details.append(summary, make("ol"), make("p", "", "hint"));
  return details;
}

function createExample({ time, source, url, detail }) {
  const item = make("li");
  const where = `${day.format(new Date(time))} · ${source.topic} ${source.partition}:${source.offset}`;
  const link = make("a", where, "where");
  link.href = `inspect/#${encodeURIComponent(source.topic)}/${source.partition}/${source.offset}`;
  item.append(link, make("div", url ?? "no URL"), make("div", detail));
  return item;
}

function showReasons(parent, reasons) {
  const entries = Object.entries(reasons).sort(([, one], [, other]) => other.count - one.count);
  if (!entries.length) {
    sync(parent, [""], () => "none", () => make("p", "none", "none"), () => {});
    return;
  }
  sync(parent, entries, ([reason]) => `reason ${reason}`, createReason, (details, [reason, { count: number, latest }]) => {
    const [total, name] = details.firstChild.children;
    setText(total, count(number));
    setText(name, reason);
    const example = ({ time, source }) => `${time} ${source.topic} ${source.partition} ${source.offset}`;
    const [, examples, hint] = details.children;
    sync(examples, latest.toReversed(), example, createExample, () => {});
    setText(hint, latest.length ? "" : "No example of it is shared yet.");
  });
}

/* Events */

let hour = { slot_seconds: 10, seconds: 3600 };
let wanted = GROUP;
let events;
let retry;
let heard = 0;

function addPoint(point) {
  const slot = (each) => Math.floor(each.time / hour.slot_seconds);
  while (points.length && slot(points.at(-1)) >= slot(point)) points.pop();
  points.push(point);
  while (points[0].time <= point.time - hour.seconds) points.shift();
}

function showView(view) {
  const { state, point } = view;
  addPoint(point);
  document.querySelector("main").classList.toggle("of-group", view.of === GROUP);
  showEvents(state, view.rollout);
  showRollout(view.rollout);
  showChoice(view);
  showNow(view);
  showHindrances(hindrancesOf(view));
  showTotals(state.counts.totals);
  setText(byId("pages-heading"), view.of === GROUP ? "Pages of all workers of the last hour, since each started" : "Pages since the start");
  showReasons(byId("skipped"), view.skipped);
  showReasons(byId("dead-letters"), view.dead_letters);
  showSteps(point);
  showPartitions(state);
  showWorkers(view);
  showDependencies(state);
  charts.forEach(draw);
}

function showConnection(className, text) {
  const node = byId("connection");
  node.className = className;
  setText(node, text);
  document.querySelector("main").classList.toggle("old", className === "down");
}

function connect() {
  disconnect();
  heard = performance.now();
  events = new EventSource(`events?of=${encodeURIComponent(wanted)}`);
  events.addEventListener("history", (event) => {
    hour = JSON.parse(event.data);
    points = hour.points;
  });
  events.addEventListener("state", (event) => {
    heard = performance.now();
    showConnection("up", "live");
    const view = JSON.parse(event.data);
    if (view.of === hour.of) showView(view);
    else connect();
  });
  events.addEventListener("error", () => {
    showConnection("down", "no connection to the worker; what is shown is old");
    if (events.readyState === EventSource.CLOSED) retry = setTimeout(connect, RETRY_MS);
  });
}

/* A worker that hangs, or a network that swallows what is sent, ends no connection. */
function watchSilence() {
  if (events?.readyState === EventSource.OPEN && performance.now() - heard > SILENT_MS) {
    showConnection("down", "the worker says nothing; what is shown is old");
  }
}

function disconnect() {
  clearTimeout(retry);
  events?.close();
}

/* A phone shows the headings of what is below the charts, and their content on demand. */
function foldParts() {
  for (const part of document.querySelectorAll(".part")) part.open = !narrow.matches;
}

function start() {
  readAddress();
  [...charts, partitionChart].forEach(buildFigure);
  byId("unzoom").addEventListener("click", () => setZoom(null));
  foldParts();
  narrow.addEventListener("change", foldParts);
  byId("choice").addEventListener("change", (event) => choose(event.target.value));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", rebuild);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) rebuild();
    width = innerWidth;
  });
  document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
  setInterval(watchSilence, 1000);
  connect();
}

start();
