// What every shown worker does and what its channels carry, the critical path, and how the busiest links are used, over time. Only what can
// be told apart is drawn. Messages of collectives are in messages.js, the use of all links in use.js.

const LANE = 22;            // pixels
const MOST_LEFT = 210;      // pixels for the names of lanes
const MOST_LEFT_PART = 0.36;    // of the chart's width
const SHORTEST_NS = 100;    // the furthest that one can zoom in
// `lanes`: how many lanes there are, those of names alone included. `moment`: the time that the slider stands at. `messages`: which choice of MESSAGE_LANES.
// `leftOut`: sentences about links and messages that have no lane.
const timeline = {point: 0, rows: [], names: [], lanes: 0, from: 0, to: 0, moment: 0, bySlack: false, messages: 0, byPart: false, leftOut: []};
const MOST_LINKS = 10;      // whose use a timeline has a lane of

/** A row's slices as columns, in nanoseconds since the measured window began. */
function decodedRow(row) {
  const count = row.slices.length / 4;
  const made = {...row, kind: new Int32Array(count), iteration: new Int32Array(count), start: new Float64Array(count), end: new Float64Array(count),
    slack: new Float64Array(count)};
  let at = -timelinePoint().window[0];
  for (let slice = 0; slice < count; ++slice) {
    const [kind, iteration, gap, length] = row.slices.slice(4 * slice, 4 * slice + 4);
    made.kind[slice] = kind;
    made.iteration[slice] = iteration;
    made.start[slice] = at + gap;
    made.end[slice] = at = at + gap + length;
  }
  for (let run = 0, slice = 0; run < row.slack.length; run += 2) {
    made.slack.fill(row.slack[run + 1], slice, slice += row.slack[run]);
  }
  return made;
}

/** A link's percentages as a row: `percent` of its bandwidth from `start` to `end`. */
function decodedLink(link) {
  const used = useOf(timelinePoint(), link.name.replace(/ and others alike$/, ""));
  if (used) return {...used, process: "busiest links", track: `${link.name} (${link.of})`, named: true, link: link.name, kind: []};
  const count = Math.max(0, link.steps.length / 2 - 1);
  const made = {process: "busiest links", track: `${link.name} (${link.of})`, named: true, link: link.name, kind: [], start: new Float64Array(count),
    end: new Float64Array(count), percent: new Float64Array(count)};
  let at = -timelinePoint().window[0];
  for (let step = 0; step <= count; ++step) {
    at += link.steps[2 * step] ?? 0;
    if (step > 0) made.end[step - 1] = at;
    if (step < count) [made.start[step], made.percent[step]] = [at, link.steps[2 * step + 1]];
  }
  return made;
}

/** Gives every row its lane, and what is written left of it. A process' name has the lane of its uppermost track where that has another one below. */
function placeRows(rows) {
  let lane = 0;
  timeline.names = [];
  rows.forEach((row, place) => {
    const isFirst = rows[place - 1]?.process !== row.process;
    const isAlone = row.byLink || !rows[place + 1] || rows[place + 1].named || rows[place + 1].process !== row.process;
    if (row.critical) {
      if (isFirst) timeline.names.push({lane, text: row.process, isProcess: true, critical: true});
    } else {
      if (isFirst) timeline.names.push({lane, text: row.process, isProcess: true});
      if (isFirst && isAlone) ++lane;
      if (row.named) timeline.names.push({lane: isFirst && !isAlone ? lane + 1 : lane, text: row.link || row.byLink ? linkWords(row.track) : row.track});
    }
    row.lane = lane++;
  });
  timeline.lanes = lane;
  return rows;
}

/** The name of a link without its level, and with what both its ends are said once, so that there is room for it: switch 3–5 up. */
function linkWords(name) {
  return name.replace(/^[a-z-]+: /, "").replace(/^(\w+) (\d+) - \1 (\d+)/, "$1 $2–$3");
}

function timelinePoint() {
  return data.timelines[timeline.point];
}

/** Two times of the run as times since the measured window began. */
function stretchOf(from, to) {
  return [from - timelinePoint().window[0], to - timelinePoint().window[0]];
}

function wholeStretch() {
  return stretchOf(timelinePoint().from, timelinePoint().to);
}

function firstIteration() {
  return stretchOf(...timelinePoint().first);
}

function timelineWidth() {
  return onPaper ? PAPER_WIDTH : byId("timeline-chart").clientWidth;
}

/** Pixels for the names of lanes: as many as they need, but not most of the chart. */
function leftOfLanes() {
  const widest = Math.max(...timeline.names.map(name => textWidth(name.text, nameSize(), name.isProcess ? 700 : 400)));
  return Math.ceil(Math.min(widest + 20, MOST_LEFT, MOST_LEFT_PART * timelineWidth()));
}

function nameSize() {
  return timelineWidth() < 600 ? 10 : 12;
}

/** The first slice of a row that ends after a time. */
function firstAfter(row, time) {
  let [low, high] = [0, row.end.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.end[middle] <= time) low = middle + 1; else high = middle;
  }
  return low;
}

/** The slice of a row at a time, or -1. */
function sliceAt(row, time) {
  const slice = firstAfter(row, time);
  return slice < row.end.length && row.start[slice] <= time ? slice : -1;
}

/**
 * What is in sight, as [row, start, end, slice, how many, percent]: slices that together are no wider than a pixel are drawn as their first
 * one, and a link's as their mean.
 */
function slicesInSight(pixels) {
  const pixel = (timeline.to - timeline.from) / pixels;
  const found = [];
  timeline.rows.forEach((row, place) => {
    for (let slice = firstAfter(row, timeline.from); slice < row.end.length && row.start[slice] < timeline.to; ++slice) {
      const last = found.at(-1);
      const [start, end] = [row.start[slice], row.end[slice]];
      if (last?.[0] === place && end - last[1] < pixel) {
        if (row.link && end > last[1]) last[5] = (last[5] * (last[2] - last[1]) + row.percent[slice] * (end - start)) / (end - last[1]);
        last[2] = end;
        ++last[4];
      } else {
        found.push([place, start, end, slice, 1, row.link ? row.percent[slice] : 0]);
      }
    }
  });
  return found;
}

/** The colours of a slice's kind: on the critical path, of its class. */
function colorsOf(category, name) {
  if (category !== "critical") return data.phases[category];
  const kind = name.startsWith("layers.") ? "compute" : name.split(",")[0];
  return data.classes.find(one => one.name === kind) ?? data.phases.critical;
}

/** Of data.slack: how much that is, in parts of an iteration. Nothing where it is not known. */
function slackClass(slack) {
  const [begin, end] = timelinePoint().first;
  return slack < 0 ? null : data.slack.find(one => slack <= one.most * (end - begin)) ?? data.slack.at(-1);
}

function sliceLook(row, slice) {
  const [name, category] = data.kinds[row.kind[slice]];
  if (category === "step") return {fill: css("soft"), stroke: css("edge"), lineWidth: 1};
  if (row.messageAt) return {fill: messageColor(row.messageAt(slice))};
  const colors = timeline.bySlack ? slackClass(row.slack[slice]) : colorsOf(category, name);
  const alternate = row.critical || row.layers || category === "collective";
  return {fill: colors ? shade(colors) : css("edge"), opacity: alternate && slice % 2 ? 0.7 : 1};
}

function sliceName(row, slice) {
  const [name] = data.kinds[row.kind[slice]];
  return row.iteration[slice] < 0 || row.critical ? name : name === "iteration" ? `${name} ${row.iteration[slice]}` : `${name}, iteration ${row.iteration[slice]}`;
}

/** A slice as ECharts draws it, cut to the lanes' area; of a link a column as high as it is used. */
function drawSlice(row, [, start, end, slice, , percent], area, api) {
  const [left, middle] = api.coord([start, row.lane]);
  const width = Math.max(api.coord([end, row.lane])[0] - left, 0.6);
  const height = row.link ? Math.min(1, percent / 100) * (LANE - 3) : LANE - 4;
  const shape = echarts.graphic.clipRectByRect({x: left, y: middle + LANE / 2 - 2 - height, width, height}, area);
  if (!shape) return null;
  const style = row.link ? {fill: heatOf(percent / 100)} : sliceLook(row, slice);
  const drawn = {type: "rect", shape, style};
  if (row.link || shape.width < 34) return drawn;
  const name = {type: "text", x: shape.x + 4, y: middle, silent: true, style: {
    text: row.messageAt ? messageWords(row.messageAt(slice)) : data.kinds[row.kind[slice]][0], fontSize: 10, lineHeight: 12, fill: style.stroke ? css("ink") : inkOn(style.fill), verticalAlign: "middle",
    width: shape.width - 8, overflow: "truncate", ellipsis: "…"}};
  return {type: "group", children: [drawn, name]};
}

/** The colour of what is used to that part. */
function heatOf(part) {
  return data.heat[Math.round(Math.min(1, Math.max(0, part)) * (data.heat.length - 1))];
}

/** A slice in words. */
function sliceTip(row, [, start, end, slice, count, percentage]) {
  const line = (name, text) => `<tr><td>${name}</td><td class="value">${text}</td></tr>`;
  if (row.link) {
    return `<b>${escaped(row.track)}</b><table class="tip">${line("used", `${plain(percentage, 3)} %${count > 1 ? " in the mean" : ""}`)}${line("start", duration(start * 1e-9))}` +
      `${line("length", duration((end - start) * 1e-9))}</table>`;
  }
  if (count > 1) return `<b>${count} ${row.messageAt ? "messages" : "slices"} too short to be told apart</b><br>zoom in to see them`;
  const [, category, bytes] = data.kinds[row.kind[slice]];
  if (row.messageAt) return messageTip(row.messageAt(slice), line);
  const what = row.critical ? "critical path" : data.phases[category]?.name ?? category;
  return `<b>${escaped(sliceName(row, slice))}</b><table class="tip">${line("what", escaped(row.layers ? `layer, ${what}` : what))}` +
    line("start", duration(start * 1e-9)) + line("length", duration((end - start) * 1e-9)) +
    (bytes === null ? "" : line("bytes", `${bytes} (${prefixed(bytes, "B")})`)) +
    (row.slack[slice] < 0 ? "" : line("slack", duration(row.slack[slice] * 1e-9))) + line("where", escaped(`${row.process}, ${row.track}`)) + "</table>";
}

function timelineOption() {
  const point = timelinePoint();
  const [from, to] = wholeStretch();
  const look = axisLook();
  const {rows} = timeline;
  const base = baseOption(`Timeline of ${point.name}, from ${duration(timeline.from * 1e-9, 4)} to ` +
    `${duration(timeline.to * 1e-9, 4)} after the begin of the measured window. Lanes: ` +
    `${rows.filter(row => row.named).map(row => `${row.process}, ${row.track}`).join("; ")}.`);
  return {
    ...base,
    grid: {left: leftOfLanes(), right: 16, top: 8, bottom: 58},
    xAxis: {...look, axisLine: {...look.axisLine, onZero: false}, type: "value", min: from, max: to, position: "bottom", axisLabel: {
      ...look.axisLabel, hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: time => duration(Number(significant(time * 1e-9, 6)))}},
    yAxis: {...look, type: "value", min: -0.5, max: timeline.lanes - 0.5, interval: 1, inverse: true, splitLine: {show: false},
      axisTick: {show: false}, axisLine: {show: false}, axisLabel: {show: false}},
    dataZoom: [
      {type: "inside", startValue: timeline.from, endValue: timeline.to, minValueSpan: SHORTEST_NS, filterMode: "none", zoomOnMouseWheel: true, moveOnMouseMove: true},
      sliderLook({startValue: timeline.from, endValue: timeline.to, minValueSpan: SHORTEST_NS, filterMode: "none", showDetail: false}),
    ],
    tooltip: {...base.tooltip, trigger: "item", formatter: hit => sliceTip(rows[hit.value[0]], hit.value)},
    series: [laneNames(), slicesSeries(), momentSeries()],
  };
}

/** The names of the lanes, left of them; the critical path's has a frame. ECharts may draw a series again after another point was chosen. */
function laneNames() {
  const {names} = timeline;
  return {
    id: "lanes", type: "custom", silent: true, tooltip: {show: false}, clip: false, encode: {x: -1, y: 0}, z: 3,
    data: names.map(({lane}) => [lane]),
    renderItem(params, api) {
      const {lane, text, isProcess, critical} = names[params.dataIndex];
      const {x, width} = params.coordSys;
      const y = api.coord([timeline.from, lane])[1];
      const fill = css(isProcess ? "ink" : "quiet");
      const name = {type: "text", style: {text, x: x - 10, y, align: "right", verticalAlign: "middle", fill, fontSize: nameSize(), lineHeight: 14,
        fontWeight: isProcess ? "bold" : "normal", width: x - 12, overflow: "truncate", ellipsis: "…"}};
      const frame = {type: "rect", shape: {x, y: y - LANE / 2 + 0.5, width, height: LANE - 1}, style: {fill: "none", stroke: fill, lineWidth: 2}};
      return {type: "group", children: critical ? [frame, name] : [name]};
    },
  };
}

function slicesSeries() {
  const items = slicesInSight(Math.max(200, timelineWidth() - leftOfLanes()));
  const {rows} = timeline;
  return {
    id: "slices", type: "custom", clip: true, progressive: 0, encode: {x: [1, 2], y: 0}, data: items,
    renderItem: (params, api) => drawSlice(rows[items[params.dataIndex][0]], items[params.dataIndex], params.coordSys, api),
  };
}

/** The line at the slider's moment. */
function momentSeries() {
  const {moment} = timeline;
  return {
    id: "moment", type: "custom", silent: true, clip: true, tooltip: {show: false}, encode: {x: 0, y: -1}, z: 5, data: [[moment]],
    renderItem(params, api) {
      const {y, height} = params.coordSys;
      const [x] = api.coord([moment, 0]);
      return {type: "line", shape: {x1: x, x2: x, y1: y, y2: y + height}, style: {stroke: css("ink"), lineWidth: 1.5}};
    },
  };
}

const timelineChart = data.timelines.length && addChart("timeline-chart", {
  renderer: "canvas",
  height: () => LANE * timeline.lanes + 66,
  option: timelineOption,
  started(chart) {
    let asked = 0;
    chart.on("datazoom", () => {
      const {startValue, endValue} = chart.getOption().dataZoom[0];
      Object.assign(timeline, {from: startValue, to: endValue});
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(() => {
        chart.setOption({series: [slicesSeries()]});
        showMoment();
        remember();
      });
    });
  },
  drawn() {
    showKey(byId("timeline-key"), [...(timeline.bySlack ? data.slack : [...timelinePhases(), ...pathKinds()]), ...messageKey()]);
    showMoment();
  },
});

function kindsOf(rows) {
  return [...new Set(rows.flatMap(row => Array.from(row.kind)))].map(kind => data.kinds[kind]);
}

/** The phases that the workers have. */
function timelinePhases() {
  const used = new Set(kindsOf(timeline.rows).map(([, category]) => category));
  return Object.entries(data.phases).filter(([category]) => used.has(category) && !["critical", "message"].includes(category)).map(([, phase]) => phase);
}

/** What else than computing the critical path consists of. */
function pathKinds() {
  const used = new Set(kindsOf(timeline.rows.filter(row => row.critical)).map(([name]) => name.split(",")[0]));
  return data.classes.filter(one => used.has(one.name)).map(one => ({...one, name: `critical path: ${classWords(one.name)}`}));
}

/** What happens at the slider's moment: of each process what its tracks do, the deepest that is known of each, and how the links are used. */
function momentRows() {
  const said = new Map();
  for (const row of timeline.rows) {
    const slice = sliceAt(row, timeline.moment);
    if (slice < 0 || (!row.link && data.kinds[row.kind[slice]][1] === "step")) continue;
    if (row.byLink) continue;
    const [name, category] = row.link ? [] : data.kinds[row.kind[slice]];
    const what = row.messageAt ? messageNow(row.messageAt(slice)) : row.link ? `${plain(row.percent[slice], 3)} %` : row.layers ? `${data.phases[category]?.name ?? category} of ${name}` : name;
    said.set(row.link ? row.track : `${row.process}, ${row.track}`, what);
  }
  return [...said, ...waitsNow()];
}

function showMoment() {
  const slider = byId("timeline-moment");
  timeline.moment = Math.max(timeline.from, Math.min(timeline.to, timeline.moment));
  Object.assign(slider, {min: 0, max: 1000, step: 1, value: Math.round(1000 * (timeline.moment - timeline.from) / (timeline.to - timeline.from))});
  const when = duration(Number(significant(timeline.moment * 1e-9, 5)));
  slider.setAttribute("aria-valuetext", when);
  byId("timeline-when").textContent = when;
  slider.style.marginLeft = `${Math.max(0, leftOfLanes() - byId("timeline-when").closest("span").offsetWidth - 12)}px`;
  byId("timeline-now").tBodies[0].replaceChildren(...momentRows().map(([where, what]) =>
    element("tr", {}, element("td", {class: "text"}, where), element("td", {class: "text"}, what))));
  timelineChart.chart.setOption({series: [momentSeries()]});
  for (const follow of followers) follow();
}

const followers = [];     // what else shows the moment

/** Moves the moment to a part of what is in sight. */
function moveMoment(part) {
  timeline.moment = timeline.from + part * (timeline.to - timeline.from);
  showMoment();
  remember();
}

/** Shows another stretch, in nanoseconds, as far as there is one. */
function showStretch(from, to) {
  const [first, last] = wholeStretch();
  const length = Math.min(last - first, Math.max(SHORTEST_NS, to - from));
  timeline.from = Math.max(first, Math.min(from, last - length));
  timeline.to = timeline.from + length;
  timelineChart.draw();
  remember();
}

/** Shows the part of the sight that is `scale` as long, moved by a part of its length. */
function zoomTimeline(scale, move = 0) {
  const length = timeline.to - timeline.from;
  const middle = (timeline.from + timeline.to) / 2 + move * length;
  showStretch(middle - scale * length / 2, middle + scale * length / 2);
}

/** Chooses a point, in sight with its first iteration. */
function chooseTimeline(place) {
  timeline.point = place;
  layRows();
  [timeline.from, timeline.to] = firstIteration();
  timeline.moment = timeline.from;
}

/** Gives the point's rows their lanes, those of messages as chosen. */
function layRows() {
  const {rows, links} = timelinePoint();
  timeline.rows = placeRows([...rowsWithMessages(rows.map(decodedRow)), ...links.map(decodedLink)]);
}

function showTimeline() {
  const point = timelinePoint();
  const knowsSlack = timeline.rows.some(row => row.slack?.some(slack => slack >= 0));
  timeline.bySlack &&= knowsSlack;
  byId("timeline-slack").checked = timeline.bySlack;
  byId("timeline-slack").closest("label").hidden = !knowsSlack;
  byId("timeline-about-slack").hidden = !knowsSlack;
  byId("timeline-about-links").hidden = !point.links.length;
  const used = Object.keys(usesOf(point)).length;
  byId("timeline-about-links").textContent = `A link's lane is as high as it is used.${used > MOST_LINKS ? ` Lanes of ${MOST_LINKS} of ${used} links: the busiest; links that are used alike share one.` : ""}`;
  showMessages();
  offer(byId("timeline-point"), data.timelines.map(one => one.name), timeline.point);
  byId("timeline-cut").hidden = !point.cut && !point.leftOut;
  const cut = `Only the first ${point.rows.reduce((sum, row) => sum + row.slices.length / 4, 0)} slices of the measured window are here, ` +
    "which is as much as the page holds of a point; the timeline file has all of them.";
  byId("timeline-cut").textContent = [point.leftOut, point.cut ? cut : ""].filter(Boolean).join(" ");
  showStretch(timeline.from, timeline.to);
}

function isWholeFirst() {
  const [from, to] = firstIteration();
  return Math.abs(timeline.from - from) < 1 && Math.abs(timeline.to - to) < 1;
}

function prepareTimeline() {
  keepOne("timeline", () => data.timelines.map(one => one.name), () => timeline.point, chooseTimeline, () => data.best.timeline);
  keep("stretch", () => isWholeFirst() ? "" : `${Math.round(timeline.from)}-${Math.round(timeline.to)}`, text => {
    const [from, to] = rangeIn(text) ?? [timeline.from, timeline.to];
    Object.assign(timeline, {from, to});
  });
  keep("moment", () => timeline.moment > timeline.from ? String(Math.round(timeline.moment)) : "", text => {
    timeline.moment = Number.isFinite(Number(text)) && text !== "" ? Number(text) : timeline.from;
  });
  prepareMessages();
  keepYes("slack", () => timeline.bySlack, is => { timeline.bySlack = is; });
  byId("timeline-point").addEventListener("change", event => {
    chooseTimeline(Number(event.target.value));
    showTimeline();
  });
  byId("timeline-slack").addEventListener("change", event => {
    timeline.bySlack = event.target.checked;
    timelineChart.draw();
    remember();
  });
  byId("timeline-moment").addEventListener("input", event => moveMoment(event.target.value / 1000));
  const moves = {in: [0.5], out: [2], left: [1, -0.5], right: [1, 0.5]};
  for (const [name, move] of Object.entries(moves)) byId(`timeline-${name}`).addEventListener("click", () => zoomTimeline(...move));
  byId("timeline-iteration").addEventListener("click", () => showStretch(...firstIteration()));
  byId("timeline-whole").addEventListener("click", () => showStretch(...wholeStretch()));
  const keys = {"+": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right"};
  byId("timeline-chart").addEventListener("keydown", event => {
    if (!keys[event.key]) return;
    event.preventDefault();
    zoomTimeline(...moves[keys[event.key]]);
  });
}
