// Fills the page of an advice. `window.syncopate` is for tests and for curious readers: the data, the charts by the id of their element, and the table's CSV.

showKept([[prepareCandidates, showCandidates], [prepareTable, showTable]]);
followTheme();

window.syncopate = {data, charts, csv: tableAsCsv};
