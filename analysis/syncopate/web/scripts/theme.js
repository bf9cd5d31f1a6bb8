// Charts that follow the system's light or dark theme, the width of the window, and paper, on which they are light.

const dark = matchMedia("(prefers-color-scheme: dark)");
const PAPER_WIDTH = 660;    // pixels that fit an upright A4 page
const charts = {};
let onPaper = false;

function shade(colors) {
  return dark.matches && !onPaper ? colors.dark : colors.color;
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** What is readable on a colour: black or white. */
function inkOn(color) {
  const [red, green, blue] = [1, 3, 5].map(place => parseInt(color.slice(place, place + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000000" : "#ffffff";
}

const ruler = document.createElement("canvas").getContext("2d");

/** Pixels that a text takes. */
function textWidth(text, size, weight = 400) {
  ruler.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

/** A text in lines that are no wider than `width` pixels, by words where these fit. */
function wrapped(text, size, width) {
  const lines = [""];
  for (let word of text.split(/(?<=[ ,])/)) {
    if (lines.at(-1) && textWidth((lines.at(-1) + word).trimEnd(), size) > width) lines.push("");
    while (textWidth(word.trimEnd(), size) > width && word.length > 1) {
      let length = word.length - 1;
      while (length > 1 && textWidth(word.slice(0, length), size) > width) --length;
      lines[lines.length - 1] = word.slice(0, length);
      word = word.slice(length);
      lines.push("");
    }
    lines[lines.length - 1] += word;
  }
  return lines.map(line => line.trimEnd());
}

const LINE = 15;      // pixels, of the names of bars

/** Names of bars beside a chart that is `chartWidth` pixels wide: their lines, the size of their letters, and pixels that a bar and its name need. */
function barNames(names, chartWidth) {
  const size = chartWidth < 600 ? 10.5 : 12;
  const lines = names.map(name => wrapped(name, size, Math.min(260, 0.34 * chartWidth)));
  return {lines, size, height: Math.max(30, LINE * Math.max(1, ...lines.map(its => its.length)) + 10)};
}

/** An axis of such bars, the uppermost first. */
function barAxis(names, {lines, size}) {
  const look = axisLook();
  return {...look, type: "category", inverse: true, data: names, axisTick: {show: false}, axisLine: {show: false}, splitLine: {show: false},
    axisLabel: {...look.axisLabel, color: css("ink"), fontSize: size, lineHeight: LINE, interval: 0, formatter: (_, place) => lines[place].join("\n")}};
}

/** The option that all charts share; `says` is what a screen reader reads. */
function baseOption(says) {
  return {
    animation: false,
    aria: {enabled: true, label: {description: says}},
    textStyle: {fontFamily: getComputedStyle(document.body).fontFamily, color: css("ink"), lineHeight: LINE},
    tooltip: {
      position: besidePointer, backgroundColor: css("raised"), borderColor: css("line"), padding: [8, 12],
      textStyle: {color: css("ink"), fontSize: 13}, extraCssText: "max-width: calc(100vw - 50px); white-space: normal; font-variant-numeric: tabular-nums;",
    },
  };
}

/** Where a tooltip stands: below the pointer, on the side where there is room. */
function besidePointer([x, y], _params, _element, _shape, {contentSize: [width], viewSize: [room]}) {
  const left = x + 16 + width <= room ? x + 16 : x - 16 - width;
  return [Math.max(0, Math.min(left, room - width)), y + 18];
}

function axisLook() {
  return {
    axisLine: {show: true, lineStyle: {color: css("edge")}}, axisTick: {lineStyle: {color: css("edge")}},
    axisLabel: {color: css("quiet"), fontSize: innerWidth < 600 ? 10.5 : 12, lineHeight: LINE}, splitLine: {lineStyle: {color: css("grid")}}, minorTick: {show: false},
    nameTextStyle: {color: css("quiet"), fontSize: 12},
  };
}

/** The slider below a chart; `zoom` has what is special about it. */
function sliderLook(zoom) {
  return {
    type: "slider", show: !onPaper, height: 16, bottom: 8, borderColor: "transparent", backgroundColor: css("soft"), fillerColor: css("select"),
    dataBackground: {lineStyle: {opacity: 0}, areaStyle: {opacity: 0}}, selectedDataBackground: {lineStyle: {opacity: 0}, areaStyle: {opacity: 0}},
    moveHandleSize: 0, handleStyle: {color: css("raised"), borderColor: css("quiet")}, emphasis: {handleStyle: {borderColor: css("accent")}},
    textStyle: {color: css("quiet"), fontSize: 11}, brushSelect: false, ...zoom,
  };
}

/**
 * A chart in the element with this id. `part.option()` says what it shows, `part.height()` how high it is, in pixels; `part.started(chart)`
 * may listen to its events, `part.drawn()` may follow it. The answer's draw() shows a changed state, its start() a changed theme.
 */
function addChart(id, part) {
  const place = byId(id);
  const one = {
    chart: null,
    draw() {
      if (!one.chart) return one.start();
      place.style.height = `${part.height()}px`;
      one.chart.resize({height: part.height(), ...(onPaper ? {width: PAPER_WIDTH} : {})});
      one.chart.dispatchAction({type: "hideTip"});      // else ECharts would show it again, when what held it is gone
      one.chart.setOption(part.option(), {notMerge: true});
      part.drawn?.();
    },
    start() {
      one.chart?.dispose();
      one.chart = echarts.init(place, null, {renderer: part.renderer ?? "svg", height: part.height()});
      part.started?.(one.chart);
      one.draw();
    },
  };
  charts[id] = one;
  return one;
}

const redrawn = [];      // what else has colours of the theme

function startCharts() {
  for (const one of Object.values(charts)) one.start();
  for (const show of redrawn) show();
}

/** On paper, which nobody can unfold, what was simulated is unfolded. */
function setPaper(is) {
  onPaper = is;
  document.documentElement.classList.toggle("paper", is);
  for (const place of document.querySelectorAll("details[data-print]")) {
    if (is) place.dataset.wasOpen = place.open;
    place.open = is || place.dataset.wasOpen === "true";
  }
  startCharts();
}

function followTheme() {
  dark.addEventListener("change", startCharts);
  addEventListener("beforeprint", () => setPaper(true));
  addEventListener("afterprint", () => setPaper(false));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width || onPaper) return;
    width = innerWidth;
    for (const one of Object.values(charts)) one.draw();
  });
}
