// Code shared by all views: the state (stored in the URL), requests, and elements. Text is never inserted as HTML.

// The views, in three areas of the page. `needs` lists what the index must contain for a view to be available.
export const VIEWS = [
  { name: "hits", title: "Hits", area: "search" },
  { name: "next", title: "After", area: "search" },
  { name: "previous", title: "Before", area: "search" },
  { name: "sources", title: "Sources", area: "search" },
  { name: "compare", title: "Compare", area: "search" },
  { name: "near", title: "Nearby words", area: "search", needs: ["words"] },
  { name: "groups", title: "By field", area: "search", needs: ["fields"] },
  { name: "dispersion", title: "Dispersion", area: "search", needs: ["words"] },
  { name: "together", title: "Together", area: "search" },
  { name: "trace", title: "Trace", area: "texts" },
  { name: "overlap", title: "Overlap", area: "texts" },
  { name: "spans", title: "Spans", area: "texts" },
  { name: "list", title: "Word list", area: "corpus", needs: ["words"] },
  { name: "ngrams", title: "N-grams", area: "corpus" },
  { name: "keyness", title: "Keywords", area: "corpus", needs: ["words", "fields"] },
];
export const AREAS = [
  ["search", "Search"],
  ["texts", "Texts"],
  ["corpus", "Corpus"],
];
// The ways to read a query. Every mode except the first requires an index that stores words.
export const MODES = [
  ["", "exactly as written", {}],
  ["words", "whole words", {}],
  ["case", "ignoring case", { ignore_case: 1 }],
  ["accents", "ignoring case and accents", { ignore_case: 1, ignore_accents: 1 }],
  ["wildcards", "words with * and ?", { ignore_case: 1, wildcards: 1 }],
  ["regex", "regular expressions", { ignore_case: 1, regex: 1 }],
];
const OF_WORDS = {
  count: "word_count",
  hits: "word_hits",
  next: "next_words",
  previous: "previous_words",
  sources: "word_sources",
};
export const PAGE = 50;
export const MAX_HITS = 1000; // the maximum number of hits or rows per request
// The settings of views and their defaults; the URL omits a setting that has its default value.
const SETTINGS = {
  by: "",
  parts: "100",
  n: "2",
  unit: "words",
  least: "3",
  within: "",
  window: "13",
  normalize: "",
  measure: "",
  rows: "50",
};
export const CUT_SHORT = "The search took too long and was cut short. Longer queries are faster.";
export const NO_SERVER = "The server is not responding. Restart pyunitok serve, then reload this page.";
export const NO_DOCUMENT = { document: null, at: null, tokens: false };

export const index = { words: false, fields: [] }; // what the page knows about the index; app.js fills it in
export const at = (id) => document.getElementById(id);
export const number = new Intl.NumberFormat("en-US");
let running = null; // the AbortController of the current requests

// Creates an element: make("a", {href: "…", class: "x"}, child, "text", …)
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null && value !== false)
      element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// ---- the state, which is stored in the URL ----

export function state() {
  const parameters = new URLSearchParams(location.search);
  const settings = Object.entries(SETTINGS).map(([name, value]) => [name, parameters.get(name) ?? value]);
  return {
    ...Object.fromEntries(settings),
    queries: parameters.getAll("q"),
    text: parameters.get("text"), // the text to compare with the corpus, or null; see textOf
    where: parameters.getAll("where"),
    against: parameters.getAll("against"),
    view: VIEWS.some(({ name }) => name === parameters.get("view")) ? parameters.get("view") : "hits",
    sort: parameters.get("sort") || "random", // adjacent hits in the index are similar
    seed: parameters.get("seed") || "0",
    mode: MODES.some(([name]) => name === parameters.get("mode")) ? parameters.get("mode") : "",
    shown: Math.min(MAX_HITS, Number(parameters.get("shown")) || PAGE),
    document: parameters.get("document"),
    begin: parameters.get("begin") || "0",
    end: parameters.get("end") || "0",
    at: parameters.get("at"),
    tokens: parameters.has("tokens"),
  };
}

// The text to compare with the corpus: by default, the query.
export const textOf = (s) => s.text ?? s.queries[0] ?? "";

export function address(changes) {
  const isSameList = ["document", "at", "tokens", "shown", "rows"].some((name) => name in changes);
  const s = { ...state(), ...(isSameList ? {} : { shown: PAGE, rows: SETTINGS.rows }), ...changes };
  const parameters = new URLSearchParams();
  for (const query of s.queries) parameters.append("q", query);
  if (s.text !== null) parameters.set("text", s.text);
  for (const condition of s.where) parameters.append("where", condition);
  for (const condition of s.against) parameters.append("against", condition);
  if (s.view !== "hits") parameters.set("view", s.view);
  if (s.sort !== "random") parameters.set("sort", s.sort);
  if (s.sort === "random" && s.seed !== "0") parameters.set("seed", s.seed);
  if (s.mode !== "") parameters.set("mode", s.mode);
  if (s.shown !== PAGE) parameters.set("shown", s.shown);
  for (const [name, value] of Object.entries(SETTINGS)) if (s[name] !== value) parameters.set(name, s[name]);
  if (s.document !== null && s.document !== undefined) {
    parameters.set("document", s.document);
    parameters.set("begin", s.begin);
    parameters.set("end", s.end);
    if (s.at !== null && s.at !== undefined) parameters.set("at", s.at);
    if (s.tokens) parameters.set("tokens", "1");
  }
  return "/?" + parameters;
}

export function go(changes) {
  history.replaceState({ y: scrollY }, "");
  history.pushState(null, "", address(changes));
  scrollTo(0, 0);
  dispatchEvent(new Event("statechange")); // app.js draws the page
}

// A link that changes the state without reloading the page.
export function link(changes, attributes, ...children) {
  const follow = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(changes);
  };
  return make("a", { href: address(changes), onclick: follow, ...attributes }, ...children);
}

// ---- requests ----

// Stops the current requests. Returns the AbortController of the next ones.
export function restart() {
  if (running) running.abort();
  running = new AbortController();
  return running;
}

export const isCurrent = (controller) => controller === running;

// The name and the parameters of a request in the current mode.
export const inMode = (s, name) => (s.mode ? OF_WORDS[name] : name);
export const modeOf = (s) => MODES.find(([name]) => name === s.mode)[2];
// The parameters of requests about fields, which are the same for text and words.
export const withFilters = (s) => ({ q: s.queries[0], where: s.where, ...(s.mode ? { words: 1, ...modeOf(s) } : {}) });

// The space is required because == is the same as =, and <= and the like are tests.
export const condition = (field, value) => `${field}=${/^[=<>]/.test(value) ? " " : ""}${value}`;

export function api(name, parameters, form = "json") {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters))
    for (const item of Array.isArray(value) ? value : [value])
      if (item !== null && item !== undefined) query.append(key, item);
  return `/api/${name}.${form}?${query}`;
}

export async function ask(name, parameters) {
  const response = await fetch(api(name, parameters), { signal: running?.signal }).catch((error) => {
    throw error.name === "AbortError" ? error : new Error(NO_SERVER);
  });
  const answer = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return { error: `The server returned status ${response.status}.` };
  });
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

export function complain(error) {
  if (error.name === "AbortError") return;
  at("problem").textContent = error.message || String(error);
  at("problem").hidden = false;
}

// ---- elements and text ----

export const occurrences = (n, approx) =>
  `${approx ? "at least " : ""}${number.format(n)} ${n === 1 ? "occurrence" : "occurrences"}`;

const FILTERED = ["hits", "groups"]; // the views to which conditions on fields apply
export const isFiltered = (s) => s.where.length > 0 && FILTERED.includes(s.view);

// Shows how often the query occurs. Views that filter hits by conditions call this with their own answer.
export function showCount(s, row) {
  const conditions = isFiltered(s) ? [" in documents with ", make("bdi", {}, s.where.join(" and "))] : [];
  at("count").replaceChildren(
    make("b", {}, occurrences(row.count, row.approx)),
    " of ",
    make("q", {}, make("bdi", {}, flat(s.queries[0]))),
    ...conditions,
  );
}

// A note about an answer that is not complete, or null. `counted` is the answer to the count request, or null.
export const partial = (answer, counted) =>
  answer.approx
    ? make("span", { class: "quiet" }, counted?.approx ? CUT_SHORT : "Based on only some of the hits.")
    : null;

// Replaces newlines and other control characters, so that a hit stays on one line.
export const flat = (text) => text.replace(/\n/g, "⏎").replace(/[\u0000-\u001f\u007f\u2028\u2029]/g, " ");

export const rate = (value) =>
  value >= 100 ? number.format(Math.round(value)) : Number(value.toPrecision(3)).toString();
export const percent = (share) => (share >= 0.0005 ? (100 * share).toFixed(1) + " %" : "");
export const fixed = (value, digits) => (value === null ? "∞" : value.toFixed(digits));

export function downloads(name, parameters) {
  const links = [
    make("a", { href: api(name, parameters) }, "JSON"),
    " · ",
    make("a", { href: api(name, parameters, "csv") }, "CSV"),
  ];
  return make("span", { class: "quiet" }, ...links);
}

export const tools = (...children) => make("div", { class: "tools" }, ...children);

export function bar(value, most) {
  return make("progress", { class: "bar", value, max: Math.max(1e-9, most), "aria-hidden": "true" });
}

// A table. A column is a title; or [title], if it contains numbers; or [title, "optional"], if it contains numbers
// and is hidden on phones. A cell is an element or text.
export function table(columns, rows, name) {
  const head = make("tr");
  const body = make("tbody");
  for (const column of columns)
    head.append(make("th", { class: numeric(column), scope: "col" }, Array.isArray(column) ? column[0] : column));
  for (const row of rows) {
    const line = make("tr");
    row.forEach((cell, k) =>
      line.append(
        cell instanceof HTMLTableCellElement
          ? cell
          : make("td", { class: numeric(columns[k]) || (cell instanceof HTMLProgressElement ? "wide" : "text") }, cell),
      ),
    );
    body.append(line);
  }
  return make("table", { class: name }, make("thead", {}, head), body);
}

const numeric = (column) => (Array.isArray(column) ? ["number", ...column.slice(1)].join(" ") : undefined);

// A select element that changes one setting; each choice is [value, name].
export function chooser(setting, choices, s, label, changes = {}) {
  const select = make("select", {
    id: setting,
    onchange: (event) => go({ [setting]: event.target.value, ...changes }),
  });
  for (const [value, name] of choices) select.append(make("option", { value, selected: value === s[setting] }, name));
  return make("span", { class: "setting" }, make("label", { for: setting }, label, " "), select);
}

// A field for a number that changes one setting.
export function numberBox(setting, s, label, attributes) {
  const change = (event) => go({ [setting]: event.target.value });
  return make(
    "span",
    { class: "setting" },
    make("label", { for: setting }, label, " "),
    make("input", { id: setting, type: "number", value: s[setting], onchange: change, class: "short", ...attributes }),
  );
}

// A link that shows more rows of a list, or "" if there cannot be more.
export function moreRows(s, n) {
  return n >= Number(s.rows) && n < MAX_HITS
    ? make("p", {}, link({ rows: String(Math.min(MAX_HITS, 4 * n)) }, {}, "Show more"))
    : "";
}

// A column chart. Each item is {label, value, title, changes}; `changes`, if given, makes the column a link.
export function chart(items, caption) {
  const most = Math.max(1e-9, ...items.map((item) => item.value));
  const columns = make("div", { class: "columns" });
  for (const item of items) {
    const inside = make("span");
    inside.style.height = `${(100 * item.value) / most}%`;
    columns.append(
      item.changes
        ? link(item.changes, { title: item.title, "aria-label": item.title }, inside)
        : make("span", { class: "column", title: item.title }, inside),
    );
  }
  const labels = [items[0], items[(items.length - 1) >> 1], items[items.length - 1]].map((item) =>
    make("span", {}, item.label),
  );
  return make(
    "figure",
    { class: "chart", dir: "ltr" },
    make("figcaption", { class: "quiet" }, `${caption}; the highest column is ${rate(most)}`),
    columns,
    make("div", { class: "axis quiet" }, ...labels),
  );
}
