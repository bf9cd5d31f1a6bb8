// Elements of the page. Texts are always set as text, whatever they hold.

function byId(id) {
  return document.getElementById(id);
}

/** A new element with attributes, and children that are elements or texts. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A new element of an SVG drawing. */
function drawing(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Offers the names in a select, whose label is hidden where there is nothing to choose. */
function offer(select, names, chosen = 0) {
  select.replaceChildren(...names.map((name, place) => element("option", {value: place}, name)));
  select.value = chosen;
  select.closest("label").hidden = names.length < 2;
}

/** Text that may stand in a tooltip, which ECharts takes as HTML. */
function escaped(text) {
  return String(text).replace(/[&<>"']/g, letter => `&#${letter.charCodeAt(0)};`);
}
