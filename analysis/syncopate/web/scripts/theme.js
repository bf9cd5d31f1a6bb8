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

/** The option that all charts share; `says` is what a screen reader reads. */
function baseOption(says) {
  return {
    animation: false,
    aria: {enabled: true, label: {description: says}},
    textStyle: {fontFamily: getComputedStyle(document.body).fontFamily, color: css("ink")},
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
    axisLabel: {color: css("quiet"), fontSize: innerWidth < 600 ? 10.5 : 12}, splitLine: {lineStyle: {color: css("grid")}}, minorTick: {show: false},
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
      one.chart.resize(onPaper ? {width: PAPER_WIDTH} : undefined);
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

function startCharts() {
  for (const one of Object.values(charts)) one.start();
}

function setPaper(is) {
  onPaper = is;
  document.documentElement.classList.toggle("paper", is);
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
