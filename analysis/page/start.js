// Fills the page. `window.syncopate` is for tests and for curious readers: the data, the charts by the id of their element, and the table's CSV.

prepareScaling();
prepareComposition();
if (data.timelines.length) prepareTimeline();
if (data.explanations.length) prepareExplanation();
prepareTable();

if (data.timelines.length) timeline.rows = timelinePoint().rows.map(decodedRow);
if (data.timelines.length) [timeline.from, timeline.to] = firstIteration();
startCharts();
showScaling();
showComposition();
if (data.timelines.length) showTimeline();
if (data.explanations.length) showExplanation();
showTable();
followTheme();

window.syncopate = {data, charts, timeline, csv: tableAsCsv};
