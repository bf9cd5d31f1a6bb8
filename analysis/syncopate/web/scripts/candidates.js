// All candidates of an advice by their hours and by what else counts; the choice, the runner-up and the Pareto front are marked.

const UPWARDS = [{column: "cost", name: "cost"}, {column: "nodes", name: "number of nodes"}, {column: "staleness_mean", name: "staleness (steps)"}]
  .filter(measure => columns[measure.column]?.values.some(value => value > 0));
const NEAR = 6;          // pixels between candidates that a pointer does not tell apart
const MOST_NEAR = 4;     // of them that a tooltip names
const MARGIN = 0.08;     // of the chart's length, around what is shown
const SHORTEST = 1e-6;    // the furthest that one can zoom in: this part of a value
const FEW = 8;           // different values that an axis can name
const MANY = 1500;       // candidates that are faster painted than drawn

const candidates = {measure: 0, group: 0, logX: true, logY: true, sight: null, at: null};
let candidatesLegend = null;

function candidateAt(row) {
  return [numberAt("hours", row), numberAt(UPWARDS[candidates.measure].column, row)];
}

function candidateName(row) {
  const text = name => columns[name] ? cellOf(columns[name], row) : "";
  const nodes = numberAt("nodes", row);
  return `${`${text("schedule")} ${text("parameters")}`.trim()} on ${nodes} node${nodes === 1 ? "" : "s"} of ${text("cluster")}`;
}

/** What the advice says of it, as the end of its name. */
function rankWords(row) {
  const rank = columns.rank ? cellOf(columns.rank, row) : "";
  return rank && ` (${rank})`;
}

/** The rows that have a place in the chart. */
function placedRows() {
  return [...Array(rowCount).keys()].filter(row => {
    const [across, upwards] = candidateAt(row);
    return upwards !== null && (across > 0 || !candidates.logX) && (upwards > 0 || !candidates.logY);
  });
}

/** Those whose series the legend shows, by their hours. */
function candidatesInSight() {
  const group = data.groups[candidates.group];
  return placedRows().filter(row => candidatesLegend.isShown(group.series[group.series_of[row]].name)).sort((one, other) => candidateAt(one)[0] - candidateAt(other)[0]);
}

/** Of what is compared and within the limits, what no other is better than in both, by hours. */
function paretoFront() {
  const rows = placedRows().filter(row => ["compared", "within_limits"].every(name => cellOf(columns[name], row) === "yes"));
  rows.sort((one, other) => candidateAt(one)[0] - candidateAt(other)[0] || candidateAt(one)[1] - candidateAt(other)[1]);
  const front = [];
  for (const row of rows) if (!front.length || candidateAt(row)[1] < candidateAt(front.at(-1))[1]) front.push(row);
  return front;
}

/** That, and what the advice names. */
function bestRows() {
  return [...new Set([...paretoFront(), ...placedRows().filter(row => columns.rank && cellOf(columns.rank, row))])];
}

/** From a value to its place along an axis, and back. */
function alongAxis(isLog) {
  return isLog ? [Math.log, Math.exp] : [value => value, value => value];
}

/** A range of an axis that is `scale` as long; `about` stays where it is. */
function stretched(range, isLog, scale, about) {
  const [into, back] = alongAxis(isLog);
  return range.map(end => back(into(about) + scale * (into(end) - into(about))));
}

/** The ranges of both axes that show these rows. */
function sightOf(rows) {
  const places = rows.map(candidateAt);
  return [candidates.logX, candidates.logY].map((isLog, axis) => {
    const [into, back] = alongAxis(isLog);
    const ends = places.map(place => into(place[axis]));
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    const margin = MARGIN * (high - low) || 0.5 * (isLog || Math.abs(low) || 1);
    return [low - margin, high + margin].map(back);
  });
}

/** An axis, with marks at the candidates' own values where these are few. */
function candidateAxis(column, range, isLog, name) {
  const look = axisLook();
  const values = [...new Set(columns[column].values)].filter(value => value >= range[0] && value <= range[1]);
  const customValues = values.length > 1 && values.length <= FEW ? values : roundValues(range, isLog);
  return {...look, type: isLog ? "log" : "value", min: range[0], max: range[1], name,
    axisTick: {...look.axisTick, customValues}, axisLabel: {...look.axisLabel, customValues, formatter: value => plain(value), hideOverlap: true}};
}

function candidateSeries(series, rows) {
  const color = shade(series);
  return {
    name: series.name, type: "scatter", symbol: `path://${series.path}`, symbolSize: 9, color, emphasis: {scale: 1.6},
    itemStyle: {color, borderColor: css("page"), borderWidth: 0.8},
    data: rows.map(row => ({value: candidateAt(row), row, ...(cellOf(columns.within_limits, row) === "yes" ? {} : {itemStyle: {opacity: 0.3}})})),
  };
}

/** A ring around a candidate, with what it is: above it, or at that side of it where there is more room. */
function ring(row, name, size, isBeside) {
  const [[from, to]] = candidates.sight ?? sightOf(placedRows());
  const [into] = alongAxis(candidates.logX);
  const isLeft = row !== null && into(candidateAt(row)[0]) < (into(from) + into(to)) / 2;
  const position = isBeside ? (isLeft ? "right" : "left") : "top";
  return row === null || !placedRows().includes(row) ? [] : [{
    name, type: "scatter", silent: true, z: 4, symbol: "circle", symbolSize: size, tooltip: {show: false}, data: [candidateAt(row)],
    itemStyle: {color: "transparent", borderColor: css("ink"), borderWidth: size > 20 ? 2 : 1.2},
    label: {show: true, position, distance: isBeside ? 10 : 6, formatter: name, color: css("ink"), fontWeight: size > 20 ? 600 : 400, textBorderColor: css("page"), textBorderWidth: 3},
  }];
}

function frontSeries() {
  return {
    name: "Pareto front", type: "line", step: "end", silent: true, symbol: "none", z: 1, tooltip: {show: false},
    lineStyle: {color: css("quiet"), width: 1.5, type: [5, 3]}, data: paretoFront().map(candidateAt),
  };
}

/** The shown candidates that lie where this one does, as far as one can see; the best first. */
function candidatesNear(row) {
  const {chart} = charts["candidates-chart"];
  const place = other => chart.convertToPixel("grid", candidateAt(other));
  const [x, y] = place(row);
  return candidatesInSight().filter(other => other !== row && Math.hypot(place(other)[0] - x, place(other)[1] - y) <= NEAR).sort((one, other) => one - other);
}

function candidateTip(row) {
  const lines = data.columns.filter(column => column.said && cellOf(column, row) !== null && cellOf(column, row) !== "").map(column =>
    `<tr><td>${escaped(column.said)}</td><td class="value">${column.texts ? escaped(cellOf(column, row)) : withUnit(cellOf(column, row), column.unit)}</td></tr>`);
  const near = candidatesNear(row);
  const others = [...near.slice(0, MOST_NEAR).map(other => candidateName(other) + rankWords(other)), ...(near.length > MOST_NEAR ? [`${near.length - MOST_NEAR} more`] : [])];
  return `<b>${escaped(candidateName(row))}</b>${rankWords(row)}<table class="tip">${lines.join("")}</table>` +
    (others.length ? `<div class="near">also here: ${others.map(escaped).join("; ")}</div>` : "");
}

/** What the chart shows, for who cannot see it. */
function candidatesWords() {
  const {name} = UPWARDS[candidates.measure];
  const told = row => `${candidateName(row)}: ${withUnit(candidateAt(row)[0], "h")}, ${name} ${plain(candidateAt(row)[1])}`;
  const marked = [["Choice", data.choice], ["Runner-up", data.runner_up]].filter(([, row]) => placedRows().includes(row)).map(([what, row]) => `${what}: ${told(row)}.`);
  return `${placedRows().length} candidates by hours and ${name}. ${marked.join(" ")} Pareto front: ${paretoFront().map(told).join("; ")}.`;
}

function candidatesOption() {
  const group = data.groups[candidates.group];
  const members = group.series.map(() => []);
  for (const row of placedRows()) members[group.series_of[row]].push(row);
  const [across, upwards] = candidates.sight ?? sightOf(placedRows());
  const {column, name} = UPWARDS[candidates.measure];
  const base = baseOption(candidatesWords());
  const {nameTextStyle} = axisLook();
  return {
    ...base,
    grid: {left: 12, right: 26, top: 40, bottom: 34, containLabel: true},
    legend: {show: false, selected: candidatesLegend.selected()},
    xAxis: {...candidateAxis("hours", across, candidates.logX, "hours"), nameLocation: "middle", nameGap: 28},
    yAxis: {...candidateAxis(column, upwards, candidates.logY, name), nameTextStyle: {...nameTextStyle, align: "left"}},
    tooltip: {...base.tooltip, trigger: "item", formatter: hit => candidateTip(hit.data.row)},
    series: [...group.series.map((series, place) => candidateSeries(series, members[place])), frontSeries(),
      ...ring(data.choice, "choice", 24, false), ...ring(data.runner_up, "runner-up", 17, true)],
  };
}

/** A drag moves a part of the chart, the wheel with Ctrl zooms. */
function listenToPointer(chart) {
  const drawing = chart.getZr();
  const valuesAt = event => chart.convertFromPixel("grid", [event.offsetX, event.offsetY]);
  let held = null;
  drawing.on("mousewheel", event => {
    if (!event.event.ctrlKey) return;
    event.event.preventDefault();
    zoomCandidates(event.wheelDelta > 0 ? 0.8 : 1.25, valuesAt(event));
  });
  drawing.on("mousedown", event => { held = candidates.sight && valuesAt(event); });
  drawing.on("mousemove", event => held && moveCandidates(held, valuesAt(event)));
  for (const name of ["mouseup", "globalout"]) drawing.on(name, () => { held = null; });
}

const candidatesChart = addChart("candidates-chart", {
  renderer: rowCount > MANY ? "canvas" : "svg",
  height: () => innerWidth < 600 ? 360 : 460,
  option: candidatesOption,
  started: listenToPointer,
});

/** Shows a part that is `scale` as long and high; the point `about` stays where it is. */
function zoomCandidates(scale, about = candidateAt([candidates.at, data.choice].find(row => placedRows().includes(row)) ?? candidatesInSight()[0])) {
  const whole = sightOf(placedRows());
  const logs = [candidates.logX, candidates.logY];
  const sight = (candidates.sight ?? whole).map((range, axis) => stretched(range, logs[axis], scale, about[axis]));
  if (scale < 1 && sight.some(([low, high]) => high - low < SHORTEST * Math.max(Math.abs(low), Math.abs(high)))) return;
  const isWhole = whole.every(([low, high], axis) => {
    const rounding = 1e-9 * (high - low);
    return sight[axis][0] <= low + rounding && sight[axis][1] >= high - rounding;
  });
  showSight(isWhole ? null : sight);
}

/** Moves what lies at `from` to where `to` is. */
function moveCandidates(from, to) {
  showSight(candidates.sight.map((range, axis) => {
    const [into, back] = alongAxis([candidates.logX, candidates.logY][axis]);
    return range.map(end => back(into(end) + into(from[axis]) - into(to[axis])));
  }));
}

/** Shows a part of the chart; null: all of it. */
function showSight(sight) {
  candidates.sight = sight;
  candidatesChart.draw();
}

/** Goes on to the next candidate by hours, or back, and tells of it. */
function stepToCandidate(by) {
  const rows = candidatesInSight();
  const place = rows.indexOf(candidates.at ?? data.choice);
  candidates.at = rows[place < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, place + by))];
  const group = data.groups[candidates.group];
  const seriesIndex = group.series_of[candidates.at];
  const dataIndex = placedRows().filter(row => group.series_of[row] === seriesIndex).indexOf(candidates.at);
  candidatesChart.chart.dispatchAction({type: "showTip", seriesIndex, dataIndex});
  byId("candidates-said").textContent = `${candidateName(candidates.at)}: ${withUnit(candidateAt(candidates.at)[0], "h")}, ` +
    `${UPWARDS[candidates.measure].name} ${plain(candidateAt(candidates.at)[1])}`;
}

/** The controls say what is chosen; where something is 0 its axis cannot be logarithmic. */
function showCandidates() {
  const columnsShown = ["hours", UPWARDS[candidates.measure].column];
  const mayBeLog = columnsShown.map(name => columns[name].values.every(value => value === null || value > 0));
  candidates.logX &&= mayBeLog[0];
  candidates.logY &&= mayBeLog[1];
  for (const [axis, name] of ["x", "y"].entries()) {
    byId(`candidates-log-${name}`).checked = [candidates.logX, candidates.logY][axis];
    byId(`candidates-log-${name}`).closest("label").hidden = !mayBeLog[axis];
  }
  byId("candidates-best").hidden = !bestRows().length;
  byId("candidates-measure").value = candidates.measure;
  byId("candidates-group").value = candidates.group;
  candidates.sight = null;
  candidatesLegend.show(data.groups[candidates.group].series);
  candidatesChart.draw();
  remember();
}

function prepareCandidates() {
  candidatesLegend = makeLegend(byId("candidates-legend"), () => { candidatesChart.draw(); remember(); });
  candidatesLegend.show(data.groups[0].series);
  keepOne("upwards", () => UPWARDS.map(measure => measure.name), () => candidates.measure, measure => { candidates.measure = measure; });
  keepOne("colours", () => data.groups.map(group => group.name), () => candidates.group, group => { candidates.group = group; });
  keep("hidden", () => candidatesLegend.hiddenText(), text => candidatesLegend.hide(text));
  offer(byId("candidates-measure"), UPWARDS.map(measure => measure.name));
  offer(byId("candidates-group"), data.groups.map(group => group.name));
  const choose = (id, change) => byId(`candidates-${id}`).addEventListener("change", event => {
    change(event.target);
    showCandidates();
  });
  choose("measure", select => Object.assign(candidates, {measure: Number(select.value), logY: true}));
  choose("group", select => { candidates.group = Number(select.value); });
  choose("log-x", box => { candidates.logX = box.checked; });
  choose("log-y", box => { candidates.logY = box.checked; });
  const buttons = {in: () => zoomCandidates(0.5), out: () => zoomCandidates(2), whole: () => showSight(null), best: () => showSight(sightOf(bestRows()))};
  for (const [name, act] of Object.entries(buttons)) byId(`candidates-${name}`).addEventListener("click", act);
  const keys = {"+": buttons.in, "-": buttons.out, "0": buttons.whole, ArrowRight: () => stepToCandidate(1), ArrowLeft: () => stepToCandidate(-1)};
  byId("candidates-chart").addEventListener("keydown", event => {
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
}
