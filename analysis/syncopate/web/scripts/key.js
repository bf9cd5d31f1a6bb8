// What the colours of a chart mean.

/** Shows the names of {name, colours} beside their colours; `said` adds to a name. */
function showKey(place, entries, said = () => "") {
  place.replaceChildren(...entries.map(entry => {
    const dot = element("span", {class: "box"});
    dot.style.background = shade(entry);
    return element("span", {class: "entry"}, dot, entry.name + said(entry));
  }));
}
