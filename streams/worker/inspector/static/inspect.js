"use strict";

const LONGEST_URL = 300; // the worker keeps no more of one
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const byId = (id) => document.getElementById(id);
let maxBytes = Infinity;
let latest = [];

function make(name, text = "", className = "") {
  const node = document.createElement(name);
  if (text) node.textContent = text;
  if (className) node.className = className;
  return node;
}

function say(text, isError = false) {
  byId("status").textContent = text;
  byId("status").classList.toggle("error", isError);
}

/* Inspecting */

async function inspect(path, query, body) {
  const buttons = [...document.querySelectorAll("button")];
  buttons.forEach((button) => { button.disabled = true; });
  say("inspecting …");
  try {
    const answer = await fetch(`${path}?${new URLSearchParams(query)}`, { method: "POST", body });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const { page } = await answer.json();
    say("");
    location.assign(page);
  } catch (error) {
    say(error.message || "the worker does not answer", true);
  } finally {
    buttons.forEach((button) => { button.disabled = false; });
  }
}

function inspectEntry({ url, source }) {
  const query = { topic: source.topic, partition: source.partition, offset: source.offset };
  return inspect("positions", url && url.length < LONGEST_URL ? { ...query, url } : query);
}

function inspectPasted(html) {
  const body = new Blob([html], { type: "text/html; charset=utf-8" });
  if (body.size > maxBytes) {
    say(`the HTML has ${body.size.toLocaleString("en")} bytes, and a page may have ${maxBytes.toLocaleString("en")}`, true);
    return;
  }
  inspect("pastes", {}, body);
}

function onSubmit(id, use) {
  byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    use(Object.fromEntries(new FormData(event.target)));
  });
}

/* The latest pages */

function entries({ documents, skipped, dead_letters: letters }) {
  const dropped = (reasons, outcome) => Object.entries(reasons).flatMap(([reason, drops]) =>
    drops.latest.map((drop) => ({ ...drop, outcome, detail: `${reason}: ${drop.detail}` })));
  const made = documents.map((each) => ({
    ...each, outcome: "document",
    detail: [each.is_empty && "without text", each.model && `${each.model.name}/${each.model.version}`].filter(Boolean).join(", "),
  }));
  return [...made, ...dropped(skipped, "skipped"), ...dropped(letters, "dead letter")]
    .sort((one, other) => (one.time < other.time ? 1 : -1));
}

function rowOf(entry) {
  const line = make("tr");
  const name = make("th", entry.url ?? "no URL");
  name.scope = "row";
  const outcome = make("td", entry.outcome);
  outcome.append(make("div", entry.detail, "detail"));
  const button = make("button", "Inspect");
  button.type = "button";
  button.setAttribute("aria-label", `Inspect ${entry.url ?? "this page"}`);
  button.addEventListener("click", () => inspectEntry(entry));
  const action = make("td");
  action.append(button);
  const { topic, partition, offset } = entry.source;
  line.append(name, outcome, make("td", `${topic}/${partition}/${offset}`), make("td", clock.format(new Date(entry.time))), action);
  return line;
}

function showLatest() {
  const wanted = byId("shown").value;
  const shown = latest.filter(({ outcome }) => !wanted || outcome === wanted);
  byId("recent").replaceChildren(...shown.map(rowOf));
  byId("nothing").textContent = shown.length ? "" : "None since the worker started.";
}

async function refresh() {
  try {
    const answer = await fetch("recent");
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const recent = await answer.json();
    maxBytes = recent.max_bytes;
    latest = entries(recent);
    const topic = byId("by-position").elements.topic;
    if (!topic.value) topic.value = latest[0]?.source.topic ?? (/^\^|,/.test(recent.topics.input) ? "" : recent.topics.input);
    showLatest();
  } catch (error) {
    say(error.message || "the worker does not answer", true);
  }
}

/* A link may name a position: #topic/partition/offset */
function fillPosition() {
  const [, topic, partition, offset] = /^#((?:[^/%]|%[0-7][0-9a-f])+)\/(\d+)\/(\d+)$/i.exec(location.hash) ?? [];
  if (!topic) return;
  const form = byId("by-position");
  form.elements.topic.value = decodeURIComponent(topic);
  form.elements.partition.value = partition;
  form.elements.offset.value = offset;
  form.querySelector("button").focus();
}

function start() {
  onSubmit("by-url", ({ url }) => inspect("documents", { url: url.trim() }));
  onSubmit("by-position", (position) => inspect("positions", position));
  onSubmit("by-paste", ({ html }) => inspectPasted(html));
  byId("shown").addEventListener("change", showLatest);
  byId("refresh").addEventListener("click", refresh);
  addEventListener("hashchange", fillPosition);
  fillPosition();
  refresh();
}

start();
