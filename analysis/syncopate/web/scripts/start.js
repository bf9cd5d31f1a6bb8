// Fills the page. `window.syncopate` is for tests and for curious readers: the data, the charts by the id of their element, and the table's CSV.

const parts = [[prepareScaling, showScaling], [prepareComposition, showComposition], [prepareTable, showTable]];
if (data.explanations.length) parts.push([prepareExplanation, showExplanation]);
if (data.timelines.length) parts.push([prepareTimeline, showTimeline]);
if (data.networks.length) parts.push([prepareNetwork, showNetwork]);
showKept(parts);
followTheme();

window.syncopate = {data, charts, timeline, csv: tableAsCsv};
