// The network of a point: nodes, switches, and cables as wide and as hot as they are used.

const network = {point: 0};
const APART = 26;            // pixels between neighbouring nodes, at least
const MOST_APART = 56;       // and at most
const MOST_NAMED = 64;       // nodes whose names are written
const FULL = 0.9;            // of its bandwidth, from which on a cable has no room left

function cableWords(cable) {
  return `${cable.name} (${cable.level}, ${cable.bandwidth}): ${plain(100 * cable.used, 3)} % used`;
}

/** The name of a node without what all have: 7 of node-7. */
function nodeWords(name) {
  return name.replace(/^(node|server)-/, match => match[0] === "s" ? "s" : "").replace(/,.*/, "");
}

function showNetwork() {
  const point = data.networks[network.point];
  offer(byId("network-point"), data.networks.map(one => one.name), network.point);
  const [width, height] = point.size;
  const scale = Math.max(APART, Math.min(MOST_APART, 900 / width));
  const at = vertex => point.vertices[vertex].at.map(part => part * scale);
  const hottest = [...point.cables].sort((one, other) => other.used - one.used);
  const alike = hottest.filter(one => one.used === hottest[0].used).length - 1;
  const lines = [...point.cables].sort((one, other) => one.used - other.used).map(cable => {
    const [[x1, y1], [x2, y2]] = cable.ends.map(at);
    const bend = point.in_rows && y1 === y2 ? Math.min(2.2 * scale, 0.25 * Math.abs(x2 - x1)) : 0;
    const line = drawing("path", {d: `M${x1} ${y1}Q${(x1 + x2) / 2} ${(y1 + y2) / 2 - 2 * bend} ${x2} ${y2}`, fill: "none", "data-cable": cable.name,
      stroke: cable.used > 0 ? heatOf(cable.used) : css("edge"), "stroke-width": (2 + 6 * Math.min(1, cable.used)).toFixed(2),
      ...(cable.used > 0 ? {} : {"stroke-dasharray": "3 3"})}, drawing("title", {}, cableWords(cable)));
    return line;
  });
  const named = point.vertices.filter(vertex => vertex.name).length <= MOST_NAMED;
  const vertices = point.vertices.flatMap(({name}, vertex) => {
    const [x, y] = at(vertex);
    const mark = name ? drawing("rect", {x: x - 5, y: y - 5, width: 10, height: 10, rx: 2, fill: css("ink")}) :
      drawing("circle", {cx: x, cy: y, r: 5, fill: css("page"), stroke: css("ink"), "stroke-width": 1.5});
    mark.append(drawing("title", {}, name || "switch"));
    const isLow = y > height * scale / 2;
    return name && named ? [mark, drawing("text", {x, y: y + (isLow ? 22 : -10), "text-anchor": "middle", "font-size": 12, fill: css("quiet")}, nodeWords(name))] : [mark];
  });
  const picture = drawing("svg", {viewBox: `0 0 ${width * scale} ${height * scale}`, style: `width: ${width * scale}px; min-width: ${Math.min(width * APART, 4000)}px`}, ...lines, ...vertices);
  const place = byId("network-picture");
  place.replaceChildren(picture);
  place.setAttribute("aria-label", `Network of ${point.name}. Most used: ${hottest.slice(0, 5).map(cableWords).join("; ")}.`);
  const full = point.cables.filter(cable => cable.used >= FULL).length;
  const unused = point.cables.filter(cable => cable.used === 0).length;
  byId("network-said").textContent = `Most used: ${cableWords(hottest[0])}${alike ? `, and ${alike} more as much` : ""}. ` +
    `${full ? `${full} of ${point.cables.length} cables are used to ${100 * FULL} % or more. ` : ""}${unused ? `${unused} of ${point.cables.length} carry nothing (dashed).` : ""}`;
  showKey(byId("network-key"), [0.05, 0.5, 1].map(part => ({color: heatOf(part), dark: heatOf(part), name: part === 0.05 ? "little used" : part === 1 ? "fully used" : "half"})));
  remember();
}

function prepareNetwork() {
  keepOne("network", () => data.networks.map(one => one.name), () => network.point, point => { network.point = point; }, () => data.best.network);
  byId("network-point").addEventListener("change", event => {
    network.point = Number(event.target.value);
    showNetwork();
  });
  redrawn.push(showNetwork);
}
