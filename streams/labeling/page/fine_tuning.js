/* ---- fine-tuning: by the server, one at a time; asked for until it ends ---- */

const TUNED_EVERY = 1000;
const TUNES = { running: "Fine-tuning …", written: "Fine-tuned", "not-better": "Fine-tune: not better", failed: "Fine-tuning failed" };
let tuningTimer = 0;

async function tune(starts) {
  clearTimeout(tuningTimer);
  if (starts && (saves.waiting.size || saves.busy)) {
    at("tuning-message").textContent = "Not started: labels are not saved yet.";
    return;
  }
  await hearOfTuning(ask("fine-tuning", starts ? {} : undefined));
}

async function endTuning() {
  clearTimeout(tuningTimer);
  await hearOfTuning(ask("fine-tuning/end", {}));
}

async function hearOfTuning(answer) {
  try {
    showTuning(await answer);
  } catch (error) {
    if (!error.status && !at("tuning-runs").hidden) { // it may run on; the next answer says so
      at("tuning-message").textContent = error.message;
      tuningTimer = setTimeout(tune, RETRY_AFTER);
      return;
    }
    showTuning({ state: "failed", message: error.message, progress: [], result: [], next: [] });
  }
}

function showTuning({ state, message, progress, result, next }) {
  const runs = state === "running";
  at("tune").textContent = TUNES[state] || "Fine-tune";
  const hadFocus = ["tuning-start", "tuning-end"].includes(document.activeElement.id);
  at("tuning-start").disabled = runs;
  at("tuning-end").hidden = at("tuning-runs").hidden = !runs;
  if (hadFocus) at(runs ? "tuning-end" : "tuning-start").focus(); // the one that had it may be gone
  const lines = { progress, result, message: [message], next };
  for (const [name, its] of Object.entries(lines)) at(`tuning-${name}`).textContent = its.join("\n");
  at("tuning-progress").scrollTop = at("tuning-progress").scrollHeight;
  if (runs) tuningTimer = setTimeout(tune, TUNED_EVERY);
}
