// Where an iteration's time goes: one stacked bar per choice, in one setting and at one size.

const LEAST = 1e-4;      // of an iteration, below which a part is nothing
const composition = {setting: 0, value: 0};

/** The values along the first axis that the chosen setting has. */
function compositionValues() {
  const axis = data.axes[0];
  return [...new Set(axis.values.filter((_, row) => axis.settings[row] === composition.setting))].sort((one, other) => one - other);
}

/** The rows shown, fastest first. */
function compositionRows() {
  const axis = data.axes[0];
  const value = compositionValues()[composition.value];
  const rows = [];
  for (let row = 0; row < rowCount; ++row) if (axis.settings[row] === composition.setting && axis.values[row] === value) rows.push(row);
  return rows.sort((one, other) => numberAt("iteration_s", one) - numberAt("iteration_s", other));
}

/** Seconds of a part. Waiting below 0 means less computing in the measured window than undisturbed, by jitter or where the window cuts steps, and less waiting than that. */
function partOf(part, row) {
  const wait = numberAt("wait_s", row);
  const seconds = numberAt(part.column, row);
  return part.column === "compute_s" ? seconds + Math.min(0, wait) : Math.max(0, seconds);
}

/** What of that a tooltip adds. */
function partNote(part, row) {
  const wait = numberAt("wait_s", row);
  return part.column === "compute_s" && wait < -LEAST * numberAt("iteration_s", row) ? `${duration(-wait, 3)} less than undisturbed` : "";
}

/** The parts that any bar has. */
function compositionParts() {
  const rows = compositionRows();
  return data.parts.filter(part => rows.some(row => partOf(part, row) > LEAST * numberAt("iteration_s", row)));
}

function compositionWidth() {
  return onPaper ? PAPER_WIDTH : byId("composition-chart").clientWidth;
}

function compositionNames() {
  return compositionRows().map(row => data.axes[0].series[data.axes[0].series_of[row]].name);
}

function compositionOption() {
  const rows = compositionRows();
  const names = compositionNames();
  const parts = compositionParts();
  const longest = Math.max(...rows.map(row => numberAt("iteration_s", row)));
  const [factor, unit] = longest < 2 ? [1000, "ms"] : [1, "s"];
  const look = axisLook();
  const base = baseOption(`Iteration time by part. ${rows.map((row, place) => `${names[place]}: ` +
    parts.map(part => `${part.name} ${duration(partOf(part, row), 3)}`).join(", ")).join("; ")}.`);
  return {
    ...base,
    grid: {left: 12, right: 64, top: 8, bottom: 34, containLabel: true},
    legend: {show: false},
    xAxis: {...look, type: "value", name: `iteration time (${unit})`, nameLocation: "middle", nameGap: 28,
      axisLabel: {...look.axisLabel, formatter: value => plain(value * factor), hideOverlap: true}},
    yAxis: barAxis(names, barNames(names, compositionWidth())),
    tooltip: {...base.tooltip, trigger: "axis", axisPointer: {type: "shadow", shadowStyle: {color: css("select")}}, formatter: hits => {
      const row = rows[hits[0].dataIndex];
      const total = numberAt("iteration_s", row);
      const lines = parts.map(part => `<tr><td><span class="dot" style="background:${shade(part)}"></span>${part.name}</td>` +
        `<td class="value">${duration(partOf(part, row))}</td><td class="more">${percent(partOf(part, row) / total)}</td><td class="more">${partNote(part, row)}</td></tr>`);
      return `<b>${escaped(names[hits[0].dataIndex])}: ${duration(total)}</b><table class="tip">${lines.join("")}</table>`;
    }},
    series: parts.map((part, place) => ({
      name: part.name, type: "bar", stack: "iteration", barMaxWidth: 22, itemStyle: {color: shade(part)},
      data: rows.map(row => partOf(part, row)),
      label: place < parts.length - 1 ? undefined : {show: true, position: "right", color: css("ink"),
        formatter: hit => plain(numberAt("iteration_s", rows[hit.dataIndex]) * factor, 3)},
    })),
  };
}

const compositionChart = addChart("composition-chart", {
  height: () => 62 + barNames(compositionNames(), compositionWidth()).height * compositionRows().length,
  option: compositionOption,
  drawn() {
    showKey(byId("composition-key"), compositionParts());
    byId("composition-about-waiting").hidden = !compositionParts().some(part => part.column === "wait_s");
    byId("composition-about-faster").hidden = !compositionRows().some(row => partNote(data.parts[0], row));
  },
});

function showComposition() {
  const axis = data.axes[0];
  const values = compositionValues();
  composition.value = Math.min(composition.value, values.length - 1);
  offer(byId("composition-setting"), axis.setting_names, composition.setting);
  offer(byId("composition-value"), values.map(value => withUnit(value, axis.unit)), composition.value);
  compositionChart.draw();
  remember();
}

function prepareComposition() {
  byId("composition-name").textContent = data.axes[0].name;
  keepOne("parts-on", () => data.axes[0].setting_names, () => composition.setting, setting => { composition.setting = setting; });
  const last = () => compositionValues().length - 1;
  keepOne("parts-at", () => compositionValues().map(String), () => composition.value, value => { composition.value = value; }, last);
  for (const key of ["setting", "value"]) {
    byId(`composition-${key}`).addEventListener("change", event => {
      const at = compositionValues()[composition.value];
      composition[key] = Number(event.target.value);
      if (key === "setting") composition.value = Math.max(0, compositionValues().indexOf(at));
      showComposition();
    });
  }
}
