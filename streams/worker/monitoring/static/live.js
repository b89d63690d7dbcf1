"use strict";

const STEPS = ["prepare", "label", "observe", "extract", "deliver"];
const COLORS = ["--one", "--two", "--three", "--four", "--five"];
const CHART_HEIGHT = 170;
const RETRY_MS = 5000;
const SILENT_MS = 4000;
const GROUP = "group";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const decimal = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const clockWithSeconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

const known = (format) => (value) => (value === null || value === undefined ? "–" : format(value));
const count = known((value) => whole.format(value));
const rate = known((value) => (value < 100 ? decimal : whole).format(value));
const percent = known((value) => `${decimal.format(100 * value)} %`);
const megabytes = known((value) => `${whole.format(value / 1e6)} MB`);
const megabytesPerSecond = known((value) => (value / 1e6).toFixed(value < 1e7 ? 2 : 1));
const seconds = known((value) => (value < 1 ? `${rate(1000 * value)} ms` : `${decimal.format(value)} s`));

const duration = known((value) => {
  if (value < 60) return `${Math.floor(value)} s`;
  const [unit, name, below, nameBelow] = value < 3600 ? [60, "min"] : value < 86400 ? [3600, "h", 60, "min"] : [86400, "d", 3600, "h"];
  const rest = below && Math.floor((value % unit) / below);
  return `${whole.format(Math.floor(value / unit))} ${name}${rest ? ` ${rest} ${nameBelow}` : ""}`;
});

const byId = (id) => document.getElementById(id);

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function make(name, text = "", className = "") {
  const node = document.createElement(name);
  if (text) node.textContent = text;
  if (className) node.className = className;
  return node;
}

/* Give a parent one child for each item, in order; those that stay are kept, with their focus and state. */
function sync(parent, items, key, create, update) {
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  items.forEach((item, index) => {
    const name = String(key(item));
    let child = before.get(name);
    before.delete(name);
    if (!child) {
      child = create(item);
      child.dataset.key = name;
    }
    if (parent.children[index] !== child) parent.insertBefore(child, parent.children[index] ?? null);
    update(child, item);
  });
  while (parent.children.length > items.length) parent.lastElementChild.remove();
}

function row(columns) {
  const line = make("tr");
  for (let column = 0; column < columns; column += 1) {
    const cell = make(column ? "td" : "th");
    if (!column) cell.scope = "row";
    line.append(cell);
  }
  return line;
}

/* Charts */

const charts = [
  { title: "Pages per second", format: rate, series: [["pages/s", (point) => point.pages_per_second]] },
  { title: "MB per second", format: megabytesPerSecond, series: [["MB/s", (point) => point.bytes_per_second]] },
  { title: "Lag, in messages", format: count, series: [["lag", (point) => point.lag]] },
  { title: "Time of a batch by step", format: seconds, quantile: "p95",
    series: STEPS.map((step) => [step, (point, chart) => point.steps[step]?.[chart.quantile] ?? null]) },
  { title: "Kept as text, characters per byte", format: percent, series: [["kept", (point) => point.kept]] },
  { title: "Memory, with all processes", format: megabytes, series: [["memory", (point) => point.memory]] },
];
const WHOLE = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();
const partitionChart = { title: "Lag by partition, in messages", format: count, series: [["lag"]], ofPartitions: true };

function buildFigure(chart) {
  const figure = make("figure");
  const caption = make("figcaption");
  caption.append(make("strong", chart.title));
  if (chart.quantile) caption.append(buildChoice(chart));
  chart.figures = make("span", "", "figures");
  caption.append(chart.figures);
  chart.holder = make("div", "", "plot");
  chart.holder.tabIndex = 0;
  chart.holder.setAttribute("role", "group");
  chart.holder.addEventListener("keydown", (event) => moveCursor(chart, event));
  figure.append(caption, chart.holder);
  byId(chart.ofPartitions ? "partition-chart" : "charts").append(figure);
}

function buildChoice(chart) {
  const choice = make("select");
  choice.setAttribute("aria-label", `${chart.title}: quantile`);
  for (const name of ["p50", "p95", "p99"]) choice.append(new Option(name, name, name === chart.quantile));
  choice.value = chart.quantile;
  choice.addEventListener("change", () => {
    chart.quantile = choice.value;
    draw(chart);
  });
  return choice;
}

function plotOf(chart) {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  const axis = { stroke: color("--dim"), grid: { stroke: color("--grid"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const series = chart.series.map(([label], index) => ({
    label, stroke: color(COLORS[index]), width: 1.5, points: { show: false }, value: (_, value) => chart.format(value),
  }));
  const several = chart.series.length > 1;
  if (chart.ofPartitions) return plotOfPartitions(chart, axis, series);
  return new uPlot({
    width: chart.holder.clientWidth,
    height: CHART_HEIGHT,
    series: [{ label: "at", value: (_, value) => (value === null ? "–" : clockWithSeconds.format(value * 1000)) }, ...series],
    scales: { x: { range: (_, least, most) => [Math.min(least, most - 600), most] }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] } },
    axes: [
      { ...axis, size: 28, space: 70, values: (_, splits) => splits.map((time) => clock.format(time * 1000)) },
      { ...axis, size: 62, space: 34, values: (_, splits) => splits.map(chart.format) },
    ],
    legend: { live: true, isolate: several },
    cursor: { drag: { x: false, y: false } },
  }, dataOf(chart), chart.holder);
}

function plotOfPartitions(chart, axis, [bars]) {
  const ends = [-0.5, partitions.length - 0.5];
  return new uPlot({
    width: chart.holder.clientWidth,
    height: CHART_HEIGHT,
    series: [
      { label: "partition", value: (_, index) => nameOf(partitions[index]) },
      { ...bars, fill: bars.stroke, paths: uPlot.paths.bars({ size: [0.7, 60] }) },
    ],
    scales: { x: { time: false, range: () => ends }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] } },
    axes: [
      { ...axis, size: 28, space: 44, incrs: WHOLE, values: (_, splits) => splits.map((index) => partitions[index]?.partition ?? "") },
      { ...axis, size: 62, space: 34, incrs: WHOLE, values: (_, splits) => splits.map(chart.format) },
    ],
    legend: { live: true },
    cursor: { drag: { x: false, y: false } },
  }, dataOf(chart), chart.holder);
}

const nameOf = (partition) => (partition ? `${partition.topic} ${partition.partition}` : "–");

function dataOf(chart) {
  if (chart.ofPartitions) return [partitions.map((_, index) => index), partitions.map(({ lag }) => lag)];
  return [points.map((point) => point.time), ...chart.series.map(([, value]) => points.map((point) => value(point, chart)))];
}

function draw(chart) {
  const data = dataOf(chart);
  if (chart.ofPartitions && chart.plot?.data[0].length !== data[0].length) {
    chart.plot?.destroy();
    chart.plot = undefined;
  }
  if (chart.plot) chart.plot.setData(data);
  else chart.plot = plotOf(chart);
  const text = chart.series.length > 1 ? "" : rangeOf(chart, data[1]);
  setText(chart.figures, text);
  const label = chart.ofPartitions ? `${chart.title}: ${text}` : text ? `${chart.title}, last hour: ${text}` : `${chart.title}, last hour; the last minute is in the table below`;
  if (chart.holder.getAttribute("aria-label") !== label) chart.holder.setAttribute("aria-label", label);
}

function rangeOf(chart, values) {
  const there = values.filter((value) => value !== null);
  if (!there.length) return "nothing yet";
  return `lowest ${chart.format(Math.min(...there))}, highest ${chart.format(Math.max(...there))}`;
}

function moveCursor(chart, event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const xs = chart.plot?.data[0] ?? [];
  if (!step || !xs.length) return;
  event.preventDefault();
  const last = xs.length - 1;
  const at = Math.max(0, Math.min(last, (chart.plot.cursor.idx ?? last + 1) + step));
  chart.plot.setCursor({ left: chart.plot.valToPos(xs[at], "x"), top: 0 });
  if (chart.ofPartitions) {
    setText(byId("spoken"), `${nameOf(partitions[at])}: ${count(partitions[at].lag)}`);
    return;
  }
  const values = chart.series.map(([label, value]) => `${label} ${chart.format(value(points[at], chart))}`);
  setText(byId("spoken"), `${clockWithSeconds.format(points[at].time * 1000)}: ${values.join(", ")}`);
}

function rebuild() {
  for (const chart of [...charts, partitionChart]) {
    chart.plot?.destroy();
    chart.plot = undefined;
    if (chart.ofPartitions ? partitions.length : points.length) draw(chart);
  }
}

/* The view now */

function showNow({ point, state, group, of }) {
  setText(byId("pages-now"), rate(point.pages_per_second));
  setText(byId("bytes-now"), megabytesPerSecond(point.bytes_per_second));
  setText(byId("lag-now"), count(point.lag));
  setText(byId("lag-age"), lagInWords(point));
  setText(byId("kept-now"), percent(point.kept));
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
  connect();
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

function showSteps(steps) {
  const done = STEPS.filter((step) => steps[step]);
  sync(byId("steps"), done, (step) => step, () => row(5), (line, step) => {
    const { batches, p50, p95, p99 } = steps[step];
    [step, count(batches), seconds(p50), seconds(p95), seconds(p99)].forEach((text, index) => setText(line.cells[index], text));
  });
}

function showPartitions({ partitions: ofState, more_partitions: more }) {
  partitions = ofState;
  const most = Math.max(1, ...partitions.map(({ lag }) => lag));
  const create = () => {
    const line = row(4);
    const bar = make("progress");
    bar.setAttribute("aria-hidden", "true");
    line.cells[3].append(bar);
    return line;
  };
  sync(byId("partitions"), partitions, ({ topic, partition }) => `${partition} ${topic}`, create, (line, { topic, partition, lag }) => {
    [topic, String(partition), count(lag)].forEach((text, index) => setText(line.cells[index], text));
    const bar = line.cells[3].firstChild;
    bar.max = most;
    bar.value = lag;
  });
  byId("partition-chart").hidden = !partitions.length;
  if (partitions.length) draw(partitionChart);
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
    setText(hint, latest.length ? "" : "Only other workers have met it: examples are on their pages.");
  });
}

/* Events */

let points = [];
let partitions = [];
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
  showChoice(view);
  showNow(view);
  showHindrances(hindrancesOf(view));
  showTotals(state.counts.totals);
  setText(byId("pages-heading"), view.of === GROUP ? "Pages of all workers of the last hour, since each started" : "Pages since the start");
  showReasons(byId("skipped"), view.skipped);
  showReasons(byId("dead-letters"), view.dead_letters);
  showSteps(point.steps);
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

function start() {
  const here = new URL(location.href);
  if (here.searchParams.has("token")) history.replaceState(null, "", here.pathname);
  [...charts, partitionChart].forEach(buildFigure);
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
