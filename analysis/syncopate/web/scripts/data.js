// What the page embeds as JSON, and its rows by column.

const data = JSON.parse(document.getElementById("data").textContent);
const columns = Object.fromEntries(data.columns.map(column => [column.name, column]));
const rowCount = data.columns[0].values.length;

/** The value of a row in a column: a text, a number, or null where there is none. */
function cellOf(column, row) {
  return column.texts ? column.texts[column.values[row]] : column.values[row];
}

function numberAt(name, row) {
  return columns[name].values[row];
}
