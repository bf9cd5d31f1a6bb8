// Why a point takes as long as it does: its critical path as a bar, and what changes would save.

const explanation = {point: 0};
const MOST_WHAT = 6;     // parts of a class that a tooltip names

/** The chosen point, its path as [class, what, seconds] and its changes as [factor, change, seconds, part saved]. */
function explainedPoint() {
  const point = data.explanations[explanation.point];
  return {
    ...point,
    path: point.path.map(([name, what, seconds]) => [data.texts[name], data.texts[what], seconds]),
    what_if: point.what_if.map(([factor, ...effect]) => [data.texts[factor], ...effect]),
  };
}

/** The classes of the point's path with their seconds, and their parts, longest first. */
function pathClasses() {
  const {path} = explainedPoint();
  const known = data.classes.map(one => one.name);
  const others = [...new Set(path.map(([name]) => name))].filter(name => !known.includes(name)).map(name => ({...data.phases.critical, name}));
  return [...data.classes, ...others].map(one => {
    const parts = path.filter(([name]) => name === one.name).map(([, what, seconds]) => ({what, seconds})).sort((a, b) => b.seconds - a.seconds);
    return {...one, parts, seconds: parts.reduce((sum, part) => sum + part.seconds, 0)};
  }).filter(one => one.parts.length);
}

function classWords(name) {
  return name.replaceAll("_", " ");
}

function pathTip(one) {
  const line = (name, seconds) => `<tr><td>${escaped(name)}</td><td class="value">${duration(seconds)}</td>` +
    `<td class="more">${percent(seconds / explainedPoint().iteration_s)}</td></tr>`;
  const rest = one.parts.slice(MOST_WHAT);
  const named = one.parts.filter(part => part.what).slice(0, MOST_WHAT);
  return `<b>${escaped(classWords(one.name))}</b><table class="tip">${line("in all", one.seconds)}${named.map(part => line(part.what, part.seconds)).join("")}` +
    `${rest.length ? line(`${rest.length} more`, rest.reduce((sum, part) => sum + part.seconds, 0)) : ""}</table>`;
}

function pathOption() {
  const point = explainedPoint();
  const classes = pathClasses();
  const look = axisLook();
  const [factor, unit] = point.iteration_s < 2 ? [1000, "ms"] : [1, "s"];
  const base = baseOption(`Critical path of ${point.name}, ${duration(point.iteration_s, 4)}: ` +
    `${classes.map(one => `${classWords(one.name)} ${percent(one.seconds / point.iteration_s)}`).join(", ")}.`);
  return {
    ...base,
    grid: {left: 12, right: 24, top: 4, bottom: 34, containLabel: true},
    legend: {show: false},
    xAxis: {...look, type: "value", min: value => Math.min(0, value.min), max: "dataMax", name: `time of an iteration (${unit})`,
      nameLocation: "middle", nameGap: 28, splitLine: {show: false},
      axisLabel: {...look.axisLabel, formatter: value => plain(value * factor, 4), hideOverlap: true, showMaxLabel: false}},
    yAxis: {...look, type: "category", data: [""], axisTick: {show: false}, axisLine: {show: false}, splitLine: {show: false}},
    tooltip: {...base.tooltip, trigger: "item", formatter: hit => pathTip(classes[hit.seriesIndex])},
    series: classes.map(one => {
      const color = shade(one);
      const wide = one.seconds > 0.07 * point.iteration_s;
      return {name: one.name, type: "bar", stack: "path", barWidth: 34, itemStyle: {color, borderColor: css("page"), borderWidth: 0.5}, data: [one.seconds],
        label: {show: wide, formatter: percent(one.seconds / point.iteration_s, 2), color: inkOn(color)}};
    }),
  };
}

const pathChart = data.explanations.length && addChart("path-chart", {
  height: () => 84,
  option: pathOption,
  drawn: () => showKey(byId("path-key"), pathClasses().map(one => ({...one, said: one.seconds, name: classWords(one.name)})),
    one => ` ${duration(one.said, 3)} (${percent(one.said / explainedPoint().iteration_s)})`),
});

/** A change in words: 10 % more, half, free. */
function changeWords(change) {
  if (typeof change === "string") return change;
  return change >= 1 ? `+${plain(100 * (change - 1), 3)} %` : `−${plain(100 * (1 - change), 3)} %`;
}

function isLimit([, change]) {
  return change === "free" || change === "equal";
}

/** A row of the table; the bar is as long as the part of the iteration that the change saves. */
function effectRow(effect, most) {
  const [factor, change, seconds, saved] = effect;
  const bar = element("span", {class: "gain", "aria-hidden": "true"});
  bar.style.setProperty("--part", Math.max(0, saved ?? 0) / most);
  const cells = seconds === null ? [element("td", {colspan: 2, class: "text"}, "fails with this change")] :
    [element("td", {}, duration(seconds, 4)), element("td", {class: "text"}, bar, percent(Math.abs(saved) < 5e-7 ? 0 : saved))];
  return element("tr", {}, element("td", {class: "text"}, factor), element("td", {class: "text"}, changeWords(change)), ...cells);
}

function showExplanation() {
  const point = explainedPoint();
  offer(byId("explanation-point"), data.explanations.map(one => one.name), explanation.point);
  const sorted = [...point.what_if].sort((one, other) => isLimit(one) - isLimit(other) || (other[3] ?? -1) - (one[3] ?? -1));
  const most = Math.max(1e-9, ...sorted.filter(one => !isLimit(one)).map(one => one[3] ?? 0));
  const body = effects => effects.map(effect => effectRow(effect, Math.max(most, isLimit(effect) ? effect[3] : 0)));
  byId("what-if").tBodies[0].replaceChildren(...body(sorted.filter(one => !isLimit(one))));
  byId("what-if").tBodies[1].replaceChildren(...body(sorted.filter(isLimit)));
  pathChart.draw();
  remember();
}

function prepareExplanation() {
  keepOne("why", () => data.explanations.map(one => one.name), () => explanation.point, point => { explanation.point = point; }, () => data.best.explanation);
  byId("explanation-point").addEventListener("change", event => {
    explanation.point = Number(event.target.value);
    showExplanation();
  });
}
