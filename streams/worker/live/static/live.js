"use strict";

const STEPS = ["prepare", "label", "observe", "extract", "deliver"];
const COLORS = ["--one", "--two", "--three", "--four", "--five"];
const CHART_HEIGHT = 170;
const RETRY_MS = 5000;

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
  before.forEach((child) => child.remove());
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
  { title: "Messages to come", format: count, series: [["to come", (point) => point.lag]] },
  { title: "Time of a batch by step", format: seconds, quantile: "p95",
    series: STEPS.map((step) => [step, (point, chart) => point.steps[step]?.[chart.quantile] ?? null]) },
  { title: "Kept as text, characters per byte", format: percent, series: [["kept", (point) => point.kept]] },
  { title: "Memory of the worker and its processes", format: megabytes, series: [["memory", (point) => point.memory]] },
];

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
  byId("charts").append(figure);
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

function dataOf(chart) {
  return [points.map((point) => point.time), ...chart.series.map(([, value]) => points.map((point) => value(point, chart)))];
}

function draw(chart) {
  const data = dataOf(chart);
  if (chart.plot) chart.plot.setData(data);
  else chart.plot = plotOf(chart);
  const text = chart.series.length > 1 ? "" : rangeOf(chart, data[1]);
  setText(chart.figures, text);
  const label = text ? `${chart.title}, last hour: ${text}` : `${chart.title}, last hour; the last minute is in the table below`;
  if (chart.holder.getAttribute("aria-label") !== label) chart.holder.setAttribute("aria-label", label);
}

function rangeOf(chart, values) {
  const there = values.filter((value) => value !== null);
  if (!there.length) return "nothing yet";
  return `lowest ${chart.format(Math.min(...there))}, highest ${chart.format(Math.max(...there))}`;
}

function moveCursor(chart, event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step || !points.length || !chart.plot) return;
  event.preventDefault();
  const last = points.length - 1;
  const at = Math.max(0, Math.min(last, (chart.plot.cursor.idx ?? last + 1) + step));
  chart.plot.setCursor({ left: chart.plot.valToPos(points[at].time, "x"), top: 0 });
  const values = chart.series.map(([label, value]) => `${label} ${chart.format(value(points[at], chart))}`);
  setText(byId("spoken"), `${clockWithSeconds.format(points[at].time * 1000)}: ${values.join(", ")}`);
}

function rebuild() {
  for (const chart of charts) {
    chart.plot?.destroy();
    chart.plot = undefined;
    if (points.length) draw(chart);
  }
}

/* What is shown now */

function showNow(state) {
  const { point, report } = state;
  setText(byId("pages-now"), rate(point.pages_per_second));
  setText(byId("bytes-now"), megabytesPerSecond(point.bytes_per_second));
  setText(byId("lag-now"), count(point.lag));
  setText(byId("kept-now"), percent(point.kept));
  setText(byId("memory-now"), megabytes(point.memory));
  setText(byId("processes"), state.processes === null ? "" : `of ${count(state.processes)} ${state.processes === 1 ? "process" : "processes"}`);
  setText(byId("in-flight-now"), count(report.in_flight));
  setText(byId("in-flight-most"), `of ${count(state.most_in_flight)}`);
  const meter = byId("in-flight-meter");
  meter.max = state.most_in_flight;
  meter.value = report.in_flight;
  const model = state.model ? `model ${state.model}` : "no page labeled yet";
  setText(byId("about"), `version ${state.version} · ${model} · started ${day.format(state.started * 1000)}`);
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

function showPartitions(partitions, more) {
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
  setText(byId("more-partitions"), more ? `and ${count(more)} more, less far behind` : "");
}

function showDependencies(dependencies) {
  sync(byId("dependencies"), dependencies, ({ name }) => name, () => row(2), (line, dependency) => {
    const { name, unavailable_since: since, consequence, reason } = dependency;
    const isUp = since === null;
    setText(line.cells[0], name);
    setText(line.cells[1], isUp ? "available" : `unavailable since ${day.format(since * 1000)}, ${consequence}: ${reason}`);
    line.cells[1].className = isUp ? "up-state" : "down-state";
  });
}

function createReason() {
  const details = make("details");
  const summary = make("summary");
  summary.append(make("span", "", "count"), make("span"));
  details.append(summary, make("ol"));
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
    sync(details.lastChild, latest.toReversed(), example, createExample, () => {});
  });
}

/* Events */

let points = [];
let hour = { slot_seconds: 10, seconds: 3600 };
let events;
let retry;

function addPoint(point) {
  const slot = (each) => Math.floor(each.time / hour.slot_seconds);
  while (points.length && slot(points.at(-1)) >= slot(point)) points.pop();
  points.push(point);
  while (points[0].time <= point.time - hour.seconds) points.shift();
}

function showState(state) {
  addPoint(state.point);
  showNow(state);
  showHindrances(state.hindrances);
  showTotals(state.report.totals);
  showReasons(byId("skipped"), state.report.skipped);
  showReasons(byId("dead-letters"), state.report.dead_letters);
  showSteps(state.point.steps);
  showPartitions(state.partitions, state.more_partitions);
  showDependencies(state.dependencies);
  charts.forEach(draw);
}

function showConnection(className, text) {
  const node = byId("connection");
  node.className = className;
  setText(node, text);
}

function connect() {
  disconnect();
  events = new EventSource("events");
  events.addEventListener("history", (event) => {
    hour = JSON.parse(event.data);
    points = hour.points;
  });
  events.addEventListener("state", (event) => {
    showConnection("up", "live");
    showState(JSON.parse(event.data));
  });
  events.addEventListener("error", () => {
    showConnection("down", "no connection to the worker; what is shown is old");
    if (events.readyState === EventSource.CLOSED) retry = setTimeout(connect, RETRY_MS);
  });
}

function disconnect() {
  clearTimeout(retry);
  events?.close();
}

function start() {
  const here = new URL(location.href);
  if (here.searchParams.has("token")) history.replaceState(null, "", here.pathname);
  charts.forEach(buildFigure);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", rebuild);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) rebuild();
    width = innerWidth;
  });
  document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
  connect();
}

start();
