// The network of a point: nodes, switches, and cables as wide and as hot as they are used.

// `atMoment`: they are as hot as at the timeline's moment, else as in the measured window.
const network = {point: 0, atMoment: false};
const APART = 26;            // pixels between neighbouring nodes, at least
const MOST_APART = 56;       // and at most
const MOST_NAMED = 64;       // nodes whose names are written
const FULL = 0.9;            // of its bandwidth, from which on a cable has no room left

function cableWords(cable) {
  return `${cable.name} (${cable.level}, ${cable.bandwidth}): ${plain(100 * cable.used, 3)} % used`;
}

/** The place of the timeline of the network's point that tells how links are used; -1 where there is none. */
function timelineOfNetwork() {
  const {run, point} = data.networks[network.point];
  return data.timelines.findIndex(one => one.use && one.run === run && one.point === point);
}

/** Its cables with how much they are used, at the moment or in the measured window. */
function cablesInUse() {
  const {cables} = data.networks[network.point];
  if (!network.atMoment) return cables;
  const used = useAt(timelinePoint(), timeline.moment);
  return cables.map(cable => ({...cable, used: used[cable.name] ?? 0}));
}

/** Chooses the timeline of the network's point, where there is one, so that both show the same. */
function showSameTimeline() {
  const place = timelineOfNetwork();
  network.atMoment &&= place >= 0;
  if (!network.atMoment || place === timeline.point) return;
  chooseTimeline(place);
  showTimeline();
}

function showNetworkControls() {
  const place = timelineOfNetwork();
  byId("network-at-moment").checked = network.atMoment;
  byId("network-mean").textContent = network.atMoment ? " at the moment" : " in the measured window";
  byId("network-at-moment").closest("label").hidden = place < 0;
  byId("network-slider").hidden = place < 0;
  const slider = byId("network-moment");
  const from = byId("timeline-moment");
  if (!from || place < 0) return;
  for (const name of ["min", "max", "step", "value"]) slider[name] = from[name];
  slider.setAttribute("aria-valuetext", from.getAttribute("aria-valuetext"));
  byId("network-when").textContent = byId("timeline-when").textContent;
}

/** The name of a node without what all have: 7 of node-7. */
function nodeWords(name) {
  return name.replace(/^(node|server)-/, match => match[0] === "s" ? "s" : "").replace(/,.*/, "");
}

function showNetwork() {
  offer(byId("network-point"), data.networks.map(one => one.name), network.point);
  showSameTimeline();
  drawNetwork();
}

function drawNetwork() {
  showNetworkControls();
  const point = {...data.networks[network.point], cables: cablesInUse()};
  const [width, height] = point.size;
  const scale = Math.max(APART, Math.min(MOST_APART, 900 / width));
  const at = vertex => point.vertices[vertex].at.map(part => part * scale);
  const hottest = [...point.cables].sort((one, other) => other.used - one.used);
  const alike = hottest.filter(one => one.used === hottest[0].used).length - 1;
  const lines = [...point.cables].sort((one, other) => one.used - other.used).map(cable => {
    const [[x1, y1], [x2, y2]] = cable.ends.map(at);
    const bend = point.in_rows && y1 === y2 ? Math.min(2.2 * scale, 0.25 * Math.abs(x2 - x1)) : 0;
    const line = drawing("path", {d: `M${x1} ${y1}Q${(x1 + x2) / 2} ${(y1 + y2) / 2 - 2 * bend} ${x2} ${y2}`, fill: "none", "data-cable": cable.name, "data-used": cable.used.toFixed(4),
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
  const when = network.atMoment ? `At ${byId("timeline-when").textContent}: most` : "Most";
  byId("network-said").textContent = hottest[0].used === 0 ? `${when} used: none.` : `${when} used: ${cableWords(hottest[0])}${alike ? `, and ${alike} more as much` : ""}. ` +
    `${full ? `${full} of ${point.cables.length} cables are used to ${100 * FULL} % or more. ` : ""}${unused ? `${unused} of ${point.cables.length} carry nothing (dashed).` : ""}`;
  showKey(byId("network-key"), [0.05, 0.5, 1].map(part => ({color: heatOf(part), dark: heatOf(part), name: part === 0.05 ? "little used" : part === 1 ? "fully used" : "half"})));
  remember();
}

/** The timeline's moment has moved, or another point was chosen there. */
function followMoment() {
  if (isRecalling) return;
  if (network.atMoment && timelineOfNetwork() !== timeline.point) {
    const {run, point} = timelinePoint();
    const place = data.networks.findIndex(one => one.run === run && one.point === point);
    if (place >= 0) network.point = place;
    network.atMoment = place >= 0 && timelineOfNetwork() >= 0;
    offer(byId("network-point"), data.networks.map(one => one.name), network.point);
    return drawNetwork();
  }
  if (network.atMoment) drawNetwork(); else showNetworkControls();
}

function prepareNetwork() {
  keepOne("network", () => data.networks.map(one => one.name), () => network.point, point => { network.point = point; }, () => data.best.network);
  byId("network-point").addEventListener("change", event => {
    network.point = Number(event.target.value);
    showNetwork();
  });
  redrawn.push(showNetwork);
  keepYes("at", () => network.atMoment, is => { network.atMoment = is && timelineOfNetwork() >= 0; });
  byId("network-at-moment").addEventListener("change", event => {
    network.atMoment = event.target.checked;
    showNetwork();
  });
  byId("network-moment").addEventListener("input", event => {
    network.atMoment = true;
    const {value} = event.target;
    showSameTimeline();
    moveMoment(value / 1000);
  });
  followers.push(followMoment);
}
