// How every link was used over time, in stretches of equal length.

/** What a timeline says of each link as {name: {cable, percent}}, by stretch; decoded once. */
function usesOf(point) {
  if (!point.use) return {};
  if (!point.use.byName) {
    point.use.byName = {};
    for (const {links, percent} of point.use.rows) {
      const values = new Float32Array(point.use.stretches);
      for (let place = 0, at = 0; place < percent.length; place += 2) values.fill(percent[place], at, at += percent[place + 1]);
      for (const {name, cable} of links) point.use.byName[name] = {cable, percent: values};
    }
  }
  return point.use.byName;
}

/** One link's use as the columns of a row of the timeline, {start, end, percent}; null where the timeline does not say. Equal stretches are one. */
function useOf(point, name) {
  const found = usesOf(point)[name];
  if (!found) return null;
  const {from, to, stretches} = point.use;
  const [start, end, percent] = [[], [], []];
  for (let stretch = 0; stretch < stretches; ++stretch) {
    const until = from + (stretch + 1) * (to - from) / stretches - point.window[0];
    if (stretch > 0 && found.percent[stretch] === percent.at(-1)) {
      end[end.length - 1] = until;
    } else {
      start.push(from + stretch * (to - from) / stretches - point.window[0]);
      end.push(until);
      percent.push(found.percent[stretch]);
    }
  }
  return {start: Float64Array.from(start), end: Float64Array.from(end), percent: Float64Array.from(percent)};
}

/** {cable: part of its bandwidth that its busier direction uses} at a time since the measured window began. */
function useAt(point, moment) {
  const {from, to, stretches} = point.use;
  const stretch = Math.floor((moment + point.window[0] - from) / (to - from) * stretches);
  const found = {};
  for (const {cable, percent} of Object.values(usesOf(point))) found[cable] = Math.max(found[cable] ?? 0, (percent[stretch] ?? 0) / 100);
  return found;
}
