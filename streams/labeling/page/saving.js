/* ---- saving: the newest labels of each page, one page at a time ---- */

function keep() {
  saves.waiting.set(work.number, { labels: [...work.labels], replaces: work.replaces });
  saySaved("saving …");
  clearTimeout(saves.timer);
  saves.timer = setTimeout(save, SAVE_AFTER);
}

async function save() {
  clearTimeout(saves.timer);
  const number = [...saves.waiting.keys()].find((each) => !saves.conflicts.has(each));
  if (saves.busy || number === undefined) return;
  saves.busy = true;
  let goesOn = true;
  const wanted = saves.waiting.get(number);
  try {
    const saved = await ask(`pages/${number}/labels`, { ...wanted, revision: revisions.get(number) });
    revisions.set(number, saved.revision);
    if (saves.waiting.get(number) === wanted) saves.waiting.delete(number);
    if (number === work.number) work.replaces = false;
    setState(number, saved.state);
    if (!saves.waiting.size) saySaved(`saved ${new Date(saved.saved_at).toLocaleTimeString("en-GB")}`);
  } catch (error) {
    goesOn = notSaved(number, error);
  } finally {
    saves.busy = false;
  }
  if (goesOn) save();
}

/* Say that a page is not saved; return whether the next one can be saved at once. */
function notSaved(number, error) {
  const said = `NOT SAVED (page ${number + 1}): ${error.message}`;
  if (error.status === 409) {
    saves.conflicts.set(number, said);
    saySaved("");
    return true;
  }
  saySaved(said, true);
  if (error.status === 400 || error.status === 422) {
    saves.waiting.delete(number); // it would be refused each time, and hold up other pages
    saves.timer = setTimeout(save, SAVE_AFTER);
  } else {
    at("again").hidden = false;
    saves.timer = setTimeout(save, RETRY_AFTER);
  }
  return false;
}

/* What is said of other pages does not hide conflicts: the first one stands until it is settled, then the next. */
function saySaved(text, isTrouble) {
  const [conflict] = saves.conflicts.values();
  at("saved").textContent = conflict && !isTrouble ? conflict : text;
  at("saved").classList.toggle("unsaved", Boolean(conflict || isTrouble));
  at("again").hidden = true;
  at("theirs").hidden = at("mine").hidden = !conflict;
}

async function settle(keepsMine) {
  const [number] = saves.conflicts.keys();
  try {
    const page = await ask(`pages/${number}`);
    revisions.set(number, page.revision);
    saves.conflicts.delete(number);
    if (keepsMine) {
      saves.waiting.set(number, { ...saves.waiting.get(number), replaces: true });
      saySaved("saving …");
      save();
    } else {
      saves.waiting.delete(number);
      histories.delete(number);
      saySaved("the saved labels were taken");
      open(number);
    }
  } catch (error) {
    saySaved(`NOT SAVED (page ${number + 1}): ${error.message}`, true);
  }
}
