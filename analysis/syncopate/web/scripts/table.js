// All points as a table that is sorted, filtered and copied; a page of it is drawn at a time.

const PAGE = 100;
const table = {columns: [], rows: [], sort: null, falling: false, filter: "", page: 0};
const haystacks = [];      // of each row, its texts and numbers, in small letters

/** A column's name as people say it; that of results.csv where there is no other. */
function headOf(column) {
  return (column.head ?? column.name) + (column.priced ? " (price units)" : "");
}

/** The columns that are shown; of the main ones, what was swept comes first, then the iteration time. */
function tableColumns() {
  if (byId("table-columns").value === "all") return data.columns;
  const order = column => column.first ? 0 : /^iteration_/.test(column.name) ? 1 : column.name === "point" ? 3 : 2;
  return data.columns.filter(column => column.brief).sort((one, other) => order(one) - order(other));
}

function shownCell(column, row) {
  const value = column.said_texts ? column.said_texts[column.values[row]] : cellOf(column, row);
  return value === null ? "" : typeof value === "number" ? plain(value) : value;
}

function haystack(row) {
  return haystacks[row] ??= data.columns.map(column => shownCell(column, row)).join("\n").toLowerCase();
}

const COMPARISONS = {
  ">": (one, other) => one > other, "<": (one, other) => one < other, ">=": (one, other) => one >= other, "<=": (one, other) => one <= other,
  "=": (one, other) => one === other,
};

/** What one word of the filter demands of a row: a comparison such as nodes>=64, else that the row has the word. */
function demand(word) {
  const [, name, sign, value] = word.match(/^([^<>=]+)(>=|<=|>|<|=)([^<>=]+)$/) ?? [];
  const column = name && data.columns.find(one => [one.name, one.head?.replaceAll(" ", "_")].some(its => its?.toLowerCase() === name));
  if (!column) return row => haystack(row).includes(word);
  if (column.texts) return row => COMPARISONS[sign](cellOf(column, row).toLowerCase(), value);
  return row => cellOf(column, row) !== null && COMPARISONS[sign](cellOf(column, row), Number(value));
}

function filteredRows() {
  const demands = table.filter.toLowerCase().split(/\s+/).filter(Boolean).map(demand);
  const rows = [];
  for (let row = 0; row < rowCount; ++row) if (demands.every(holds => holds(row))) rows.push(row);
  return rows;
}

/** Sorted by a column; rows without a value come last either way. */
function sortedRows(rows) {
  const column = table.sort;
  if (!column) return rows;
  const order = table.falling ? -1 : 1;
  return rows.sort((one, other) => {
    const [a, b] = [cellOf(column, one), cellOf(column, other)];
    const isEmpty = value => value === null || value === "";
    if (isEmpty(a) || isEmpty(b)) return isEmpty(a) - isEmpty(b) || one - other;
    return order * (typeof a === "number" ? a - b : a < b ? -1 : Number(a > b)) || one - other;
  });
}

/** The rows that the filter leaves, in their order, with the shown columns, as results.csv has them. */
function tableAsCsv() {
  const quoted = text => /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const isFormula = text => /^[=+\-@\t\r']/.test(text) && !/^-\d+(\.\d+)?(e[+-]?\d+)?$/.test(text);
  const shielded = cell => typeof cell === "string" && isFormula(cell) ? `'${cell}` : cell;
  const line = cells => cells.map(cell => quoted(String(cell ?? ""))).join(",");
  return [line(table.columns.map(column => column.name)), ...table.rows.map(row => line(table.columns.map(column => shielded(cellOf(column, row))))), ""].join("\n");
}

function showTable() {
  table.columns = tableColumns();
  table.rows = sortedRows(filteredRows());
  table.page = 0;
  showTableHead();
  showTablePage();
  remember();
}

function showTableHead() {
  byId("rows").tHead.replaceChildren(element("tr", {}, ...table.columns.map(column => {
    const sorted = table.sort === column;
    const button = element("button", {type: "button", "data-column": column.name, title: column.name}, ...breakable(headOf(column)),
      element("span", {class: "arrow", "aria-hidden": "true"}, sorted ? (table.falling ? "▼" : "▲") : ""));
    button.addEventListener("click", () => sortBy(column));
    return element("th", {scope: "col", class: column.texts ? "text" : "", "aria-sort": sorted ? (table.falling ? "descending" : "ascending") : "none"}, button);
  })));
}

/** A column's name that may go on in the next line after a _. */
function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part, place) => place ? [element("wbr"), part] : [part]);
}

/** Rising first, then falling, then in the order of the points. */
function sortBy(column) {
  if (table.sort !== column) Object.assign(table, {sort: column, falling: false});
  else if (!table.falling) table.falling = true;
  else Object.assign(table, {sort: null, falling: false});
  showTable();
  byId("rows").tHead.querySelector(`[data-column="${CSS.escape(column.name)}"]`).focus();
}

function showTablePage() {
  const first = table.page * PAGE;
  const rows = table.rows.slice(first, first + PAGE);
  byId("rows").tBodies[0].replaceChildren(...rows.map(row => element("tr", {}, ...table.columns.map(column =>
    element("td", column.texts ? {class: "text"} : {}, shownCell(column, row))))));
  const of = table.rows.length === rowCount ? `${rowCount}` : `${table.rows.length} (${rowCount} without the filter)`;
  byId("table-shown").textContent = rows.length ? `Rows ${first + 1} to ${first + rows.length} of ${of}` : `No row of ${rowCount} has that`;
  byId("table-before").disabled = table.page === 0;
  byId("table-after").disabled = first + PAGE >= table.rows.length;
  byId("table-pager").hidden = table.rows.length <= PAGE;
}

function turnPage(by) {
  table.page += by;
  showTablePage();
  remember();
  byId("rows").parentElement.scrollTop = 0;
}

/** Pages opened from disk may lack the clipboard's own interface; what is selected can be copied always. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element("textarea", {"aria-hidden": "true", class: "away"});
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function prepareTable() {
  keep("filter", () => table.filter, text => { table.filter = byId("table-filter").value = text; });
  keepYes("all-columns", () => byId("table-columns").value === "all", is => { byId("table-columns").value = is ? "all" : "brief"; });
  keep("sort", () => table.sort ? (table.falling ? "-" : "+") + table.sort.name : "", text => {
    table.sort = data.columns.find(column => column.name === text.slice(1)) ?? null;
    table.falling = table.sort !== null && text[0] === "-";
  });
  byId("table-filter").addEventListener("input", event => {
    table.filter = event.target.value;
    showTable();
  });
  byId("table-columns").addEventListener("change", showTable);
  byId("table-before").addEventListener("click", () => turnPage(-1));
  byId("table-after").addEventListener("click", () => turnPage(1));
  byId("table-copy").addEventListener("click", async () => {
    const done = await copyText(tableAsCsv());
    byId("table-said").textContent = done ? `Copied ${table.rows.length} row${table.rows.length === 1 ? "" : "s"}.` : "The browser does not allow copying.";
  });
}
