// The search page. The URL holds the state, and every change to it redraws the page. Text is never inserted as HTML.
"use strict";

const VIEWS = [["hits", "Hits"], ["next", "After"], ["previous", "Before"], ["sources", "Sources"], ["compare", "Compare"], ["trace", "Trace"], ["near", "Nearby words"]];
// How the query is read. Every mode except the first needs an index with words.
const MODES = [["", "exactly as written", {}], ["case", "ignoring case", { ignore_case: 1 }], ["wildcards", "words with * and ?", { ignore_case: 1, wildcards: 1 }], ["regex", "regular expressions", { ignore_case: 1, regex: 1 }]];
const OF_WORDS = { count: "word_count", hits: "word_hits", next: "next_words", previous: "previous_words", sources: "word_sources" };
const SORTS = [["random", "random order"], ["text", "text order"], ["rank", "index order"], ["R1", "following words"], ["L1", "preceding words"]];
const PAGE = 50;
const CUT_SHORT = "The search took too long and was cut short. Longer queries are faster.";
const NO_SERVER = "The server is not responding. Restart pyunitok serve, then reload this page.";
const MAX_HITS = 1000; // maximum hits per request
const at = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en-US");
let running = null; // the AbortController of the current requests
let hasWords = false; // whether the index has words

// Creates an element: make("a", {href: "…", class: "x"}, child, "text", …)
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// ---- the state, which is stored in the URL ----

function state() {
  const parameters = new URLSearchParams(location.search);
  return {
    queries: parameters.getAll("q"),
    view: VIEWS.some(([name]) => name === parameters.get("view")) ? parameters.get("view") : "hits",
    sort: parameters.get("sort") || "random", // hits that are adjacent in the index are alike
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

function address(changes) {
  const kept = "document" in changes || "at" in changes || "tokens" in changes || "shown" in changes ? {} : { shown: PAGE };
  const s = { ...state(), ...kept, ...changes };
  const parameters = new URLSearchParams();
  for (const query of s.queries) parameters.append("q", query);
  if (s.view !== "hits") parameters.set("view", s.view);
  if (s.sort !== "random") parameters.set("sort", s.sort);
  if (s.sort === "random" && s.seed !== "0") parameters.set("seed", s.seed);
  if (s.mode !== "") parameters.set("mode", s.mode);
  if (s.shown !== PAGE) parameters.set("shown", s.shown);
  if (s.document !== null && s.document !== undefined) {
    parameters.set("document", s.document);
    parameters.set("begin", s.begin);
    parameters.set("end", s.end);
    if (s.at !== null && s.at !== undefined) parameters.set("at", s.at);
    if (s.tokens) parameters.set("tokens", "1");
  }
  return "/?" + parameters;
}

const NO_DOCUMENT = { document: null, at: null, tokens: false };

function go(changes) {
  history.replaceState({ y: scrollY }, "");
  history.pushState(null, "", address(changes));
  scrollTo(0, 0);
  draw();
}

// A link that changes the state without reloading the page.
function link(changes, attributes, ...children) {
  const follow = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(changes);
  };
  return make("a", { href: address(changes), onclick: follow, ...attributes }, ...children);
}

// ---- requests ----

// The name and the parameters of a request in the mode of the state.
const inMode = (s, name) => (s.mode ? OF_WORDS[name] : name);
const modeOf = (s) => MODES.find(([name]) => name === s.mode)[2];

function api(name, parameters, form = "json") {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters))
    for (const item of Array.isArray(value) ? value : [value]) if (item !== null && item !== undefined) query.append(key, item);
  return `/api/${name}.${form}?${query}`;
}

async function ask(name, parameters) {
  const response = await fetch(api(name, parameters), { signal: running.signal }).catch((error) => {
    throw error.name === "AbortError" ? error : new Error(NO_SERVER);
  });
  const answer = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return { error: `The server returned status ${response.status}.` };
  });
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

const occurrences = (n, approx) => `${approx ? "at least " : ""}${number.format(n)} ${n === 1 ? "occurrence" : "occurrences"}`;

// Replaces newlines and other control characters, so that a hit stays on one line.
const flat = (text) => text.replace(/\n/g, "⏎").replace(/[\u0000-\u001f\u007f\u2028\u2029]/g, " ");

function downloads(name, parameters) {
  return make("span", { class: "quiet" }, make("a", { href: api(name, parameters) }, "JSON"), " · ", make("a", { href: api(name, parameters, "csv") }, "CSV"));
}

// ---- views ----

async function drawHits(place, s) {
  const parameters = { q: s.queries[0], sort: s.sort, seed: s.sort === "random" ? s.seed : null, ...modeOf(s) };
  const select = make("select", { id: "sort", onchange: (event) => go({ sort: event.target.value }) });
  for (const [value, name] of SORTS) select.append(make("option", { value, selected: value === s.sort }, name));
  const list = make("ol", { class: "hits" });
  const more = make("p", {});
  const again = s.sort === "random" ? link({ seed: String(Number(s.seed) + 1) }, {}, "shuffle again") : null;
  const note = make("span", { class: "quiet" });
  place.append(make("div", { class: "tools" }, make("label", { for: "sort" }, "Sort by "), select, again, note, downloads(inMode(s, "hits"), { ...parameters, limit: MAX_HITS })), list, more);
  let shown = 0;
  const load = async (limit = PAGE) => {
    const answer = await ask(inMode(s, "hits"), { ...parameters, offset: shown, limit, metadata: 0 });
    for (const hit of answer.hits) list.append(make("li", {}, hitLine(hit)));
    shown += answer.hits.length;
    answer.reachable ??= answer.count;
    if (shown > PAGE && shown <= MAX_HITS) history.replaceState(history.state, "", address({ shown }));
    if (answer.reachable < answer.count) note.textContent = `only the first ${number.format(answer.reachable)} hits are sorted`;
    more.replaceChildren();
    if (shown < answer.reachable && answer.hits.length) {
      const button = make("button", { type: "button", onclick: () => { button.disabled = true; load().catch(complain); } }, `Show more (${number.format(shown)} of ${number.format(answer.count)})`);
      more.append(button);
      new IntersectionObserver((entries, observer) => {
        if (!entries[0].isIntersecting) return;
        observer.disconnect();
        if (!button.disabled) button.click();
      }, { rootMargin: "400px" }).observe(button);
    } else if (shown) {
      more.append(make("span", { class: "quiet" }, shown < answer.count ? `These are the first ${number.format(shown)} hits in this order.` : answer.approx ? CUT_SHORT : "All hits are shown."));
    } else if (answer.approx) {
      more.append(make("span", { class: "quiet" }, CUT_SHORT));
    } else if (!answer.count) {
      more.append(make("span", { class: "quiet" }, s.mode ? "No words match." : "This text does not occur. The search is case-sensitive, and spaces must match."));
    }
  };
  await load(s.shown);
}

const LETTERS = /\p{L}/gu;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/g;
const n_of = (letters, text) => (text.match(letters) || []).length;

// A line gets the direction of most of its letters. The text on either side of the match gets the same direction, so that
// the letters next to the match are the ones that precede and follow it in the document.
function hitLine(hit) {
  const source = hit.source ? hit.source.split("/").pop() : "";
  const text = hit.before + hit.match + hit.after;
  const dir = 2 * n_of(RIGHT_TO_LEFT, text) > n_of(LETTERS, text) ? "rtl" : "ltr";
  const changes = { document: hit.document, begin: hit.begin, end: hit.end };
  return link(changes, { class: dir === "rtl" ? "rtl" : undefined, dir, title: hit.source || "" },
    make("span", { class: "place", dir: "ltr" }, `${hit.document}:${hit.begin}`, source ? " " : "", make("bdi", {}, source)),
    make("span", { class: "before" }, make("bdi", { dir }, flat(hit.before))),
    make("mark", {}, make("bdi", {}, flat(hit.match))),
    make("span", { class: "after" }, make("bdi", { dir }, flat(hit.after))));
}

function drawNeighbours(name) {
  return async (place, s) => {
    const query = s.queries[0], parameters = { q: query, ...modeOf(s) };
    const answer = await ask(inMode(s, name), parameters);
    answer.rows ??= answer[inMode(s, name)];
    const body = make("tbody");
    for (const row of answer.rows) {
      const label = row.text === "" ? (name === "next" ? "(end of document)" : "(start of document)") : flat(row.text).replace(/ /g, "␣");
      const space = s.mode ? " " : "";
      const extend = () => go({ queries: [name === "next" ? query + space + row.text : row.text + space + query] });
      const text = (s.mode || row.is_text) && row.text !== "" ? make("button", { type: "button", onclick: extend, title: "Extend the query", dir: "auto" }, label) : make("span", { class: "quiet", dir: "auto" }, label);
      body.append(make("tr", {}, make("td", { class: "text" }, text), make("td", { class: "wide" }, bar(row.count, answer.rows[0].count)), make("td", { class: "number" }, number.format(row.count)), make("td", { class: "number" }, percent(row.share))));
    }
    place.append(make("div", { class: "tools" }, make("span", {}, `${number.format(answer.distinct)} distinct${answer.approx ? ", from a sample" : ""}; select one to extend the query`), downloads(inMode(s, name), { ...parameters, limit: 1000 })), table(["", "", "count", "share"], body));
  };
}

async function drawSources(place, s) {
  const parameters = { q: s.queries[0], ...modeOf(s) };
  const answer = await ask(inMode(s, "sources"), parameters);
  answer.rows ??= answer.sources;
  const body = make("tbody");
  for (const row of answer.rows)
    body.append(make("tr", {}, make("td", { class: "path" }, make("bdi", {}, row.source || "(unknown)")), make("td", { class: "wide" }, bar(row.count, answer.rows[0].count)), make("td", { class: "number" }, number.format(row.count)), make("td", { class: "number", title: "documents" }, number.format(row.documents))));
  const note = answer.approx ? make("span", {}, "based on a subset of the hits") : null;
  place.append(make("div", { class: "tools" }, note, downloads(inMode(s, "sources"), { ...parameters, limit: 1000 })), table(["source", "", "count", "documents"], body, "sources"));
}

// The words around the query, those that occur there more often than elsewhere first.
async function drawNear(place, s) {
  const parameters = { q: s.queries[0], ...modeOf(s) };
  const answer = await ask("collocations", parameters);
  const body = make("tbody"), most = Math.max(1, ...answer.collocations.map((row) => row.count));
  for (const row of answer.collocations)
    body.append(make("tr", {}, make("td", { class: "text" }, make("bdi", {}, flat(row.text))), make("td", { class: "wide" }, bar(row.count, most)), make("td", { class: "number" }, number.format(row.count)), make("td", { class: "number", title: "in the corpus" }, number.format(row.total)), make("td", { class: "number" }, row.log_dice.toFixed(1))));
  const note = answer.approx ? "from a sample of the hits; " : "";
  place.append(make("div", { class: "tools" }, make("span", {}, `${note}words up to five words before or after, by logDice`), downloads("collocations", { ...parameters, limit: 1000 })), table(["", "", "count", "total", "logDice"], body));
}

async function drawCompare(place, s) {
  const queries = [...s.queries];
  const input = make("input", { id: "other", type: "text", dir: "auto", "aria-label": "Another phrase" });
  const add = (event) => {
    event.preventDefault();
    if (input.value) go({ queries: [...queries, input.value] });
  };
  const answer = await ask("count", { q: queries });
  const most = Math.max(1, ...answer.counts.map((row) => row.count));
  const body = make("tbody");
  answer.counts.forEach((row, i) => {
    const without = () => go({ queries: queries.filter((_, k) => k !== i) });
    body.append(make("tr", {}, make("td", { class: "text" }, link({ queries: [row.query], view: "hits" }, { dir: "auto" }, flat(row.query).replace(/ /g, "␣"))), make("td", { class: "wide" }, bar(row.count, most)), make("td", { class: "number" }, (row.approx ? "≥ " : "") + number.format(row.count)), make("td", { class: "number" }, rate(1e6 * row.count / Math.max(1, answer.tokens))), make("td", { class: "number" }, queries.length > 1 ? make("button", { type: "button", onclick: without, "aria-label": `Remove ${row.query}` }, "×") : "")));
  });
  place.append(make("form", { class: "tools", onsubmit: add }, make("label", { for: "other" }, "Compare with"), input, make("button", { type: "submit" }, "Add"), downloads("count", { q: queries })), table(["phrase", "", "count", "per million", ""], body));
}

// Shows the text with the parts that also occur in the corpus, in three degrees of rarity, and documents with the chosen
// part.
async function drawTrace(place, s) {
  const parameters = { q: s.queries[0] };
  const answer = await ask("trace", parameters);
  const text = make("p", { class: "document traced", dir: "auto" }), list = make("section", { id: "occurrences", "aria-live": "polite" });
  const levels = answer.spans.map((span) => span.unigramLogprobSum).sort((a, b) => a - b);
  const level = (span) => 1 + Math.floor(3 * levels.indexOf(span.unigramLogprobSum) / levels.length);
  const show = (span, mark) => {
    for (const other of text.querySelectorAll("mark")) other.setAttribute("aria-pressed", String(other === mark));
    const lines = make("ol", { class: "hits" });
    for (const one of span.documents) {
      const letters = Array.from(one.text), end = one.needleOffset + one.needleLength; // offsets count code points
      const before = letters.slice(0, one.needleOffset).join(""), after = letters.slice(end).join("");
      const title = one.metadata?.metadata?.title || one.metadata?.metadata?.url || "";
      lines.append(make("li", {}, hitLine({ document: one.documentIndex, begin: one.begin, end: one.end, source: one.source, before, match: letters.slice(one.needleOffset, end).join(""), after }), title ? make("span", { class: "quiet" }, String(title)) : null));
    }
    const n = span.documents.length;
    list.replaceChildren(make("p", {}, `This part also occurs in the corpus: ${occurrences(span.count, answer.approx)}${n ? `; ${n === 1 ? "one document" : `${n} documents`} below` : ""}.`), lines);
  };
  const encoded = new TextEncoder().encode(answer.text), decode = (a, b) => new TextDecoder().decode(encoded.slice(a, b));
  let at_ = 0;
  for (const span of answer.spans) {
    if (span.beginByte > at_) text.append(decode(at_, span.beginByte));
    const mark = make("mark", { class: `rare${level(span)}`, role: "button", tabindex: "0", "aria-pressed": "false", title: occurrences(span.count, answer.approx) }, decode(Math.max(at_, span.beginByte), span.endByte));
    mark.addEventListener("click", () => show(span, mark));
    mark.addEventListener("keydown", (event) => { if (event.key === "Enter") show(span, mark); });
    text.append(mark);
    at_ = Math.max(at_, span.endByte);
  }
  text.append(decode(at_, encoded.length));
  const n = answer.spansFound;
  const summary = n ? `${n === 1 ? "One part" : `${number.format(n)} parts`} of this text ${n === 1 ? "also occurs" : "also occur"} in the corpus${n > answer.spans.length ? `; the rarest ${answer.spans.length} are marked` : ""}. Select one.` : "No part of at least 24 bytes of this text occurs in the corpus.";
  place.append(make("div", { class: "tools" }, make("span", {}, summary), answer.approx ? make("span", { class: "quiet" }, CUT_SHORT) : null, downloads("trace", parameters)), text, list);
}

async function drawDocument(place, s) {
  const answer = await ask("document", { n: s.document, begin: s.begin, end: s.end, at: s.at });
  const text = make("div", { class: s.tokens ? "document chips" : "document", dir: "auto" });
  let first = null, chip = 0, run = null;
  for (const part of answer.parts) {
    if (s.tokens) {
      chip += part.begins ? 1 : 0;
      const span = make("span", { class: `c${chip % 5}${part.hit ? " hit" : ""}`, title: `id ${part.id}` }, part.text);
      text.append(span);
      if (part.hit) first ||= span;
    } else if (run && run.hit === part.hit) {
      run.node.append(part.text);
    } else {
      run = { hit: part.hit, node: make(part.hit ? "mark" : "span", {}, part.text) };
      text.append(run.node);
      if (part.hit) first ||= run.node;
    }
  }
  const window_ = answer.to - answer.from;
  const move = (to, name) => link({ at: Math.max(0, to) }, {}, name);
  place.append(make("div", { class: "tools" },
    link(NO_DOCUMENT, { id: "back" }, "← back"),
    make("b", {}, `Document ${number.format(answer.document)}`), make("bdi", { class: "quiet" }, answer.source || ""),
    make("span", { class: "quiet" }, `bytes ${number.format(answer.from)}–${number.format(answer.to)} of ${number.format(answer.size)}`),
    answer.from > 0 ? move(answer.from - 20000, "earlier") : null, answer.to < answer.size && window_ ? move(answer.to, "later") : null,
    link({ tokens: !s.tokens }, { "aria-pressed": String(s.tokens), role: "button" }, s.tokens ? "hide tokens" : "show tokens"),
    downloads("document", { n: s.document, begin: s.begin, end: s.end, at: s.at })), text);
  if (answer.metadata) place.append(make("details", {}, make("summary", {}, "Metadata"), make("pre", { class: "document" }, JSON.stringify(answer.metadata, null, 1))));
  if (first) first.scrollIntoView({ block: "center" });
}

function bar(value, most) {
  return make("progress", { class: "bar", value, max: Math.max(1, most), "aria-hidden": "true" });
}

const rate = (value) => (value >= 100 ? number.format(Math.round(value)) : Number(value.toPrecision(3)).toString());

const percent = (share) => (share >= 0.0005 ? (100 * share).toFixed(1) + " %" : "");

function table(heads, body, name) {
  const row = make("tr");
  for (const head of heads) row.append(make("th", { class: ["count", "share", "documents", "per million", "total", "logDice"].includes(head) ? "number" : undefined, scope: "col" }, head));
  return make("table", { class: name }, make("thead", {}, row), body);
}

// ---- drawing ----

function complain(error) {
  if (error.name === "AbortError") return;
  at("problem").textContent = error.message || String(error);
  at("problem").hidden = false;
}

const DRAW = { hits: drawHits, next: drawNeighbours("next"), previous: drawNeighbours("previous"), sources: drawSources, compare: drawCompare, trace: drawTrace, near: drawNear };

function showQuery(query) {
  const box = at("q");
  if (box.value !== typed(query)) box.value = query;
  box.rows = Math.min(6, query.split("\n").length);
}

// A query as the search box returns it, with every newline as "\n".
const typed = (query) => query.replace(/\r\n?/g, "\n");

async function draw() {
  if (running) running.abort();
  running = new AbortController();
  const mine = running;
  const s = state(), query = s.queries[0] || "";
  showQuery(query);
  at("mode").value = s.mode;
  document.title = query ? `${flat(query)} – pyunitok search` : "pyunitok search";
  const asked = new URLSearchParams(location.search).get("view");
  at("problem").hidden = true;
  if (asked !== null && asked !== s.view) complain(new Error(`There is no view named ${asked}; showing the hits instead.`));
  at("welcome").hidden = query !== "" || s.document !== null;
  at("summary").hidden = query === "" || s.document !== null;
  const view = make("div");
  at("view").classList.add("loading");
  const views = at("views");
  views.replaceChildren(...VIEWS.filter(([name]) => name !== "near" || hasWords).map(([name, title]) => link({ view: name, ...NO_DOCUMENT }, { "aria-current": name === s.view ? "page" : undefined }, title)));
  try {
    if (query !== "" && s.document === null) {
      at("count").textContent = "…";
      const answer = await ask(inMode(s, "count"), { q: query, ...modeOf(s) });
      const row = answer.counts ? answer.counts[0] : answer;
      at("count").replaceChildren(make("b", {}, occurrences(row.count, row.approx)), " of ", make("q", {}, make("bdi", {}, flat(query))));
    }
    if (s.document !== null) { at("view").replaceChildren(view); await drawDocument(view, s); }
    else if (query !== "") { at("view").replaceChildren(view); await (DRAW[s.view] || drawHits)(view, s); }
    else at("view").replaceChildren();
  } catch (error) {
    if (mine === running && error.name !== "AbortError") {
      complain(error);
      at("view").replaceChildren(); // remove the answer to the previous query
    }
    if (at("count").textContent === "…") at("count").textContent = "";
  } finally {
    if (mine === running) at("view").classList.remove("loading");
  }
}

at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const s = state(), old = s.queries[0] || "", box = at("q").value;
  const query = box === typed(old) ? old : box;
  go({ queries: query === "" ? [] : s.view === "compare" ? [query, ...s.queries.slice(1)] : [query], ...NO_DOCUMENT });
});
for (const [value, name] of MODES) at("mode").append(make("option", { value }, name));
at("mode").addEventListener("change", () => go({ mode: at("mode").value, ...NO_DOCUMENT }));
at("home").addEventListener("click", (event) => { event.preventDefault(); go({ queries: [], view: "hits", sort: "random", seed: "0", ...NO_DOCUMENT }); at("q").focus(); });
at("q").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return; // in an input method, Enter confirms the composition
  event.preventDefault();
  at("search").requestSubmit();
});
at("q").addEventListener("input", () => { at("q").rows = Math.min(6, at("q").value.split("\n").length); });
history.scrollRestoration = "manual";
window.addEventListener("popstate", (event) => draw().then(() => { if (state().document === null) scrollTo(0, event.state?.y || 0); }));
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, select, textarea");
  if (event.key === "Escape" && state().document !== null) return void go(NO_DOCUMENT);
  if (event.key === "Escape" && isTyping) return void event.target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") { event.preventDefault(); at("q").select(); at("q").focus(); }
  else if (/^[1-7]$/.test(event.key) && event.key <= at("views").children.length && state().queries.length) go({ view: VIEWS[event.key - 1][0], ...NO_DOCUMENT });
  else if (event.key === "j" || event.key === "k") {
    const lines = [...document.querySelectorAll(".hits a")], k = lines.indexOf(document.activeElement);
    const line = lines[event.key === "j" ? k + 1 : k - 1];
    if (line) { line.focus(); line.scrollIntoView({ block: "nearest" }); }
  }
});

fetch("/api/info.json").then((response) => response.json()).then((answer) => {
  at("info").textContent = `${answer.folder}: ${number.format(answer.tokens)} tokens, ${number.format(answer.documents)} documents${answer.normalizes ? ", normalized text" : ""}`;
  for (const query of answer.examples) at("examples").append(make("li", {}, link({ queries: [query] }, { dir: "auto" }, flat(query))));
  at("examples").hidden = !answer.examples.length;
  hasWords = answer.words;
  if (!hasWords) return;
  at("mode").hidden = false;
  if (state().queries.length) draw(); // with the view of nearby words
}).catch(() => complain(new Error(NO_SERVER)));
draw();
