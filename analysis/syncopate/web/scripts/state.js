// What is chosen, zoomed, sorted, filtered and hidden lives in the address's fragment, so that a link opens the same view.

const kept = [];     // {key, get, set}
let isRecalling = false;

/** Keeps a part of the state: `get()` is its text, "" where nothing was chosen; `set(text)` chooses it, for "" what is shown at first. */
function keep(key, get, set) {
  kept.push({key, get, set});
}

/** The same of one of `names()`, by its name; `first()` is the one that is shown at first. */
function keepOne(key, names, get, set, first = () => 0) {
  keep(key, () => get() === first() ? "" : names()[get()] ?? "", text => {
    const place = text === "" ? -1 : names().indexOf(text);
    set(place < 0 ? first() : place);
  });
}

/** The same of yes or no. */
function keepYes(key, get, set, first = () => false) {
  keep(key, () => get() === first() ? "" : String(Number(get())), text => set(text === "" ? first() : text === "1"));
}

/** Writes the state into the address. Changes make no steps to go back. */
function remember() {
  if (isRecalling) return;
  const words = new URLSearchParams(kept.map(({key, get}) => [key, get()]).filter(([, text]) => text !== ""));
  const fragment = words.size ? `#${words}` : "";
  if (fragment !== location.hash) history.replaceState(null, "", fragment || location.pathname + location.search);
}

/** Chooses what the address says. What it does not know is as it is at first. */
function recall() {
  isRecalling = true;
  const words = new URLSearchParams(location.hash.slice(1));
  for (const {key, set} of kept) set(words.get(key) ?? "");
  isRecalling = false;
}

/** Two numbers, from a text such as 40-60; null where it has none. */
function rangeIn(text) {
  const [, from, to] = text.match(/^(-?[\d.]+)-([\d.]+)$/) ?? [];
  return from !== undefined && Number(from) < Number(to) ? [Number(from), Number(to)] : null;
}

/** Prepares and shows the parts of the page, [prepare, show] each, as the address says, and again whenever that is changed by hand. */
function showKept(parts) {
  const show = () => {
    recall();
    isRecalling = true;      // until all parts are there
    for (const [, showPart] of parts) showPart();
    isRecalling = false;
  };
  for (const [prepare] of parts) prepare();
  show();
  addEventListener("hashchange", show);
}
