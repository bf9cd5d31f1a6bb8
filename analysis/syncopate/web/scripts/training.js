// Loss and error of every schedule against simulated time and against gradients, with the band of the seeds.

const TRAINING_MEASURES = [
  {curve: "loss", name: data.loss, of: value => value, isTarget: setting => !setting.target_is_accuracy},
  {curve: "accuracy", name: "test error (1 − accuracy)", of: value => 1 - value, isTarget: setting => setting.target_is_accuracy},
];
const TRAINING_AXES = [
  {along: "seconds", name: "simulated time", factor: seconds => seconds >= 7200 ? {unit: "h", factor: 1 / 3600} : seconds >= 120 ? {unit: "min", factor: 1 / 60} : {unit: "s", factor: 1}},
  {along: "gradients", name: "gradients of all workers", factor: () => ({unit: "", factor: 1})},
  {along: "samples", name: "samples", factor: () => ({unit: "", factor: 1})},
];

const training = {setting: 0, measure: 0, axis: 0, logX: false, logY: true};
let trainingLegend = null;

function trainingSetting() {
  return data.settings[training.setting];
}

/** The unit across, and its factor, which all curves of the setting share. */
function trainingUnit() {
  const axis = TRAINING_AXES[training.axis];
  return axis.factor(Math.max(...trainingSetting().records.map(record => data.curves[record][axis.along].at(-1))));
}

/** [across, mean, least, largest] of each place of a record that has a place in the chart. */
function trainingPoints(record) {
  const {along} = TRAINING_AXES[training.axis];
  const {curve, of} = TRAINING_MEASURES[training.measure];
  const {factor} = trainingUnit();
  const bands = data.curves[record][curve];
  const points = data.curves[record][along].map((across, place) => bands.mean[place] === null ? null
    : [across * factor, ...[of(bands.mean[place]), ...[of(bands.low[place]), of(bands.high[place])].sort((one, other) => one - other)]]);
  return points.filter(point => point && (point[0] > 0 || !training.logX) && (point[1] > 0 || !training.logY))
    .map(([across, mean, low, high]) => [across, mean, training.logY ? Math.max(low, mean / 100) : low, high]);
}

function trainingLine(record) {
  const series = data.series[record];
  const color = shade(series);
  return {
    name: series.name, type: "line", symbol: `path://${series.path}`, symbolSize: 7, showSymbol: false, color,
    lineStyle: {width: 2, type: series.dash.length ? series.dash.map(length => 2 * length) : "solid"},
    itemStyle: {color}, emphasis: {focus: "series", lineStyle: {width: 3}}, blur: {lineStyle: {opacity: 0.2}},
    data: trainingPoints(record).map(([across, mean]) => [across, mean]),
  };
}

/** From the least of the seeds to the largest. */
function trainingBand(record) {
  const points = trainingPoints(record);
  const series = data.series[record];
  return {
    name: series.name, type: "custom", silent: true, z: 1, clip: true, tooltip: {show: false}, color: shade(series), data: points.slice(0, 1).map(point => point.slice(0, 2)),
    renderItem(_, api) {
      const edge = place => points.map(point => api.coord([point[0], point[place]]));
      return {type: "polygon", shape: {points: [...edge(2), ...edge(3).reverse()]}, style: {fill: shade(series), opacity: 0.14}};
    },
  };
}

function trainingTarget() {
  const setting = trainingSetting();
  const {of, isTarget} = TRAINING_MEASURES[training.measure];
  const at = of(setting.target);
  return !isTarget(setting) || (training.logY && at <= 0) ? [] : [{
    name: "target", type: "line", data: [], silent: true, tooltip: {show: false},
    markLine: {silent: true, symbol: "none", animation: false, lineStyle: {color: css("edge"), width: 1.5, type: "solid"}, data: [{yAxis: at}],
      label: {formatter: "target", position: "insideEndTop", color: css("quiet")}},
  }];
}

/** The value of a record's curve at a place across, on a straight line between its points; null beyond them. */
function trainingAt(record, across) {
  const points = trainingPoints(record);
  const after = points.findIndex(point => point[0] >= across);
  if (after < 0 || (after === 0 && points[0][0] > across)) return null;
  if (after === 0) return points[0].slice(1);
  const [one, other] = [points[after - 1], points[after]];
  const part = (across - one[0]) / (other[0] - one[0] || 1);
  return [1, 2, 3].map(place => one[place] + part * (other[place] - one[place]));
}

function trainingTip(hits) {
  const across = hits[0].axisValue;
  const {unit} = trainingUnit();
  const rows = trainingSetting().records.filter(record => trainingLegend.isShown(data.series[record].name))
    .map(record => ({series: data.series[record], found: trainingAt(record, across)})).filter(row => row.found);
  rows.sort((one, other) => one.found[0] - other.found[0]);
  const lines = rows.map(({series, found: [mean, low, high]}) => `<tr><td><span class="dot" style="background:${shade(series)}"></span>${escaped(series.name)}</td>` +
    `<td class="value">${plain(mean, 4)}</td><td class="more">${plain(low, 4)} to ${plain(high, 4)}</td></tr>`);
  return `<b>${TRAINING_AXES[training.axis].name} ${withUnit(Number(across.toPrecision(4)), unit === "s" ? "" : unit)}${unit === "s" ? " s" : ""}</b><table class="tip">${lines.join("")}</table>`;
}

/** What the chart shows, for who cannot see it. */
function trainingWords() {
  const {name} = TRAINING_MEASURES[training.measure];
  const ends = trainingSetting().records.map(record => ({name: data.series[record].name, end: trainingPoints(record).at(-1)})).filter(one => one.end);
  return `${name} against ${TRAINING_AXES[training.axis].name}, ${trainingSetting().name}. At the end: ${ends.map(one => `${one.name} ${plain(one.end[1], 3)}`).join("; ")}.`;
}

const trainingChart = addChart("training-chart", {
  height: () => innerWidth < 600 ? 380 : 470,
  option() {
    const base = baseOption(trainingWords());
    const look = axisLook();
    const axis = TRAINING_AXES[training.axis];
    const {unit} = trainingUnit();
    const records = trainingSetting().records;
    const values = records.flatMap(trainingPoints).flatMap(point => point.slice(1)).filter(value => value > 0);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const shown = number => ({...look.axisLabel, formatter: value => plain(value, 3), hideOverlap: true, ...number});
    return {
      ...base,
      grid: {left: 12, right: 26, top: 40, bottom: 62, containLabel: true},
      legend: {show: false, selected: trainingLegend.selected()},
      xAxis: {...look, type: training.logX ? "log" : "value", name: axis.name + (unit ? ` (${unit})` : ""), nameLocation: "middle", nameGap: 26, splitLine: {show: false}, axisLabel: shown()},
      yAxis: {...look, type: training.logY ? "log" : "value", name: TRAINING_MEASURES[training.measure].name, nameTextStyle: {...look.nameTextStyle, align: "left"},
        ...(training.logY ? {logBase: most < 100 * least ? 2 : 10, min: least / 1.05, max: most * 1.05, axisLabel: shown({showMinLabel: false, showMaxLabel: false})} : {min: 0, axisLabel: shown()})},
      dataZoom: [
        {type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false},
        sliderLook({filterMode: "none", labelFormatter: value => plain(value, 3)}),
      ],
      tooltip: {...base.tooltip, trigger: "axis", axisPointer: {type: "line", snap: true, lineStyle: {color: css("edge")}, label: {show: false}}, formatter: trainingTip},
      series: [...records.map(trainingLine), ...records.map(trainingBand), ...trainingTarget()],
    };
  },
});

function showTraining() {
  byId("training-log-x").checked = training.logX;
  byId("training-log-y").checked = training.logY;
  trainingLegend.show(trainingSetting().records.map(record => data.series[record]));
  trainingChart.draw();
}

function prepareTraining() {
  trainingLegend = makeLegend(byId("training-legend"), () => trainingChart.draw());
  offer(byId("training-setting"), data.settings.map(setting => setting.name));
  offer(byId("training-measure"), TRAINING_MEASURES.map(measure => measure.name));
  offer(byId("training-axis"), TRAINING_AXES.map(axis => axis.name));
  const choose = (id, change) => byId(`training-${id}`).addEventListener("change", event => {
    change(event.target);
    showTraining();
  });
  for (const name of ["setting", "measure", "axis"]) choose(name, select => { training[name] = Number(select.value); });
  choose("log-x", box => { training.logX = box.checked; });
  choose("log-y", box => { training.logY = box.checked; });
}
