// The search page. The URL stores the state, and every change of the state redraws the page.
import * as page from "./base.js";
import { drawDocument, drawHits } from "./concordance.js";
import { drawKeyness, drawList, drawNgrams } from "./corpus.js";
import {
  drawCompare,
  drawDispersion,
  drawGroups,
  drawNear,
  drawNeighbours,
  drawSources,
  drawTogether,
} from "./lists.js";
import { drawOverlap, drawSpans, drawTrace } from "./texts.js";
const { at, make, link, go, number, flat, state, ask, complain } = page;

const DRAW = {
  hits: drawHits,
  next: drawNeighbours("next"),
  previous: drawNeighbours("previous"),
  sources: drawSources,
  compare: drawCompare,
  near: drawNear,
  groups: drawGroups,
  dispersion: drawDispersion,
  together: drawTogether,
  trace: drawTrace,
  overlap: drawOverlap,
  spans: drawSpans,
  list: drawList,
  ngrams: drawNgrams,
  keyness: drawKeyness,
};
const HOME = {
  queries: [],
  text: null,
  where: [],
  against: [],
  view: "hits",
  sort: "random",
  seed: "0",
  ...page.NO_DOCUMENT,
};

const has = (needs) => (needs === "words" ? page.index.words : page.index.fields.length > 0);
const viewsOf = (area) => page.VIEWS.filter((view) => view.area === area && (view.needs || []).every(has));
const areaOf = (s) => page.VIEWS.find(({ name }) => name === s.view).area;

function showQuery(query) {
  const box = at("q");
  if (box.value !== typed(query)) box.value = query;
  box.rows = Math.min(6, query.split("\n").length);
}

// A query as the search box returns it, with every newline as "\n".
const typed = (query) => query.replace(/\r\n?/g, "\n");

function showLinks(s) {
  const linked = (view, isCurrent, title) =>
    link({ view, ...page.NO_DOCUMENT }, { "aria-current": isCurrent ? "page" : undefined }, title);
  const area = areaOf(s);
  at("areas").replaceChildren(
    ...page.AREAS.map(([name, title]) => linked(viewsOf(name)[0].name, name === area, title)),
  );
  const views = viewsOf(area).map(({ name, title }) => linked(name, name === s.view, title));
  at("views").replaceChildren(...views);
  const current = views.find((view) => view.hasAttribute("aria-current"));
  if (current) at("views").scrollLeft = current.offsetLeft - at("views").offsetLeft - 100; // on phones, views scroll
}

async function draw() {
  const mine = page.restart();
  const s = state();
  const query = s.queries[0] || "";
  const isSearch = areaOf(s) === "search";
  const hasView = s.document === null && (!isSearch || query !== "");
  at("mode").value = s.mode;
  document.title = isSearch && query ? `${flat(query)} – pyunitok search` : "pyunitok search";
  const asked = new URLSearchParams(location.search).get("view");
  at("problem").hidden = true;
  if (asked !== null && asked !== s.view)
    complain(new Error(`There is no view named ${asked}; showing the hits instead.`));
  at("welcome").hidden = hasView || s.document !== null;
  at("summary").hidden = !hasView;
  at("count").hidden = !isSearch;
  const view = make("div");
  at("view").classList.add("loading");
  showLinks(s);
  at("view").replaceChildren(view);
  try {
    const isFiltered = page.isFiltered(s);
    let counted = null;
    if (hasView && isSearch) at("count").textContent = "…";
    if (hasView && isSearch && !isFiltered) {
      const answer = await ask(page.inMode(s, "count"), { q: query, ...page.modeOf(s) });
      counted = answer.counts ? answer.counts[0] : answer;
      page.showCount(s, counted);
    }
    if (isSearch && s.where.length && !isFiltered && hasView)
      view.append(make("p", { class: "quiet" }, "Conditions on fields apply only to Hits and By field."));
    if (s.document !== null) await drawDocument(view, s);
    else if (hasView) await DRAW[s.view](view, s, counted);
  } catch (error) {
    if (page.isCurrent(mine) && error.name !== "AbortError") {
      complain(error);
      if (isSearch) at("view").replaceChildren(); // remove the answer to the previous query
    }
    if (at("count").textContent === "…") at("count").textContent = "";
  } finally {
    if (page.isCurrent(mine)) at("view").classList.remove("loading");
  }
}

// Shows the query and draws the page.
function show() {
  showQuery(state().queries[0] || "");
  return draw();
}

addEventListener("statechange", show);
at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const s = state();
  const old = s.queries[0] || "";
  const box = at("q").value;
  const query = box === typed(old) ? old : box;
  const keepsView = areaOf(s) === "search" || s.view === "list";
  const others = s.view === "compare" || s.view === "together" ? s.queries.slice(1) : [];
  go({ queries: query === "" ? [] : [query, ...others], view: keepsView ? s.view : "hits", ...page.NO_DOCUMENT });
});
for (const [value, name] of page.MODES) at("mode").append(make("option", { value }, name));
at("mode").addEventListener("change", () => go({ mode: at("mode").value, ...page.NO_DOCUMENT }));
at("home").addEventListener("click", (event) => {
  event.preventDefault();
  go(HOME);
  at("q").focus();
});
at("q").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return; // in an input method, Enter confirms the composition
  event.preventDefault();
  at("search").requestSubmit();
});
at("q").addEventListener("input", () => {
  at("q").rows = Math.min(6, at("q").value.split("\n").length);
});
history.scrollRestoration = "manual";
addEventListener("popstate", (event) =>
  show().then(() => {
    if (state().document === null) scrollTo(0, event.state?.y || 0);
  }),
);
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, select, textarea");
  if (event.key === "Escape" && state().document !== null) return void go(page.NO_DOCUMENT);
  if (event.key === "Escape" && isTyping) return void event.target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    at("q").select();
    at("q").focus();
  } else if (/^[1-9]$/.test(event.key) && (areaOf(state()) !== "search" || state().queries.length))
    at("views").children[event.key - 1]?.click();
  else if (event.key === "j" || event.key === "k") {
    const lines = [...document.querySelectorAll(".hits a")];
    const k = lines.indexOf(document.activeElement);
    const line = lines[event.key === "j" ? k + 1 : k - 1];
    if (line) {
      line.focus();
      line.scrollIntoView({ block: "nearest" });
    }
  }
});

showQuery(state().queries[0] || "");
at("view").classList.add("loading");
try {
  const info = await ask("info", {});
  Object.assign(page.index, { words: info.words, fields: info.fields });
  at("info").textContent =
    `${info.folder}: ${number.format(info.tokens)} tokens, ${number.format(info.documents)} documents${info.normalizes ? ", normalized text" : ""}`;
  for (const query of info.examples)
    at("examples").append(make("li", {}, link({ queries: [query] }, { dir: "auto" }, flat(query))));
  at("examples").hidden = !info.examples.length;
  at("mode").hidden = !info.words;
} catch {
  complain(new Error(page.NO_SERVER));
}
draw(); // not show(), which would replace a query that the user has already typed
