// Fills the page of a training. `window.syncopate` is for tests and for curious readers: the data, the charts by the id of their element, and the table's CSV.

showKept([[prepareTraining, showTraining], [prepareTable, showTable]]);
followTheme();

window.syncopate = {data, charts, csv: tableAsCsv};
