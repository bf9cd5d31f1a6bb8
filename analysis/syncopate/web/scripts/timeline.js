// What every shown worker does and what its channels carry, and the critical path, over time. Only what can be told apart is drawn.

const LANE = 22;            // pixels
const [LEFT, NARROW_LEFT] = [206, 96];     // pixels for the names of lanes
const SHORTEST_NS = 100;    // the furthest that one can zoom in
const timeline = {point: 0, rows: [], from: 0, to: 0, bySlack: false};

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

function leftOfLanes() {
  return innerWidth < 600 ? NARROW_LEFT : LEFT;
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

/** What is in sight, as [lane, start, end, slice, how many]: slices that together are no wider than a pixel are drawn as their first one. */
function slicesInSight(pixels) {
  const pixel = (timeline.to - timeline.from) / pixels;
  const found = [];
  timeline.rows.forEach((row, lane) => {
    for (let slice = firstAfter(row, timeline.from); slice < row.end.length && row.start[slice] < timeline.to; ++slice) {
      const last = found.at(-1);
      if (last?.[0] === lane && row.end[slice] - last[1] < pixel) {
        last[2] = row.end[slice];
        ++last[4];
      } else {
        found.push([lane, row.start[slice], row.end[slice], slice, 1]);
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
  const colors = timeline.bySlack ? slackClass(row.slack[slice]) : colorsOf(category, name);
  const alternate = row.critical || row.layers || category === "collective";
  return {fill: colors ? shade(colors) : css("edge"), opacity: alternate && slice % 2 ? 0.7 : 1};
}

function sliceName(row, slice) {
  const [name] = data.kinds[row.kind[slice]];
  return row.iteration[slice] < 0 || row.critical ? name : name === "iteration" ? `${name} ${row.iteration[slice]}` : `${name}, iteration ${row.iteration[slice]}`;
}

/** A slice as ECharts draws it, cut to the lanes' area. */
function drawSlice([lane, start, end, slice], area, api) {
  const row = timeline.rows[lane];
  const [left, middle] = api.coord([start, lane]);
  const width = Math.max(api.coord([end, lane])[0] - left, 0.6);
  const shape = echarts.graphic.clipRectByRect({x: left, y: middle - LANE / 2 + 2, width, height: LANE - 4}, area);
  if (!shape) return null;
  const style = sliceLook(row, slice);
  const drawn = {type: "rect", shape, style};
  if (shape.width < 34) return drawn;
  const name = {type: "text", x: shape.x + 4, y: middle, silent: true, style: {
    text: data.kinds[row.kind[slice]][0], fontSize: 10, fill: style.stroke ? css("ink") : inkOn(style.fill), verticalAlign: "middle",
    width: shape.width - 8, overflow: "truncate", ellipsis: "…"}};
  return {type: "group", children: [drawn, name]};
}

/** A slice in words. */
function sliceTip(value) {
  const [lane, start, end, slice, count] = value;
  const row = timeline.rows[lane];
  const line = (name, text) => `<tr><td>${name}</td><td class="value">${text}</td></tr>`;
  if (count > 1) return `<b>${count} slices too short to be told apart</b><br>zoom in to see them`;
  const [, category, bytes] = data.kinds[row.kind[slice]];
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
  const base = baseOption(`Timeline of ${point.name}, from ${duration(timeline.from * 1e-9, 4)} to ` +
    `${duration(timeline.to * 1e-9, 4)} after the begin of the measured window. Lanes: ` +
    `${timeline.rows.filter(row => row.named).map(row => `${row.process}, ${row.track}`).join("; ")}.`);
  return {
    ...base,
    grid: {left: leftOfLanes(), right: 16, top: 8, bottom: 58},
    xAxis: {...look, type: "value", min: from, max: to, position: "bottom", axisLabel: {
      ...look.axisLabel, hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: time => duration(Number(significant(time * 1e-9, 6)))}},
    yAxis: {...look, type: "value", min: -0.5, max: timeline.rows.length - 0.5, interval: 1, inverse: true, splitLine: {show: false},
      axisTick: {show: false}, axisLine: {show: false}, axisLabel: {show: false}},
    dataZoom: [
      {type: "inside", startValue: timeline.from, endValue: timeline.to, minValueSpan: SHORTEST_NS, filterMode: "none", zoomOnMouseWheel: true, moveOnMouseMove: true},
      sliderLook({startValue: timeline.from, endValue: timeline.to, minValueSpan: SHORTEST_NS, filterMode: "none", showDetail: false}),
    ],
    tooltip: {...base.tooltip, trigger: "item", formatter: hit => sliceTip(hit.value)},
    series: [laneNames(), slicesSeries()],
  };
}

/** The names of the lanes, left of them; the critical path's has a frame. */
function laneNames() {
  return {
    id: "lanes", type: "custom", silent: true, tooltip: {show: false}, clip: false, encode: {x: -1, y: 0}, z: 3,
    data: timeline.rows.map((_, lane) => [lane]).filter(([lane]) => timeline.rows[lane].named),
    renderItem(params, api) {
      const lane = api.value(0);
      const row = timeline.rows[lane];
      const {x, width} = params.coordSys;
      const y = api.coord([timeline.from, lane])[1];
      const text = (name, shift, fill, fontWeight) => ({type: "text", style: {text: name, x: x - 10, y: y + shift, align: "right", verticalAlign: "middle",
        fill, fontSize: x < LEFT ? 10 : 12, fontWeight, width: x - 12, overflow: "truncate", ellipsis: "…"}});
      const frame = {type: "rect", shape: {x, y: y - LANE / 2 + 0.5, width, height: LANE - 1}, style: {fill: "none", stroke: shade(data.phases.critical), lineWidth: 2}};
      const isFirst = timeline.rows[lane - 1]?.process !== row.process;
      return {type: "group", children: row.critical ? [frame, text(row.process, 0, shade(data.phases.critical), "bold")] :
        isFirst ? [text(row.process, 0, css("ink"), "bold"), text(row.track, 16, css("quiet"), "normal")] : [text(row.track, 0, css("quiet"), "normal")]};
    },
  };
}

function slicesSeries() {
  const items = slicesInSight(Math.max(200, charts["timeline-chart"].chart.getWidth() - leftOfLanes()));
  return {
    id: "slices", type: "custom", clip: true, progressive: 0, encode: {x: [1, 2], y: 0}, data: items,
    renderItem: (params, api) => drawSlice(items[params.dataIndex], params.coordSys, api),
  };
}

const timelineChart = data.timelines.length && addChart("timeline-chart", {
  renderer: "canvas",
  height: () => LANE * timeline.rows.length + 66,
  option: timelineOption,
  started(chart) {
    let asked = 0;
    chart.on("datazoom", () => {
      const {startValue, endValue} = chart.getOption().dataZoom[0];
      Object.assign(timeline, {from: startValue, to: endValue});
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(() => chart.setOption({series: [slicesSeries()]}));
    });
  },
  drawn: () => showKey(byId("timeline-key"), timeline.bySlack ? data.slack : [...timelinePhases(), ...pathKinds()]),
});

function kindsOf(rows) {
  return [...new Set(rows.flatMap(row => Array.from(row.kind)))].map(kind => data.kinds[kind]);
}

/** The phases that the workers have. */
function timelinePhases() {
  const used = new Set(kindsOf(timeline.rows).map(([, category]) => category));
  return Object.entries(data.phases).filter(([category]) => used.has(category) && category !== "critical").map(([, phase]) => phase);
}

/** What else than computing the critical path consists of. */
function pathKinds() {
  const used = new Set(kindsOf(timeline.rows.filter(row => row.critical)).map(([name]) => name.split(",")[0]));
  return data.classes.filter(one => used.has(one.name)).map(one => ({...one, name: `critical path: ${one.name}`}));
}

/** Shows another stretch, in nanoseconds, as far as there is one. */
function showStretch(from, to) {
  const [first, last] = wholeStretch();
  const length = Math.min(last - first, Math.max(SHORTEST_NS, to - from));
  timeline.from = Math.max(first, Math.min(from, last - length));
  timeline.to = timeline.from + length;
  timelineChart.draw();
}

/** Shows the part of the sight that is `scale` as long, moved by a part of its length. */
function zoomTimeline(scale, move = 0) {
  const length = timeline.to - timeline.from;
  const middle = (timeline.from + timeline.to) / 2 + move * length;
  showStretch(middle - scale * length / 2, middle + scale * length / 2);
}

function showTimeline() {
  const point = timelinePoint();
  timeline.rows = point.rows.map(decodedRow);
  const knowsSlack = timeline.rows.some(row => row.slack.some(slack => slack >= 0));
  timeline.bySlack = knowsSlack && byId("timeline-slack").checked;
  byId("timeline-slack").closest("label").hidden = !knowsSlack;
  offer(byId("timeline-point"), data.timelines.map(one => one.name), timeline.point);
  byId("timeline-cut").hidden = !point.cut;
  byId("timeline-cut").textContent = `Only the first ${point.rows.reduce((sum, row) => sum + row.slices.length / 4, 0)} slices of the measured window are here, ` +
    "which is as much as the page holds of a point; the timeline file has all of them.";
  showStretch(...firstIteration());
}

function prepareTimeline() {
  byId("timeline-point").addEventListener("change", event => {
    timeline.point = Number(event.target.value);
    showTimeline();
  });
  byId("timeline-slack").addEventListener("change", event => {
    timeline.bySlack = event.target.checked;
    timelineChart.draw();
  });
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
