"use strict";

/* Charts of the last hour, with a cursor and a range that all of them share, and marks of what happened. */

const COLORS = ["--one", "--two", "--three", "--four", "--five"];
const NEAR_PIXELS = 6;
const MOST_NOTES = 4;

const charts = [
  { title: "Pages per second", format: rate, least: 0.1, series: [["pages/s", (point) => point.pages_per_second]] },
  { title: "Messages per second", format: rate, least: 0.1,
    series: [["in", (point) => point.arriving_per_second], ["out", (point) => point.done_per_second]] },
  { title: "MB per second", format: megabytesPerSecond, least: 1e4, series: [["MB/s", (point) => point.bytes_per_second]] },
  { title: "Lag, in messages", format: count, least: 1, series: [["lag", (point) => point.lag]] },
  { title: "Age of the oldest message", format: duration, ticks: [1, 2, 5, 10, 60, 120, 300, 600, 3600, 7200, 21600, 86400, 604800],
    series: [["age", (point) => point.lag_seconds]] },
  { title: "No document, per second", format: rate, least: 0.1,
    series: [["skipped", (point) => point.skipped_per_second], ["dead letters", (point) => point.dead_letters_per_second]] },
  { title: "Time of a batch by step", format: seconds, least: 1e-4, quantile: "p95",
    series: STEPS.map((step) => [step, (point, chart) => point.steps[step]?.[chart.quantile]]) },
  { title: "Text per byte", format: percent, least: 0.001, series: [["text per byte", (point) => point.kept]] },
  { title: "Memory, with all processes", format: megabytes, least: 1e6, series: [["memory", (point) => point.memory]] },
];
const partitionChart = { title: "Lag by partition, in messages", format: count, least: 1, series: [["lag"]], ofPartitions: true };
const narrow = matchMedia("(max-width: 480px)");

let points = [];
let partitions = [];
let marks = [];

/* Distances of ticks whose labels differ: at least what the format of the axis shows. */
function ticksOf({ ticks, least }) {
  if (ticks) return ticks;
  const powers = Array.from({ length: 18 }, (_, index) => index - 4);
  return powers.flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power)).filter((tick) => tick >= least * 0.999);
}

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
  chart.holder.addEventListener("keydown", (event) => handleKey(chart, event));
  if (!chart.ofPartitions) addZoom(chart);
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

const colorOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function plotOf(chart) {
  const axis = { stroke: colorOf("--dim"), grid: { stroke: colorOf("--grid"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const series = chart.series.map(([label], index) => ({
    label, stroke: colorOf(COLORS[index]), width: 1.5, points: { show: false }, value: (_, value) => chart.format(value),
  }));
  const least = chart.least ?? chart.ticks[0];
  const common = {
    width: chart.holder.clientWidth,
    height: narrow.matches && !chart.ofPartitions ? 92 : 170,
    scales: { y: { range: (_, __, most) => [0, most > 0 ? Math.max(most * 1.08, least) : 10 * least] } },
  };
  const ofValues = { ...axis, size: narrow.matches ? 58 : 62, space: narrow.matches ? 24 : 34, incrs: ticksOf(chart), values: (_, splits) => splits.map(chart.format) };
  const options = chart.ofPartitions ? optionsOfPartitions(axis, series) : optionsOfHour(axis, series);
  options.scales.y = common.scales.y;
  options.axes.push(ofValues);
  return new uPlot({ ...common, ...options }, dataOf(chart), chart.holder);
}

function optionsOfHour(axis, series) {
  return {
    series: [{ label: "at", value: (_, value) => (value === null ? "–" : clockWithSeconds.format(value * 1000)) }, ...series],
    scales: { x: { range: (_, least, most) => zoom ?? [Math.min(least, most - 600), most] } },
    axes: [{ ...axis, size: 28, space: 70, values: (_, splits) => splits.map((time) => clock.format(time * 1000)) }],
    legend: { live: true, isolate: series.length > 1 },
    cursor: {
      drag: { x: true, y: false, setScale: false },
      sync: { key: "hour", filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
    },
    hooks: { init: [addNote], setSelect: [zoomToSelection], drawAxes: [drawMarks], setCursor: [showNote] },
  };
}

function optionsOfPartitions(axis, [bars]) {
  const ends = [-0.5, partitions.length - 0.5];
  return {
    series: [
      { label: "partition", value: (_, index) => nameOf(partitions[index]) },
      { ...bars, fill: bars.stroke, paths: uPlot.paths.bars({ size: [0.7, 60] }) },
    ],
    scales: { x: { time: false, range: () => ends } },
    axes: [{ ...axis, size: 28, space: 44, incrs: ticksOf({ least: 1 }), values: (_, splits) => splits.map((index) => partitions[index]?.partition ?? "") }],
    legend: { live: true },
    cursor: { drag: { x: false, y: false } },
  };
}

/* A line at the begin of each event, and a band for as long as an outage lasted. */
function drawMarks(plot) {
  const { left, top, width, height } = plot.bbox;
  const { ctx } = plot;
  const within = (time) => Math.min(left + width, Math.max(left, plot.valToPos(time, "x", true)));
  ctx.save();
  for (const { time, until, color } of marks) {
    const end = until ?? time;
    if (end < plot.scales.x.min || time > plot.scales.x.max) continue;
    ctx.fillStyle = colorOf(color);
    ctx.globalAlpha = 0.2;
    ctx.fillRect(within(time), top, within(end) - within(time), height);
    ctx.globalAlpha = 1;
    ctx.fillRect(within(time) - 1, top, 2, height);
  }
  ctx.restore();
}

/* What happened at the cursor: beside it in the chart that the pointer is in, or that has the focus. */
function marksAt(plot, time) {
  const { min, max } = plot.scales.x;
  const near = Math.max(hour.slot_seconds / 2, (NEAR_PIXELS * (max - min)) / plot.over.clientWidth);
  return marks.filter(({ time: begin, until }) => begin - near <= time && time <= (until ?? begin) + near);
}

function noteOf({ time, text }) {
  return `${clockWithSeconds.format(time * 1000)}: ${text}`;
}

function addNote(plot) {
  const note = make("div", "", "note");
  note.setAttribute("aria-hidden", "true");
  note.hidden = true;
  plot.over.append(note);
}

function showNote(plot) {
  const note = plot.over.querySelector(".note");
  const { left } = plot.cursor;
  const isHere = left >= 0 && plot.over.closest(".plot").matches(":hover, :focus");
  const found = isHere ? marksAt(plot, plot.posToVal(left, "x")) : [];
  note.hidden = !found.length;
  if (!found.length) return;
  const more = found.length > MOST_NOTES ? [`and ${count(found.length - MOST_NOTES)} more`] : [];
  setText(note, [...found.slice(0, MOST_NOTES).map(noteOf), ...more].join("\n"));
  const isRight = left > plot.over.clientWidth / 2;
  note.style.left = isRight ? "" : `${left + 8}px`;
  note.style.right = isRight ? `${plot.over.clientWidth - left + 8}px` : "";
}

const nameOf = (partition) => (partition ? `${partition.topic} ${partition.partition}` : "–");

function dataOf(chart) {
  if (chart.ofPartitions) return [partitions.map((_, index) => index), partitions.map(({ lag }) => lag)];
  return [points.map((point) => point.time), ...chart.series.map(([, value]) => points.map((point) => value(point, chart) ?? null))];
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
  const label = chart.ofPartitions ? `${chart.title}: ${text}` : text ? `${chart.title}, last hour: ${text}` : `${chart.title}, last hour`;
  if (chart.holder.getAttribute("aria-label") !== label) chart.holder.setAttribute("aria-label", label);
}

function rangeOf(chart, values) {
  const there = values.filter((value) => value !== null);
  if (!there.length) return "nothing yet";
  return `lowest ${chart.format(Math.min(...there))}, highest ${chart.format(Math.max(...there))}`;
}

/* Keys */

function handleKey(chart, event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return; // a shortcut of the browser
  const factor = { "+": 0.5, "-": 2 }[event.key];
  if (!factor) moveCursor(chart, event);
  else if (chart.plot && !chart.ofPartitions) zoomAround(chart, factor);
}

function moveCursor(chart, event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const xs = chart.plot?.data[0] ?? [];
  if (!step || !xs.length) return;
  event.preventDefault();
  const last = xs.length - 1;
  const at = Math.max(0, Math.min(last, (chart.plot.cursor.idx ?? last + 1) + step));
  chart.plot.setCursor({ left: chart.plot.valToPos(xs[at], "x"), top: 0 }, true, true);
  if (chart.ofPartitions) {
    setText(byId("spoken"), `${nameOf(partitions[at])}: ${count(partitions[at].lag)}`);
    return;
  }
  const values = chart.series.map(([label, value]) => `${label} ${chart.format(value(points[at], chart))}`);
  const notes = marksAt(chart.plot, points[at].time).map(noteOf);
  setText(byId("spoken"), [`${clockWithSeconds.format(points[at].time * 1000)}: ${values.join(", ")}`, ...notes].join("; "));
}

function rebuild() {
  for (const chart of [...charts, partitionChart]) {
    chart.plot?.destroy();
    chart.plot = undefined;
    if (chart.ofPartitions ? partitions.length : points.length) draw(chart);
  }
}
