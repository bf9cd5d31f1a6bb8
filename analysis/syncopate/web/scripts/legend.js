// A legend of buttons: a click shows one series alone, another click all of them; a click with shift shows or hides one.

/** A legend in `place`; `changed` is called when other series are shown. */
function makeLegend(place, changed) {
  const hidden = new Set();
  let names = [];

  function click(name, withShift) {
    if (withShift) {
      hidden.has(name) ? hidden.delete(name) : hidden.add(name);
    } else {
      const alone = names.every(other => hidden.has(other) === (other !== name));
      hidden.clear();
      if (!alone || names.length === 1) names.filter(other => other !== name).forEach(other => hidden.add(other));
    }
    if (names.every(other => hidden.has(other))) hidden.clear();
    mark();
    changed();
  }

  function mark() {
    for (const button of place.children) button.setAttribute("aria-pressed", !hidden.has(button.dataset.name));
  }

  return {
    /** Offers these series, {name, colours, path of the marker, dashes of the line}; without dashes a series is points alone. */
    show(series) {
      names = series.map(one => one.name);
      for (const name of hidden) if (!names.includes(name)) hidden.delete(name);
      if (names.every(name => hidden.has(name))) hidden.clear();
      place.replaceChildren(...series.map(one => {
        const button = element("button", {type: "button", "data-name": one.name, title: "Click: this alone, or all again. Shift-click: show or hide."},
          swatch(one), one.name);
        button.addEventListener("click", event => click(one.name, event.shiftKey));
        return button;
      }));
      mark();
    },
    isShown: name => !hidden.has(name),
    /** For the address: the hidden names as a text, and to hide those of a text; a name is as it is but for %, and commas between names. */
    hiddenText: () => names.filter(name => hidden.has(name)).map(encodeURIComponent).join(","),
    hide(text) {
      hidden.clear();
      for (const name of text.split(",").filter(Boolean)) {
        try {
          hidden.add(decodeURIComponent(name));
        } catch {
          continue;      // no name of ours
        }
      }
    },
    /** For ECharts: {name: whether it is shown}. */
    selected: () => Object.fromEntries(names.map(name => [name, !hidden.has(name)])),
  };
}

/** A short stretch of a series' line, if it has one, with its marker. */
function swatch(one) {
  const marker = drawing("path", {d: one.path, fill: "currentColor", transform: "scale(4)"});
  const line = one.dash && drawing("path", {d: "M-15 0H15", stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": one.dash.map(length => 2 * length).join(" ")});
  const width = line ? 30 : 12;
  const made = drawing("svg", {width, height: 12, viewBox: `${-width / 2} -6 ${width} 12`, "aria-hidden": "true"}, ...(line ? [line] : []), marker);
  made.style.setProperty("--light", one.color);
  made.style.setProperty("--dark", one.dark);
  return made;
}
