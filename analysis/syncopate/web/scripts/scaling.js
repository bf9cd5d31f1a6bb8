// How fast each choice is along a swept key: lines, or bars where there is one value.

const MEASURES = [
  {column: "iteration_s", name: "Iteration time", unit: "s", falls: true},
  {column: "speedup", name: "Speedup over one worker", unit: "", linear: workers => workers},
  {column: "efficiency", name: "Efficiency (speedup / workers)", unit: "", linear: () => 1},
  {column: "throughput_samples_per_s", name: "Throughput", unit: "samples/s"},
  {column: "total_h", name: "Hours of training", unit: "h", falls: true},
  {column: "epoch_s", name: "Time of an epoch", unit: "s", falls: true},
].filter(measure => columns[measure.column].values.some(value => value !== null));

const WIDE = 8;     // largest over smallest value, from which on a logarithmic axis shows more

const MOST_PANELS = 4;  // settings that are shown side by side at first
const PANEL_WIDTH = 200;   // pixels that a panel needs beside another one
const PANEL_HEIGHT = 300;  // of each of several panels below each other
const ONE_HEIGHT = 390;    // of those beside each other
const MOST_DRAWN = 10;     // times its value, up to which an interval is drawn
const SLIDER = 40;         // height of the slider below them
const FEW_TICKS = 9;       // different values of an axis that are its marks
const SAME_LINE = 0.01;    // relative difference up to which lines lie on each other
const ROUNDING = 1e-6;     // of a value
const DASH = 7;            // pixels of each colour where they do

// `facet`: 0, or one more than the number of the key that is spread over panels. `setting`: its number; one more than the last for all of them;
// with a facet, the number of what all other keys are. `zoom`: the shown part of the axis, in percent.
const scaling = {measure: 0, axis: 0, facet: 0, setting: 0, logX: true, logY: false, zoom: [0, 100]};
let scalingLegend = null;

function scalingAxis() {
  return data.axes[scaling.axis];
}

/** The key that is spread over panels, or null. */
function facetOf(axis = scalingAxis()) {
  return axis.facets[scaling.facet - 1] ?? null;
}

/** A setting as a panel, {name, holds(row)}. */
function settingPanel(axis, setting) {
  return {name: axis.setting_names[setting], holds: row => axis.settings[row] === setting};
}

/** What is shown beside each other: the values of a key, or settings. */
function shownPanels() {
  const axis = scalingAxis();
  const facet = facetOf();
  if (facet) {
    return facet.names.map((name, value) => ({name, holds: row => facet.of[row] === value && facet.rest_of[row] === scaling.setting}))
      .filter(panel => axis.values.some((_, row) => panel.holds(row)));
  }
  const count = axis.setting_names.length;
  return scaling.setting < count ? [settingPanel(axis, scaling.setting)] : everySetting(axis);
}

function everySetting(axis) {
  return axis.setting_names.map((_, setting) => settingPanel(axis, setting));
}

/** The settings of an axis at first: all of them where they fit beside each other. */
function firstSetting(axis) {
  const count = axis.setting_names.length;
  return count > 1 && count <= MOST_PANELS && everySetting(axis).every(panel => isLine(axis, panel)) ? count : 0;
}

/** The rows of a panel, by series, in the order of the axis. */
function seriesRows(panel) {
  const axis = scalingAxis();
  const rows = axis.series.map(() => []);
  for (let row = 0; row < rowCount; ++row) if (panel.holds(row)) rows[axis.series_of[row]].push(row);
  return rows.map(its => its.sort((one, other) => axis.values[one] - axis.values[other]));
}

/** The rows that are shown, by panel and series. */
function panelRows() {
  return shownPanels().map(panel => seriesRows(panel));
}

/** Whether a row's interval is its range over usual networks. */
function isUsual(row) {
  return numberAt("iteration_fast_s", row) !== null;
}

/** The ends of a row's range of the measure over usual networks, or else of its 95% interval, or null. */
function intervalOf(measure, row) {
  const [low, high] = (isUsual(row) ? ["fast", "slow"] : ["low", "high"]).map(end => numberAt(`iteration_${end}_s`, row));
  if (low === null || high === null) return null;
  const [value, mean] = [numberAt(measure.column, row), numberAt("iteration_s", row)];
  return measure.falls ? [value * low / mean, value * high / mean] : [value * mean / high, value * mean / low];
}

/** A row's value as a line of a tooltip, exact, with what belongs to it. */
function toldValue(name, color, measure, row) {
  const interval = intervalOf(measure, row);
  const staleness = numberAt("staleness_mean", row);
  const notes = [
    interval && `${isUsual(row) ? "usual networks" : "95%"}: ${withUnit(interval[0], measure.unit)} ${Number.isFinite(interval[1]) ? `to ${withUnit(interval[1], measure.unit)}` : "or more"}`,
    staleness > 0 && `staleness ${plain(staleness, 3)} steps, at most ${plain(numberAt("staleness_max", row), 3)}`,
  ].filter(Boolean);
  return `<tr><td><span class="dot" style="background:${color}"></span>${escaped(name)}</td>` +
    `<td class="value">${withUnit(numberAt(measure.column, row), measure.unit)}</td><td class="more">${notes.join("<br>")}</td></tr>`;
}

function lineTip(panels, measure) {
  return hits => {
    const axis = scalingAxis();
    const rows = panels[hits[0].axisIndex];
    const along = hits[0].value[0];
    const lines = axis.series.flatMap((series, place) => rows[place].filter(row => axis.values[row] === along && scalingLegend.isShown(series.name))
      .map(row => ({value: numberAt(measure.column, row), text: toldValue(series.name, shade(series), measure, row)})));
    lines.sort((one, other) => measure.falls ? one.value - other.value : other.value - one.value);
    return `<b>${axisWords(along)}</b><table class="tip">${lines.map(line => line.text).join("")}</table>`;
  };
}

/** A value along the axis in words: 64 nodes, or bandwidth 1 Gb/s. */
function axisWords(value) {
  const axis = scalingAxis();
  return axis.name === "nodes" ? `${value} node${value === 1 ? "" : "s"}` : `${escaped(axis.name)} ${withUnit(value, axis.unit)}`;
}

/** Whether the values differ so much that only a logarithmic axis shows all of them. */
function areWide() {
  const values = panelRows().flat(2).map(row => numberAt(MEASURES[scaling.measure].column, row)).filter(value => value > 0);
  return areLines() && Math.max(...values) > WIDE * Math.min(...values);
}

function mayBeLogX() {
  return panelRows().flat(2).every(row => scalingAxis().values[row] > 0);
}

/** Whether there is anything to see along any axis. */
function scalesAtAll() {
  return data.axes.some(axis => everySetting(axis).some(panel => isLine(axis, panel)));
}

/** The unit in which a value axis is labelled, and its factor. */
function scaleOf(measure, panels) {
  const most = Math.max(...panels.flat(2).map(row => numberAt(measure.column, row) ?? 0));
  return measure.unit === "s" && most < 2 ? {unit: "ms", factor: 1000} : {unit: measure.unit, factor: 1};
}

function valueAxis(measure, panels) {
  const {unit, factor} = scaleOf(measure, panels);
  const look = axisLook();
  const values = panels.flat(2).flatMap(row => [numberAt(measure.column, row), measure.linear?.(numberAt("workers", row))]).filter(value => value > 0);
  const isLog = scaling.logY && areLines();
  const range = isLog ? logarithmic(values) : linear([...values, ...panels.flat(2).map(row => drawnInterval(measure, row)[1] ?? 0)], panels.length > 1);
  const marks = isLog ? {customValues: roundValues([range.min * factor, range.max * factor], true).map(value => value / factor)} : {};
  return {
    ...look, ...range, name: measure.name.toLowerCase() + (unit ? ` (${unit})` : ""), axisTick: {...look.axisTick, ...marks},
    axisLabel: {...look.axisLabel, ...marks, formatter: value => plain(value * factor)},
  };
}

/** A logarithmic axis that shows all values, from a round one to a round one, which it has marks at in spite of rounding. */
function logarithmic(values) {
  const [least, most] = [Math.min(...values) * 0.98, Math.max(...values) * 1.02];
  const power = 10 ** Math.floor(Math.log10(least));
  const top = 10 ** Math.floor(Math.log10(most));
  const [low, high] = [power * [5, 2, 1].find(digit => digit * power <= least), top * [1, 2, 5, 10].find(digit => digit * top >= most)];
  return {type: "log", min: low * (1 - ROUNDING), max: high * (1 + ROUNDING)};
}

/** An axis from 0; `together`: with the same end beside others. */
function linear(values, together) {
  const most = Math.max(...values);
  const step = 10 ** Math.floor(Math.log10(most)) / 2;
  return {type: "value", min: 0, max: together ? Math.ceil(most / step) * step : undefined};
}

/** Linear scaling, where the measure has it and workers follow from the axis. */
function linearScaling(measure, rows) {
  if (!measure.linear) return [];
  const workers = new Map(rows.flat().map(row => [scalingAxis().values[row], numberAt("workers", row)]));
  return [{
    name: "linear scaling", type: "line", symbol: "none", silent: true, z: 1, lineStyle: {color: css("edge"), width: 1.5}, tooltip: {show: false},
    data: [...workers].sort((one, other) => one[0] - other[0]).map(([along, count]) => [along, measure.linear(count)]),
  }];
}

/** Of each of the series that are shown, {place, count}: which it is of how many whose lines lie on each other. */
function tiesOf(rows, measure) {
  const {values, series} = scalingAxis();
  const groups = [];
  rows.forEach((its, number) => {
    if (!its.length || !scalingLegend.isShown(series[number].name)) return;
    const line = new Map(its.map(row => [values[row], numberAt(measure.column, row)]));
    const lies = ({line: other}) => line.size === other.size && [...line].every(([along, value]) => Math.abs(value - other.get(along)) <= SAME_LINE * Math.abs(value));
    const group = groups.find(lies);
    if (group) group.members.push(number); else groups.push({line, members: [number]});
  });
  const ties = new Map();
  for (const {members} of groups) members.forEach((number, place) => ties.set(number, {place, count: members.length}));
  return ties;
}

/** A line; of those that lie on each other each has its part of the dashes, and markers beside each other's. */
function lineSeries(series, rows, measure, {place, count} = {place: 0, count: 1}) {
  const color = shade(series);
  const dashes = count > 1 ? {type: [DASH, DASH * (count - 1)], dashOffset: -DASH * place, cap: "butt"} :
    {type: series.dash.length ? series.dash.map(length => 2 * length) : "solid"};
  return {
    name: series.name, type: "line", symbol: `path://${series.path}`, symbolSize: 9, showAllSymbol: true, color,
    lineStyle: {width: count > 1 ? 2.5 : 2, ...dashes}, symbolOffset: [(place - (count - 1) / 2) * 9, 0],
    itemStyle: {color, borderColor: css("page"), borderWidth: 0.8}, emphasis: {focus: "series", lineStyle: {width: 3}}, blur: {lineStyle: {opacity: 0.2}},
    data: rows.map(row => [scalingAxis().values[row], numberAt(measure.column, row)]).filter(([along, value]) => value > 0 && (along > 0 || !scaling.logX)),
  };
}

/** The ends of a row's interval as they are drawn: a lower one may be 0, which no logarithmic axis has, and an upper one infinite. */
function drawnInterval(measure, row) {
  const value = numberAt(measure.column, row);
  const interval = intervalOf(measure, row);
  return interval === null ? [] : [scaling.logY ? Math.max(interval[0], value / 1e6) : interval[0], Math.min(interval[1], MOST_DRAWN * value)];
}

/** The intervals of a series as upright lines. */
function whiskers(series, rows, measure) {
  const known = rows.map(row => [scalingAxis().values[row], ...drawnInterval(measure, row)]).filter(one => one.length === 3);
  return !known.length ? [] : [{
    name: series.name, type: "custom", silent: true, z: 2, clip: true, tooltip: {show: false}, encode: {x: 0, y: [1, 2]}, data: known,
    renderItem(_, api) {
      const [x, low] = api.coord([api.value(0), api.value(1)]);
      const high = api.coord([api.value(0), api.value(2)])[1];
      const style = {stroke: shade(series), lineWidth: 1.2};
      const line = (x1, y1, x2, y2) => ({type: "line", shape: {x1, y1, x2, y2}, style});
      return {type: "group", children: [line(x, low, x, high), line(x - 4, low, x + 4, low), line(x - 4, high, x + 4, high)]};
    },
  }];
}

/** How many panels stand beside each other: as many as have room, in rows that are about equally long. */
function panelColumns(count) {
  const most = Math.max(1, Math.min(count, Math.floor(chartWidth() / PANEL_WIDTH)));
  return Math.ceil(count / Math.ceil(count / most));
}

function panelLines(count) {
  return Math.ceil(count / panelColumns(count));
}

function chartWidth() {
  return onPaper ? PAPER_WIDTH : byId("scaling-chart").clientWidth;
}

function panelWidth(count) {
  return chartWidth() / panelColumns(count);
}

/** The height of so many panels, without the room of the slider. */
function panelsHeight(count) {
  const rows = panelLines(count);
  return rows === 1 ? ONE_HEIGHT : rows * PANEL_HEIGHT;
}

/** The places of the panels, in pixels. */
function grids(count) {
  const columns = panelColumns(count);
  const lines = panelLines(count);
  const height = panelsHeight(count) / lines;
  const width = chartWidth();
  return [...Array(count).keys()].map(place => ({
    left: 12 + place % columns * width / columns, right: (columns === 1 ? 26 : 12) + (columns - 1 - place % columns) * width / columns,
    top: (count > 1 ? 58 : 40) + Math.floor(place / columns) * height, bottom: SLIDER + 22 + (lines - 1 - Math.floor(place / columns)) * height,
    containLabel: true,
  }));
}

function alongAxis(values) {
  const axis = scalingAxis();
  const look = axisLook();
  const spread = Math.sqrt(Math.sqrt(values[1] / values[0]));
  const range = [values[0] / spread, values.at(-1) * spread];
  const marks = values.length <= FEW_TICKS ? {customValues: values} : scaling.logX ? {customValues: roundValues(range, true)} : {};
  return {
    ...look, type: scaling.logX ? "log" : "value", name: axis.name, nameLocation: "middle", nameGap: 26, splitLine: {show: false},
    axisTick: {...look.axisTick, ...marks},
    axisLabel: {...look.axisLabel, ...marks, formatter: value => withUnit(value, axis.unit), hideOverlap: true},
    min: scaling.logX ? range[0] : undefined, max: scaling.logX ? range[1] : undefined,
  };
}

/** A panel for each setting, with the same axes. */
function lineOption(panels, measure) {
  const axis = scalingAxis();
  const values = [...new Set(panels.flat(2).map(row => axis.values[row]))].sort((one, other) => one - other);
  const upwards = valueAxis(measure, panels);
  const places = grids(panels.length);
  const columns = panelColumns(panels.length);
  const shown = shownPanels();
  const every = [...panels.keys()];
  return {
    grid: places,
    title: panels.length === 1 ? undefined : places.map((grid, place) => ({
      text: shown[place].name, left: grid.left, top: grid.top - 58,
      textStyle: {color: css("ink"), fontSize: 13, lineHeight: 16, width: panelWidth(panels.length) - 24, overflow: "break"}})),
    xAxis: panels.map((_, place) => ({...alongAxis(values), gridIndex: place})),
    yAxis: panels.map((_, place) => ({...upwards, gridIndex: place, name: place % columns ? "" : upwards.name,
      nameTextStyle: {...upwards.nameTextStyle, align: "left"}})),
    dataZoom: [
      {type: "inside", start: scaling.zoom[0], end: scaling.zoom[1], xAxisIndex: every, filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false},
      sliderLook({start: scaling.zoom[0], end: scaling.zoom[1], xAxisIndex: every, left: 44, right: 26, filterMode: "none", labelFormatter: value => withUnit(Number(significant(value)), axis.unit)}),
    ],
    tooltip: {trigger: "axis", axisPointer: {type: "line", snap: true, lineStyle: {color: css("edge")}, label: {show: false}}, formatter: lineTip(panels, measure)},
    series: panels.flatMap((rows, place) => {
      const shown = rows.map((its, number) => [axis.series[number], its, number]).filter(([, its]) => its.length);
      const ties = tiesOf(rows, measure);
      return [...linearScaling(measure, rows), ...shown.map(([series, its, number]) => lineSeries(series, its, measure, ties.get(number))),
        ...shown.flatMap(([series, its]) => whiskers(series, its, measure))].map(one => ({...one, xAxisIndex: place, yAxisIndex: place}));
    }),
  };
}

function shownBars([rows]) {
  return rows.flatMap((its, place) => its.map(row => ({series: scalingAxis().series[place], row}))).filter(bar => scalingLegend.isShown(bar.series.name));
}

function barOption(panels, measure) {
  const bars = shownBars(panels);
  const names = bars.map(bar => bar.series.name);
  const {factor} = scaleOf(measure, panels);
  return {
    grid: {left: 12, right: 70, top: 10, bottom: 34, containLabel: true},
    xAxis: {...valueAxis(measure, panels), nameLocation: "middle", nameGap: 28},
    yAxis: barAxis(names, barNames(names, chartWidth())),
    tooltip: {trigger: "item", formatter: hit => `<table class="tip">${toldValue(bars[hit.dataIndex].series.name, hit.color, measure, bars[hit.dataIndex].row)}</table>`},
    series: [{
      name: measure.name, type: "bar", barMaxWidth: 22,
      label: {show: true, position: "right", color: css("ink"), formatter: hit => plain(hit.value * factor, 3)},
      data: bars.map(({series, row}) => ({value: numberAt(measure.column, row), itemStyle: {color: shade(series)}})),
    }],
  };
}

function isLine(axis, panel) {
  return new Set(axis.values.filter((_, row) => panel.holds(row))).size > 1;
}

/** Whether what is shown has lines. Beside others of its key a panel may have one point alone. */
function areLines() {
  return facetOf() !== null || shownPanels().every(panel => isLine(scalingAxis(), panel));
}

/** What the chart shows, for who cannot see it. */
function scalingWords(panels, measure) {
  return panels.map((rows, place) => panelWords(shownPanels()[place].name, rows, measure)).join(" ");
}

function panelWords(name, rows, measure) {
  const axis = scalingAxis();
  const said = rows.flatMap((its, place) => !its.length ? [] : [`${axis.series[place].name}: ` + [...new Set([its[0], its.at(-1)])]
    .map(row => `${withUnit(numberAt(measure.column, row) ?? 0, measure.unit)} at ${axisWords(axis.values[row])}`).join(", ")]);
  return `${measure.name} by ${axis.name}, ${name}. ${said.join("; ")}.`;
}

/** Says only of what is there what it means. */
function showScalingCaptions() {
  const measure = MEASURES[scaling.measure];
  const rows = panelRows().flat(2);
  byId("scaling-about-names").hidden = scalingAxis().series.length < 2;
  byId("scaling-about-speedup").hidden = !/speedup|efficiency/.test(measure.column);
  byId("scaling-about-linear").hidden = !measure.linear || !areLines();
  byId("scaling-about-intervals").textContent = rows.some(isUsual)
    ? "Upright lines are ranges over usual networks, or else 95% intervals." : "Upright lines are 95% intervals.";
  byId("scaling-about-intervals").hidden = !areLines() || rows.every(row => intervalOf(measure, row) === null);
  byId("scaling-about-ties").hidden = !areLines() || !panelRows().some(its => [...tiesOf(its, measure).values()].some(tie => tie.count > 1));
  byId("scaling-about-zoom").hidden = !areLines();
  byId("scaling-title").textContent = scalingAxis().name === "nodes" ? "How it scales" : `By ${scalingAxis().name}`;
}

const scalingChart = scalesAtAll() && addChart("scaling-chart", {
  started: chart => chart.on("datazoom", () => {
    const {start, end} = chart.getOption().dataZoom[0];
    scaling.zoom = [start, end];
    remember();
  }),
  drawn: showScalingCaptions,
  height() {
    const panels = panelRows();
    if (areLines()) return panelsHeight(panels.length) + SLIDER;
    const names = shownBars(panels).map(bar => bar.series.name);
    return 80 + barNames(names, chartWidth()).height * names.length;
  },
  option() {
    const measure = MEASURES[scaling.measure];
    const panels = panelRows();
    const base = baseOption(scalingWords(panels, measure));
    const made = areLines() ? lineOption(panels, measure) : barOption(panels, measure);
    return {...base, ...made, tooltip: {...base.tooltip, ...made.tooltip}, legend: {show: false, selected: scalingLegend.selected()}};
  },
});

/** The controls say what is chosen; where nothing may be logarithmic there is no such choice. */
function showScaling() {
  byId("scaling").hidden = !scalingChart;
  if (!scalingChart) return;
  byId("scaling-measure").value = scaling.measure;
  byId("scaling-axis").value = scaling.axis;
  const axis = scalingAxis();
  const panels = panelRows();
  scaling.logX &&= mayBeLogX();
  byId("scaling-log-x").checked = scaling.logX;
  byId("scaling-log-x").closest("label").hidden = !areLines() || !mayBeLogX();
  byId("scaling-log-y").checked = scaling.logY;
  byId("scaling-log-y").closest("label").hidden = !areLines();
  offer(byId("scaling-facet"), ["nothing", ...axis.facets.map(facet => facet.name)], scaling.facet);
  const together = axis.setting_names.length > 1 && everySetting(axis).every(panel => isLine(axis, panel)) ? ["all, side by side"] : [];
  offer(byId("scaling-setting"), facetOf()?.rest_names ?? [...axis.setting_names, ...together], scaling.setting);
  scalingLegend.show(axis.series.filter((_, place) => panels.some(rows => rows[place].length)));
  scalingChart.draw();
  remember();
}

function prepareScaling() {
  if (!scalingChart) return;
  scalingLegend = makeLegend(byId("scaling-legend"), () => { scalingChart.draw(); remember(); });
  keepOne("show", () => MEASURES.map(measure => measure.column), () => scaling.measure, measure => { scaling.measure = measure; });
  keepOne("along", () => data.axes.map(axis => axis.name), () => scaling.axis, axis => { scaling.axis = axis; });
  keepOne("panels", () => ["nothing", ...scalingAxis().facets.map(facet => facet.name)], () => scaling.facet, facet => { scaling.facet = facet; });
  keepOne("on", () => facetOf()?.rest_names ?? [...scalingAxis().setting_names, "all"], () => scaling.setting, setting => {
    scaling.setting = setting;
    scalingLegend.show(scalingAxis().series);
  }, () => facetOf() ? 0 : firstSetting(scalingAxis()));
  keepYes("log-x", () => scaling.logX, is => { scaling.logX = is; }, mayBeLogX);
  keepYes("log-y", () => scaling.logY, is => { scaling.logY = is; }, areWide);
  keep("hidden", () => scalingLegend.hiddenText(), text => scalingLegend.hide(text));
  keep("zoom", () => scaling.zoom[0] > 0 || scaling.zoom[1] < 100 ? scaling.zoom.map(end => plain(end)).join("-") : "", text => {
    const [from, to] = rangeIn(text) ?? [0, 100];
    scaling.zoom = [Math.max(0, from), Math.min(100, to)];
  });
  offer(byId("scaling-measure"), MEASURES.map(measure => measure.name));
  offer(byId("scaling-axis"), data.axes.map(axis => axis.name));
  const choose = (id, change) => byId(id).addEventListener("change", event => { change(event.target); showScaling(); });
  const chooseData = (id, change) => choose(id, select => {
    Object.assign(scaling, change(Number(select.value)));
    scaling.logY = areWide();
  });
  chooseData("scaling-measure", measure => ({measure}));
  chooseData("scaling-axis", axis => ({axis, facet: 0, setting: firstSetting(data.axes[axis]), logX: true, zoom: [0, 100]}));
  chooseData("scaling-facet", facet => ({facet, setting: facet ? 0 : firstSetting(scalingAxis())}));
  chooseData("scaling-setting", setting => ({setting}));
  choose("scaling-log-x", box => { scaling.logX = box.checked; });
  choose("scaling-log-y", box => { scaling.logY = box.checked; });
}
