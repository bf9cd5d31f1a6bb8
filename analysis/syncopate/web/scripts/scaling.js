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

const scaling = {measure: 0, axis: 0, setting: 0, logX: true, logY: false};
let scalingLegend = null;

function scalingAxis() {
  return data.axes[scaling.axis];
}

/** The rows of the chosen setting, by series, in the order of the axis. */
function seriesRows() {
  const axis = scalingAxis();
  const rows = axis.series.map(() => []);
  for (let row = 0; row < rowCount; ++row) if (axis.settings[row] === scaling.setting) rows[axis.series_of[row]].push(row);
  return rows.map(its => its.sort((one, other) => axis.values[one] - axis.values[other]));
}

/** The ends of a row's 95% interval of the measure, or null. */
function intervalOf(measure, row) {
  const [low, high] = [numberAt("iteration_low_s", row), numberAt("iteration_high_s", row)];
  if (low === null || high === null) return null;
  const [value, mean] = [numberAt(measure.column, row), numberAt("iteration_s", row)];
  return measure.falls ? [value * low / mean, value * high / mean] : [value * mean / high, value * mean / low];
}

/** A row's value as a line of a tooltip, exact, with what belongs to it. */
function toldValue(name, color, measure, row) {
  const interval = intervalOf(measure, row);
  const staleness = numberAt("staleness_mean", row);
  const notes = [
    interval && `95%: ${withUnit(interval[0], measure.unit)} to ${withUnit(interval[1], measure.unit)}`,
    staleness > 0 && `staleness ${plain(staleness, 3)} steps, at most ${plain(numberAt("staleness_max", row), 3)}`,
  ].filter(Boolean);
  return `<tr><td><span class="dot" style="background:${color}"></span>${escaped(name)}</td>` +
    `<td class="value">${withUnit(numberAt(measure.column, row), measure.unit)}</td><td class="more">${notes.join("<br>")}</td></tr>`;
}

function lineTip(rows, measure) {
  return hits => {
    const axis = scalingAxis();
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
  const values = seriesRows().flat().map(row => numberAt(MEASURES[scaling.measure].column, row)).filter(value => value > 0);
  return areLines() && Math.max(...values) > WIDE * Math.min(...values);
}

/** The unit in which a value axis is labelled, and its factor. */
function scaleOf(measure, rows) {
  const most = Math.max(...rows.flat().map(row => numberAt(measure.column, row) ?? 0));
  return measure.unit === "s" && most < 2 ? {unit: "ms", factor: 1000} : {unit: measure.unit, factor: 1};
}

function valueAxis(measure, rows) {
  const {unit, factor} = scaleOf(measure, rows);
  const look = axisLook();
  const values = rows.flat().flatMap(row => [numberAt(measure.column, row), measure.linear?.(numberAt("workers", row))]).filter(value => value > 0);
  return {
    ...look, ...(scaling.logY ? logarithmic(values) : {type: "value", min: 0}), name: measure.name.toLowerCase() + (unit ? ` (${unit})` : ""),
    axisLabel: {...look.axisLabel, formatter: value => plain(value * factor)},
  };
}

/** An axis from a power below all values to one above them: of 2, or of 10 where that would give too many ticks. */
function logarithmic(values) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const logBase = most < 3000 * least ? 2 : 10;
  const power = (value, round) => logBase ** round(Math.log(value) / Math.log(logBase));
  return {type: "log", logBase, min: power(least * 0.98, Math.floor), max: power(most * 1.02, Math.ceil)};
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

function lineSeries(series, rows, measure) {
  const color = shade(series);
  return {
    name: series.name, type: "line", symbol: `path://${series.path}`, symbolSize: 9, showAllSymbol: true, color,
    lineStyle: {width: 2, type: series.dash.length ? series.dash.map(length => 2 * length) : "solid"},
    itemStyle: {color, borderColor: css("page"), borderWidth: 0.8}, emphasis: {focus: "series", lineStyle: {width: 3}}, blur: {lineStyle: {opacity: 0.2}},
    data: rows.map(row => [scalingAxis().values[row], numberAt(measure.column, row)]).filter(([along, value]) => value > 0 && (along > 0 || !scaling.logX)),
  };
}

/** The intervals of a series as upright lines. */
function whiskers(series, rows, measure) {
  const known = rows.map(row => [scalingAxis().values[row], ...(intervalOf(measure, row) ?? [])]).filter(one => one.length === 3);
  return !known.length ? [] : [{
    name: series.name, type: "custom", silent: true, z: 2, tooltip: {show: false}, encode: {x: 0, y: [1, 2]}, data: known,
    renderItem(_, api) {
      const [x, low] = api.coord([api.value(0), api.value(1)]);
      const high = api.coord([api.value(0), api.value(2)])[1];
      const style = {stroke: shade(series), lineWidth: 1.2};
      const line = (x1, y1, x2, y2) => ({type: "line", shape: {x1, y1, x2, y2}, style});
      return {type: "group", children: [line(x, low, x, high), line(x - 4, low, x + 4, low), line(x - 4, high, x + 4, high)]};
    },
  }];
}

function lineOption(rows, measure) {
  const axis = scalingAxis();
  const shown = rows.map((its, place) => [axis.series[place], its]).filter(([, its]) => its.length);
  const values = [...new Set(rows.flat().map(row => axis.values[row]))].sort((one, other) => one - other);
  const look = axisLook();
  const powersOfTwo = values.every(value => Number.isInteger(Math.log2(value)));
  const spread = Math.sqrt(Math.sqrt(values[1] / values[0]));
  return {
    grid: {left: 12, right: 26, top: 40, bottom: 62, containLabel: true},
    xAxis: {
      ...look, type: scaling.logX ? "log" : "value", logBase: powersOfTwo ? 2 : 10, name: axis.name,
      nameLocation: "middle", nameGap: 26, splitLine: {show: false},
      axisLabel: {...look.axisLabel, formatter: value => withUnit(value, axis.unit), hideOverlap: true, showMinLabel: !scaling.logX, showMaxLabel: !scaling.logX},
      min: scaling.logX ? values[0] / spread : undefined, max: scaling.logX ? values.at(-1) * spread : undefined,
    },
    yAxis: {...valueAxis(measure, rows), nameTextStyle: {...look.nameTextStyle, align: "left"}},
    dataZoom: [
      {type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false},
      sliderLook({filterMode: "none", labelFormatter: value => withUnit(Number(significant(value)), axis.unit)}),
    ],
    tooltip: {trigger: "axis", axisPointer: {type: "line", snap: true, lineStyle: {color: css("edge")}, label: {show: false}}, formatter: lineTip(rows, measure)},
    series: [...linearScaling(measure, rows), ...shown.map(([series, its]) => lineSeries(series, its, measure)),
      ...shown.flatMap(([series, its]) => whiskers(series, its, measure))],
  };
}

function barOption(rows, measure) {
  const axis = scalingAxis();
  const bars = rows.flatMap((its, place) => its.map(row => ({series: axis.series[place], row}))).filter(bar => scalingLegend.isShown(bar.series.name));
  const look = axisLook();
  const {factor} = scaleOf(measure, rows);
  return {
    grid: {left: 12, right: 70, top: 10, bottom: 34, containLabel: true},
    xAxis: {...valueAxis(measure, rows), nameLocation: "middle", nameGap: 28},
    yAxis: {...look, type: "category", inverse: true, data: bars.map(bar => bar.series.name), axisTick: {show: false}, splitLine: {show: false},
      axisLabel: {...look.axisLabel, width: 200, overflow: "break"}},
    tooltip: {trigger: "item", formatter: hit => `<table class="tip">${toldValue(bars[hit.dataIndex].series.name, hit.color, measure, bars[hit.dataIndex].row)}</table>`},
    series: [{
      name: measure.name, type: "bar", barMaxWidth: 22,
      label: {show: true, position: "right", color: css("ink"), formatter: hit => plain(hit.value * factor, 3)},
      data: bars.map(({series, row}) => ({value: numberAt(measure.column, row), itemStyle: {color: shade(series)}})),
    }],
  };
}

function areLines() {
  const axis = scalingAxis();
  return new Set(axis.values.filter((_, row) => axis.settings[row] === scaling.setting)).size > 1;
}

/** What the chart shows, for who cannot see it. */
function scalingWords(rows, measure) {
  const axis = scalingAxis();
  const said = rows.flatMap((its, place) => !its.length ? [] : [`${axis.series[place].name}: ` + [...new Set([its[0], its.at(-1)])]
    .map(row => `${withUnit(numberAt(measure.column, row) ?? 0, measure.unit)} at ${axisWords(axis.values[row])}`).join(", ")]);
  return `${measure.name} by ${axis.name}, ${axis.setting_names[scaling.setting]}. ${said.join("; ")}.`;
}

const scalingChart = addChart("scaling-chart", {
  height: () => areLines() ? 430 : 80 + 30 * seriesRows().flat().length,
  option() {
    const measure = MEASURES[scaling.measure];
    const rows = seriesRows();
    const base = baseOption(scalingWords(rows, measure));
    const made = areLines() ? lineOption(rows, measure) : barOption(rows, measure);
    return {...base, ...made, tooltip: {...base.tooltip, ...made.tooltip}, legend: {show: false, selected: scalingLegend.selected()}};
  },
});

/** The controls say what is chosen; where nothing may be logarithmic there is no such choice. */
function showScaling() {
  const axis = scalingAxis();
  const rows = seriesRows();
  const values = rows.flat().map(row => axis.values[row]);
  scaling.logX &&= values.every(value => value > 0);
  byId("scaling-log-x").checked = scaling.logX;
  byId("scaling-log-x").closest("label").hidden = !areLines() || !values.every(value => value > 0);
  byId("scaling-log-y").checked = scaling.logY;
  offer(byId("scaling-setting"), axis.setting_names, scaling.setting);
  scalingLegend.show(axis.series.filter((_, place) => rows[place].length));
  scalingChart.draw();
}

function prepareScaling() {
  scalingLegend = makeLegend(byId("scaling-legend"), () => scalingChart.draw());
  scalingLegend.show(scalingAxis().series);
  offer(byId("scaling-measure"), MEASURES.map(measure => measure.name));
  offer(byId("scaling-axis"), data.axes.map(axis => axis.name));
  const choose = (id, change) => byId(id).addEventListener("change", event => { change(event.target); showScaling(); });
  const chooseData = (id, change) => choose(id, select => {
    Object.assign(scaling, change(Number(select.value)));
    scaling.logY = areWide();
  });
  chooseData("scaling-measure", measure => ({measure}));
  chooseData("scaling-axis", axis => ({axis, setting: 0, logX: true}));
  chooseData("scaling-setting", setting => ({setting}));
  scaling.logY = areWide();
  choose("scaling-log-x", box => { scaling.logX = box.checked; });
  choose("scaling-log-y", box => { scaling.logY = box.checked; });
}
