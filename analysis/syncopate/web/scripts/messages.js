// Messages of collectives on the timeline: a lane under each sender, and lanes of those that share a link which holds them back.

const MESSAGE_LANES = ["under workers and by link", "under workers", "by link", "alone", "none"];
const [BY_BOTH, BY_WORKER, BY_LINK, ALONE, NO_MESSAGES] = MESSAGE_LANES.keys();
const MOST_QUEUES = 6;         // links that have lanes
const MOST_QUEUE_LANES = 10;   // of one link
const HELD_BACK = 1.001;       // times as long as alone, from which on a message is

/** A message as it stands in a row, in nanoseconds: since when its sender and its receiver had been ready when it began, how long after its end it arrives. */
function readMessage(row, slice) {
  const [to, step, part, alone, senderWaited, receiverWaited, later, link] = row.messages.slice(8 * slice, 8 * slice + 8);
  const length = row.end[slice] - row.start[slice];
  return {from: row.sender ?? row.process, to, step, part, alone, senderWaited, receiverWaited, later, link: timelinePoint().queues[link] ?? null, start: row.start[slice], length,
    name: data.kinds[row.kind[slice]][0], bytes: data.kinds[row.kind[slice]][2], iteration: row.iteration[slice], times: alone > 0 ? length / alone : 1};
}

/** The decoded rows of a point with those of messages as chosen: under their senders, and of the links that hold them back. */
function rowsWithMessages(rows) {
  const lanes = timeline.messages;
  timeline.leftOut = [];
  for (const row of rows) {
    if (row.messages) row.messageAt = slice => readMessage(row, slice);
  }
  const sending = rows.filter(row => row.messages);
  timeline.sending = sending;
  timeline.parts = sending.reduce((most, row) => row.messages.reduce((own, value, place) => place % 8 === 2 ? Math.max(own, value + 1) : own, most), 1);
  const byLink = [BY_BOTH, BY_LINK, ALONE].includes(lanes) ? queueRows(sending) : [];
  if (lanes === ALONE && sending.length) return [...sending.map(row => ({...row, process: row.track, track: row.process, sender: row.process})).sort(byTrack), ...byLink];
  return [...rows.filter(row => [BY_BOTH, BY_WORKER].includes(lanes) || !row.messages), ...byLink];
}

/** The order of rows whose tracks have become their processes: as they were, but those of one track together. */
function byTrack(one, other) {
  return one.process.localeCompare(other.process, "en", {numeric: true});
}

/** Lanes of the links that delay messages most, of those that each holds back. What is left out is in timeline.leftOut. */
function queueRows(sending) {
  const {queues} = timelinePoint();
  const held = queues.map(() => ({delay: 0, items: []}));
  for (const row of sending) {
    for (let slice = 0; slice < row.end.length; ++slice) {
      const [alone, link] = [row.messages[8 * slice + 3], row.messages[8 * slice + 7]];
      const length = row.end[slice] - row.start[slice];
      if (link < 0 || length <= HELD_BACK * alone + 1) continue;
      held[link].delay += length - alone;
      held[link].items.push([row, slice]);
    }
  }
  const holding = held.map((one, link) => ({...one, name: queues[link]})).filter(one => one.items.length).sort((one, other) => other.delay - one.delay);
  const busiest = holding.slice(0, MOST_QUEUES).map(one => ({...one, lanes: lanesOf(one.items)}));
  const all = busiest.reduce((sum, one) => sum + one.items.length, 0), drawn = busiest.reduce((sum, one) => sum + one.lanes.reduce((its, lane) => its + lane.length, 0), 0);
  timeline.leftOut = [
    holding.length > MOST_QUEUES ? `Lanes of ${MOST_QUEUES} of ${holding.length} links: those that hold messages back longest.` : "",
    drawn < all ? `They have ${drawn} of the ${all} messages that these links hold back: at most ${MOST_QUEUE_LANES} at a time of each.` : ""];
  return busiest.flatMap(({name, lanes}) => lanes.map((lane, place) => ({
    process: "messages held back", track: name, named: place === 0, byLink: true, layers: false, critical: false,
    kind: Int32Array.from(lane, ([row, slice]) => row.kind[slice]), iteration: Int32Array.from(lane, ([row, slice]) => row.iteration[slice]),
    start: Float64Array.from(lane, ([row, slice]) => row.start[slice]), end: Float64Array.from(lane, ([row, slice]) => row.end[slice]),
    slack: new Float64Array(lane.length).fill(-1), messageAt: at => readMessage(...lane[at])})));      // the link's name stands at the first
}

/** [row, slice] pairs in lanes, in which none overlaps another one. */
function lanesOf(items) {
  const lanes = [];
  for (const item of items.sort(([one, a], [other, b]) => one.start[a] - other.start[b])) {
    const [row, slice] = item;
    const lane = lanes.find(its => its.until <= row.start[slice] + 1) ?? (lanes.length < MOST_QUEUE_LANES ? lanes[lanes.push({until: 0, items: []}) - 1] : null);
    if (!lane) continue;
    lane.items.push(item);
    lane.until = row.end[slice];
  }
  return lanes.map(lane => lane.items);
}

function receiverWords(message) {
  return message.from.replace(/\d+.*/, String(message.to));
}

function messageWords(message) {
  return `part ${message.part} → ${message.to}`;
}

/** Of its part, or of the time that it loses to others. */
function messageColor({part, times}) {
  if (!timeline.byPart) return heatOf(times > HELD_BACK ? 1 - 1 / times : 0);
  const hue = 360 * part / Math.max(timeline.parts, 2), [low, high] = dark.matches && !onPaper ? [90, 190] : [80, 185];
  const channel = shift => Math.round(low + (high - low) * (0.5 + 0.5 * Math.cos((hue - shift) * Math.PI / 180))).toString(16).padStart(2, "0");
  return `#${channel(0)}${channel(120)}${channel(240)}`;
}

function messageKey() {
  if (!timeline.rows.some(row => row.messageAt)) return [];
  if (timeline.byPart) return [{color: messageColor({part: 0}), dark: messageColor({part: 0}), name: "message; each part of the vector has a colour"}];
  return [[1, "message as fast as alone"], [2, "half as fast"], [1e9, "much slower"]].map(([times, name]) => ({color: messageColor({times}), dark: messageColor({times}), name}));
}

/** What a message does, in a few words. */
function messageNow(message) {
  const held = message.times > HELD_BACK ? `, ${plain(message.times, 3)} times as long as alone${message.link ? `, because of ${message.link}` : ""}` : "";
  return `step ${message.step}, part ${message.part} to ${receiverWords(message)}${held}`;
}

/** The rows of a message's tooltip. */
function messageTip(message, line) {
  const waited = [[message.receiverWaited, receiverWords(message), message.from], [message.senderWaited, message.from, receiverWords(message)]].filter(([time]) => time > 1);
  return `<b>${escaped(message.name)}</b><table class="tip">${line("from", escaped(message.from))}${line("to", escaped(receiverWords(message)))}${line("step", message.step)}` +
    line("start", duration(message.start * 1e-9)) + line("length", duration(message.length * 1e-9)) + line("alone", duration(message.alone * 1e-9)) +
    line("arrives", `${duration(message.later * 1e-9)} later`) + line("bytes", prefixed(message.bytes, "B")) +
    (message.link ? line(message.times > HELD_BACK ? "held back by" : "fills", escaped(message.link)) : "") +
    waited.map(([time, who]) => line(`${escaped(who)} had waited`, duration(time * 1e-9))).join("") + "</table>";
}

/** Who waits for whom at the slider's moment: one end of a message is ready for it, the other one is not. */
function waitsNow() {
  const said = new Map();
  for (const row of timeline.sending ?? []) {
    const next = firstAfter(row, timeline.moment);
    for (let slice = next; slice < Math.min(row.end.length, next + 2); ++slice) {
      const message = readMessage(row, slice);
      if (message.start <= timeline.moment) continue;
      const to = receiverWords(message);
      if (message.start - message.receiverWaited <= timeline.moment) said.set(`${to}, receives`, `waits for part ${message.part} of ${message.from}`);
      if (message.start - message.senderWaited <= timeline.moment) said.set(`${message.from}, waits`, `until ${to} is ready for part ${message.part}`);
      break;
    }
  }
  return [...said];
}

/** Shows what there is to choose, and why there are no messages. */
function showMessages() {
  const point = timelinePoint();
  const has = timeline.sending.length > 0;
  const kept = timeline.sending.reduce((sum, row) => sum + row.end.length, 0);
  offer(byId("timeline-messages"), MESSAGE_LANES, timeline.messages);
  byId("timeline-messages").closest("label").hidden = !has;
  byId("timeline-by-part").checked = timeline.byPart;
  byId("timeline-by-part").closest("label").hidden = !has || timeline.messages === NO_MESSAGES;
  byId("timeline-about-messages").textContent = [
    has && timeline.messages !== NO_MESSAGES ? "Messages are in lanes of their senders, and those that others hold back on a link in lanes of that link." +
      (timeline.byPart ? "" : " A message's colour is how much of its time that costs.") : "",
    ...timeline.leftOut, point.missing, point.messagesCut ? `Only the first ${kept} messages of the measured window are here; the timeline file has more.` : ""].filter(Boolean).join(" ");
}

function prepareMessages() {
  const choose = () => {
    layRows();
    showTimeline();
  };
  keepOne("messages", () => MESSAGE_LANES, () => timeline.messages, place => {
    if (place === timeline.messages) return;
    timeline.messages = place;
    layRows();
  });
  keepYes("parts", () => timeline.byPart, is => { timeline.byPart = is; });
  byId("timeline-messages").addEventListener("change", event => {
    timeline.messages = Number(event.target.value);
    choose();
  });
  byId("timeline-by-part").addEventListener("change", event => {
    timeline.byPart = event.target.checked;
    showTimeline();
  });
}
