"use strict";

/* A range of the hour that all charts show alone: selected with the mouse, by two fingers, or by + and -. */

const SHORTEST_ZOOM = 30;

let zoom = null;

function addZoom(chart) {
  const { holder } = chart;
  holder.addEventListener("dblclick", () => setZoom(null));
  addPinch(chart);
}

function setZoom(range) {
  zoom = range;
  showZoom();
  keepInAddress();
  if (points.length) charts.forEach(draw);
}

function showZoom() {
  byId("zoom").hidden = !zoom;
  if (zoom) setText(byId("zoom-range"), zoom.map((time) => clockWithSeconds.format(time * 1000)).join(" to "));
}

/* The range within the hour that is as long, but not too short; null for the whole hour. */
function bounded(from, to) {
  const length = Math.max(SHORTEST_ZOOM, to - from);
  if (length >= hour.seconds) return null;
  const newest = points.at(-1).time;
  const begin = Math.min(Math.max(from, newest - hour.seconds), newest - length);
  return [begin, begin + length];
}

function zoomToSelection(plot) {
  const { left, width } = plot.select;
  if (width < 4) return;
  const [from, to] = [left, left + width].map((position) => plot.posToVal(position, "x"));
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  setZoom(bounded(from, to));
}

function zoomAround({ plot }, factor) {
  const { min, max } = plot.scales.x;
  const half = Math.max(SHORTEST_ZOOM, (max - min) * factor) / 2;
  const middle = plot.cursor.idx == null ? (min + max) / 2 : plot.data[0][plot.cursor.idx];
  setZoom(bounded(middle - half, middle + half));
}

/* The times under two fingers stay under them, so that they zoom and move the range; a single one scrolls. */
function addPinch(chart) {
  const fingers = new Map();
  let held = null;
  const positions = () => {
    const { left } = chart.plot.over.getBoundingClientRect();
    return [...fingers.values()].map((x) => x - left);
  };
  const lift = ({ pointerId }) => {
    fingers.delete(pointerId);
    if (held) setZoom(zoom);
    held = null;
  };
  chart.holder.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch" || !chart.plot) return;
    fingers.set(event.pointerId, event.clientX);
    held = fingers.size === 2 ? positions().map((position) => chart.plot.posToVal(position, "x")) : null;
  });
  chart.holder.addEventListener("pointermove", ({ pointerId, clientX }) => {
    if (!fingers.has(pointerId)) return;
    fingers.set(pointerId, clientX);
    const [one, other] = positions();
    if (!held || Math.sign(other - one) !== Math.sign(held[1] - held[0])) return;
    const perPixel = (held[1] - held[0]) / (other - one);
    const from = held[0] - one * perPixel;
    zoom = bounded(from, from + chart.plot.over.clientWidth * perPixel);
    draw(chart);
  });
  for (const name of ["pointerup", "pointercancel"]) chart.holder.addEventListener(name, lift);
}
