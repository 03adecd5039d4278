// The view of the hits (the concordance, with filters and the most frequent field values), and the view of a document.
import * as page from "./base.js";
const { make, link, go, ask, number, flat, tools, downloads } = page;

const SORTS = [
  ["random", "random order"],
  ["text", "text order"],
  ["rank", "index order"],
  ["R1", "following words"],
  ["L1", "preceding words"],
];

const MAX_SORTED = 10000; // the maximum number of hits sorted by adjacent words, or listed with conditions on fields

export async function drawHits(place, s) {
  const isFiltered = s.where.length > 0;
  const isBySide = s.sort === "R1" || s.sort === "L1";
  const name = isFiltered ? "filtered" : page.inMode(s, "hits");
  const query = isFiltered ? page.withFilters(s) : { q: s.queries[0], ...page.modeOf(s) };
  const parameters = { ...query, sort: s.sort, seed: s.sort === "random" ? s.seed : null };
  const list = make("ol", { class: "hits" });
  const more = make("p");
  const note = make("span", { class: "quiet" });
  const again = s.sort === "random" ? link({ seed: String(Number(s.seed) + 1) }, {}, "shuffle again") : null;
  const sample = page.api(name, { ...parameters, sort: "random", seed: s.seed, limit: page.MAX_HITS }, "csv");
  const bar = tools(
    page.chooser("sort", SORTS, s, "Sort by"),
    again,
    note,
    downloads(name, { ...parameters, limit: page.MAX_HITS }),
    make("a", { href: sample, class: "quiet" }, "random sample (CSV)"),
  );
  const facets = make("aside", { class: "facets" });
  const hasFields = page.index.fields.length > 0;
  place.append(
    hasFields || isFiltered ? filters("where", s) : "",
    bar,
    make("div", { class: hasFields ? "with-facets" : undefined }, make("div", {}, list, more), hasFields ? facets : ""),
  );
  let shown = 0;
  const load = async (limit = page.PAGE) => {
    const answer = await ask(name, { ...parameters, offset: shown, limit, ...(hasFields && name === "hits" ? { metadata: 0 } : {}) });
    if (isFiltered && !shown) page.showCount(s, answer);
    for (const hit of answer.hits)
      list.append(make("li", {}, hitLine(hit, hit.fields || answer.metadata?.[hit.document]?.metadata)));
    shown += answer.hits.length;
    answer.reachable ??= isFiltered || isBySide ? Math.min(answer.count, MAX_SORTED) : answer.count;
    if (shown > page.PAGE && shown <= page.MAX_HITS) history.replaceState(history.state, "", page.address({ shown }));
    if (isBySide && answer.reachable < answer.count)
      note.textContent = `only the first ${number.format(answer.reachable)} hits are sorted`;
    more.replaceChildren();
    if (shown < answer.reachable && answer.hits.length) {
      const button = make(
        "button",
        {
          type: "button",
          onclick: () => {
            button.disabled = true;
            load().catch(page.complain);
          },
        },
        `Show more (${number.format(shown)} of ${number.format(answer.count)})`,
      );
      more.append(button);
      new IntersectionObserver(
        (entries, observer) => {
          if (!entries[0].isIntersecting) return;
          observer.disconnect();
          if (!button.disabled) button.click();
        },
        { rootMargin: "400px" },
      ).observe(button);
    } else {
      more.append(make("span", { class: "quiet" }, ending(s, answer, shown)));
    }
  };
  await Promise.all([load(s.shown), hasFields ? drawFacets(facets, s) : null]);
}

function ending(s, answer, shown) {
  if (shown)
    return shown < answer.count
      ? `These are the first ${number.format(shown)} hits in this order.`
      : answer.approx
        ? page.CUT_SHORT
        : "All hits are shown.";
  if (answer.approx) return page.CUT_SHORT;
  if (answer.count) return "";
  if (s.where.length) return "There are no hits in documents that meet all conditions.";
  return s.mode ? "No words match." : "This text does not occur. The search is case-sensitive, and spaces must match.";
}

// ---- fields ----

// A form that lists the conditions on documents, removes one, or adds one. `setting` is "where" or "against".
export function filters(setting, s, label = "Documents with") {
  const input = make("input", {
    type: "text",
    placeholder: `${page.index.fields[0] || "field"}=value`,
    "aria-label": `${label}: another condition`,
    list: "conditions",
    autocapitalize: "off",
    spellcheck: "false",
  });
  const add = (event) => {
    event.preventDefault();
    if (input.value.trim()) go({ [setting]: [...s[setting], input.value.trim()], ...page.NO_DOCUMENT });
  };
  const chips = s[setting].map((condition, k) =>
    link(
      { [setting]: s[setting].filter((_, i) => i !== k) },
      { class: "chip", title: "Remove this condition" },
      make("bdi", {}, condition),
      " ×",
    ),
  );
  return make(
    "form",
    { class: "tools filters", onsubmit: add, id: `${setting}-form` },
    make("span", {}, label),
    ...chips,
    input,
    make("button", { type: "submit" }, "Add"),
  );
}

// Lists the most frequent values of each field among the hits. Skips a field with several values if its most frequent
// value occurs in a single document.
async function drawFacets(place, s) {
  const wide = matchMedia("(min-width: 60rem)").matches;
  const box = make("details", { open: wide }, make("summary", {}, "Fields of the hits"));
  place.append(box);
  try {
    const answer = await ask("facets", { ...page.withFilters(s), limit: 8 });
    const fields = groupedBy(answer.facets, (row) => row.field);
    for (const [field, rows] of fields) {
      if (rows[0].documents < 2 && rows.length > 1) continue;
      const list = make("ul");
      for (const row of rows) {
        const condition = page.condition(field, row.value);
        const where = s.where.includes(condition) ? s.where : [...s.where, condition];
        list.append(
          make(
            "li",
            {},
            link({ where, ...page.NO_DOCUMENT }, {}, make("bdi", {}, flat(row.value) || "(empty)")),
            make("span", { class: "quiet" }, (answer.approx ? "≈ " : "") + number.format(row.count)),
          ),
        );
      }
      box.append(
        make("h2", {}, link({ view: "groups", by: field }, { title: "Group the hits by this field" }, field)),
        list,
      );
    }
  } catch (error) {
    if (error.name === "AbortError") throw error;
    box.append(make("p", { class: "quiet" }, error.message));
  }
}

function groupedBy(rows, key) {
  const ret = new Map();
  for (const row of rows) ret.set(key(row), [...(ret.get(key(row)) || []), row]);
  return ret;
}

// ---- lines and documents ----

const LETTERS = /\p{L}/gu;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/g;
const n_of = (letters, text) => (text.match(letters) || []).length;

// A line gets the direction of most of its letters. The text on either side of the match gets the same direction, so that
// the letters next to the match are the ones that precede and follow it in the document. `fields` are
// the fields of the document.
export function hitLine(hit, fields) {
  const own = fields || {};
  const name = String(own.title || own.url || own.path || (hit.source ? hit.source.split("/").pop() : ""));
  const text = hit.before + hit.match + hit.after;
  const dir = 2 * n_of(RIGHT_TO_LEFT, text) > n_of(LETTERS, text) ? "rtl" : "ltr";
  const changes = { document: hit.document, begin: hit.begin, end: hit.end };
  const title = [
    hit.source || "",
    ...Object.entries(own).map(([key, value]) => `${key}: ${String(value).slice(0, 200)}`),
  ].join("\n");
  return link(
    changes,
    { class: dir === "rtl" ? "rtl" : undefined, dir, title },
    make(
      "span",
      { class: "place", dir: "ltr" },
      `${hit.document}:${hit.begin}`,
      name ? " " : "",
      make("bdi", {}, flat(name)),
    ),
    make("span", { class: "before" }, make("bdi", { dir }, flat(hit.before))),
    make("mark", {}, make("bdi", {}, flat(hit.match))),
    make("span", { class: "after" }, make("bdi", { dir }, flat(hit.after))),
  );
}

export async function drawDocument(place, s) {
  const answer = await ask("document", { n: s.document, begin: s.begin, end: s.end, at: s.at });
  const text = make("div", { class: s.tokens ? "document chips" : "document", dir: "auto" });
  let first = null;
  let chip = 0;
  let run = null;
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
  const own = answer.metadata?.metadata || {};
  const move = (to, name) => link({ at: Math.max(0, to) }, {}, name);
  place.append(
    tools(
      link(page.NO_DOCUMENT, { id: "back" }, "← back"),
      make("b", {}, `Document ${number.format(answer.document)}`),
      make("bdi", { class: "quiet" }, answer.source || ""),
      make(
        "span",
        { class: "quiet" },
        `bytes ${number.format(answer.from)}–${number.format(answer.to)} of ${number.format(answer.size)}`,
      ),
      answer.from > 0 ? move(answer.from - 20000, "earlier") : null,
      answer.to < answer.size && window_ ? move(answer.to, "later") : null,
      link(
        { tokens: !s.tokens },
        { "aria-pressed": String(s.tokens), role: "button" },
        s.tokens ? "hide tokens" : "show tokens",
      ),
      downloads("document", { n: s.document, begin: s.begin, end: s.end, at: s.at }),
    ),
  );
  const isAddress = /^https?:\/\/[^\s]+$/.test(own.url || "");
  if (own.title || isAddress)
    place.append(
      make(
        "p",
        { class: "tools" },
        own.title ? make("b", { dir: "auto" }, flat(String(own.title))) : null,
        isAddress ? make("a", { href: own.url, rel: "noopener noreferrer", target: "_blank" }, own.url) : null,
      ),
    );
  place.append(text);
  if (answer.metadata)
    place.append(
      make(
        "details",
        {},
        make("summary", {}, "Metadata"),
        make("pre", { class: "document" }, JSON.stringify(answer.metadata, null, 1)),
      ),
    );
  if (first) first.scrollIntoView({ block: "center" });
}
