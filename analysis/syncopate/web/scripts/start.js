// Fills the page. `window.syncopate` is for tests and for curious readers: the data, the charts by the id of their element, and the table's CSV.

prepareScaling();
showScaling();
prepareComposition();
showComposition();
if (data.explanations.length) {
  prepareExplanation();
  showExplanation();
}
if (data.timelines.length) {
  prepareTimeline();
  showTimeline();
}
prepareTable();
showTable();
followTheme();

window.syncopate = {data, charts, timeline, csv: tableAsCsv};
