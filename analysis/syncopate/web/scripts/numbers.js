// Numbers as readers see them, like units.py: significant digits, the unit that reads best, no exponents.

function significant(value, digits = 3) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-9 || size >= 1e15) return value.toExponential(digits - 1);
  const exponent = Number(size.toExponential(digits - 1).split("e")[1]);
  return value.toFixed(Math.max(0, digits - 1 - exponent));
}

/** Without zeros that say nothing. */
function plain(value, digits = 6) {
  const text = significant(value, digits);
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}

/** Seconds as 213.456 ms or 1.2 s; to so many digits, zeros included, where `digits` are given. */
function duration(seconds, digits) {
  const size = Math.abs(seconds);
  const [scale, unit] = size === 0 || size >= 1 ? [1, "s"] : size >= 1e-3 ? [1e3, "ms"] : size >= 1e-6 ? [1e6, "µs"] : [1e9, "ns"];
  return `${digits ? significant(seconds * scale, digits) : plain(seconds * scale)} ${unit}`;
}

/** A number with a decimal prefix: 1.2 GB, 100 Gb/s. */
function prefixed(value, unit, digits = 3) {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(1, Math.abs(value))) / 3)));
  return `${plain(value / 1000 ** power, digits)} ${["", "k", "M", "G", "T"][power]}${unit}`;
}

/** Bytes that are a power of two times a small number as such: 4 MiB; else with a decimal prefix. */
function bytesWords(value) {
  const power = [4, 3, 2, 1].find(one => value >= 1024 ** one && Number.isInteger(value / 1024 ** one * 4));
  return power && value % 1000 ? `${plain(value / 1024 ** power)} ${["", "Ki", "Mi", "Gi", "Ti"][power]}B` : prefixed(value, "B");
}

/** A value of the axis or of a column with its unit. */
function withUnit(value, unit) {
  if (unit === "s") return duration(value);
  if (unit === "share") return percent(value, 6);
  if (unit === "B" || unit === "bytes") return bytesWords(value);
  if (unit === "b/s") return prefixed(value, unit);
  return unit ? `${plain(value)} ${unit}` : plain(value);
}

/** Numbers of an axis that are as round as possible: of a long logarithmic one 1, 2 and 5 or 1 alone of every power of ten, else of equal distance. */
function roundValues([from, to], isLog) {
  const values = [];
  if (isLog && to > 8 * from) {
    const digits = to > 2000 * from ? [1] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(from)); 10 ** power <= to; ++power) values.push(...digits.map(digit => Number(`${digit}e${power}`)));
  } else {
    const least = (to - from) / 8;
    const power = 10 ** Math.floor(Math.log10(least));
    const step = power * [1, 2, 5, 10].find(digit => digit * power >= least);
    for (let place = Math.ceil(from / step); place * step <= to; ++place) values.push(place * step);
  }
  return values.filter(value => value >= from - 1e-9 * Math.abs(value) && value <= to + 1e-9 * Math.abs(value));
}

function percent(part, digits = 3) {
  return `${plain(100 * part, digits)} %`;
}
