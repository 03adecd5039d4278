// The views that list words, fields and counts.
import * as page from "./base.js";
import { filters } from "./concordance.js";
const { make, link, go, ask, number, flat, tools, downloads, table, bar, rate } = page;

export const visible = (text) => flat(text).replace(/ /g, "␣");

// A link that searches for a listed word, as a whole word.
export const wordLink = (text, changes = {}) =>
  link({ queries: [text], view: "hits", mode: "words", ...changes }, {}, make("bdi", {}, flat(text)));

export function drawNeighbours(name) {
  return async (place, s, counted) => {
    const query = s.queries[0];
    const parameters = { q: query, ...page.modeOf(s), limit: s.rows };
    const request = page.inMode(s, name);
    const answer = await ask(request, parameters);
    const found = answer.rows ?? answer[request];
    const space = s.mode ? " " : "";
    const rows = found.map((row) => {
      const label =
        row.text === ""
          ? name === "next"
            ? "(end of document)"
            : "(start of document)"
          : s.mode
            ? flat(row.text)
            : visible(row.text);
      const extend = () => go({ queries: [name === "next" ? query + space + row.text : row.text + space + query] });
      const canExtend = (s.mode || row.is_text) && row.text !== "";
      const text = canExtend
        ? make("button", { type: "button", onclick: extend, title: "Extend the query", dir: "auto" }, label)
        : make("span", { class: "quiet", dir: "auto" }, label);
      return [text, bar(row.count, found[0].count), number.format(row.count), page.percent(row.share)];
    });
    const unit = s.mode ? "words" : "tokens or parts of a token";
    const note = `${number.format(answer.distinct)} different ${unit}; select one to extend the query`;
    place.append(
      tools(make("span", {}, note), page.partial(answer, counted), downloads(request, { ...parameters, limit: page.MAX_HITS })),
      table(["", "", ["count"], ["share"]], rows),
      page.moreRows(s, rows.length),
    );
  };
}

export async function drawSources(place, s, counted) {
  const parameters = { q: s.queries[0], ...page.modeOf(s) };
  const request = page.inMode(s, "sources");
  const answer = await ask(request, parameters);
  const found = answer.rows ?? answer.sources;
  const rows = found.map((row) => [
    make("td", { class: "path" }, make("bdi", {}, row.source || "(unknown)")),
    bar(row.count, found[0].count),
    number.format(row.count),
    number.format(row.documents),
  ]);
  place.append(
    tools(page.partial(answer, counted), downloads(request, { ...parameters, limit: page.MAX_HITS })),
    table(["source", "", ["count"], ["documents"]], rows, "sources"),
  );
}

// Compares the counts of several queries, also per million tokens or, in the modes for words, per million words.
export async function drawCompare(place, s) {
  const { counts, total } = s.mode ? await countsOfWords(s) : await countsOfTexts(s);
  const most = Math.max(1, ...counts.map((row) => row.count));
  const rows = counts.map((row, i) => [
    link({ queries: [row.query], view: "hits" }, { dir: "auto" }, visible(row.query)),
    bar(row.count, most),
    (row.approx ? "≥ " : "") + number.format(row.count),
    rate((1e6 * row.count) / Math.max(1, total)),
    remover(s.queries, i, row.query),
  ]);
  const links = s.mode ? null : downloads("count", { q: s.queries });
  place.append(
    adder(s.queries, "Compare with", links),
    table(["phrase", "", ["count"], [s.mode ? "per million words" : "per million"], [""]], rows),
  );
}

async function countsOfTexts(s) {
  const answer = await ask("count", { q: s.queries });
  return { counts: answer.counts, total: answer.tokens };
}

async function countsOfWords(s) {
  const found = await Promise.all(s.queries.map((q) => ask("word_count", { q, ...page.modeOf(s) })));
  const words = await ask("word_list", { limit: 0 });
  return { counts: found.map((row, i) => ({ ...row, query: s.queries[i] })), total: words.count };
}

// A form that adds another query to the state.
function adder(queries, label, ...more) {
  const input = make("input", { id: "other", type: "text", dir: "auto", "aria-label": "Another phrase" });
  const add = (event) => {
    event.preventDefault();
    if (input.value) go({ queries: [...queries, input.value] });
  };
  return make(
    "form",
    { class: "tools", onsubmit: add },
    make("label", { for: "other" }, label),
    input,
    make("button", { type: "submit" }, "Add"),
    ...more,
  );
}

function remover(queries, i, name) {
  const without = () => go({ queries: queries.filter((_, k) => k !== i) });
  return queries.length > 1
    ? make("button", { type: "button", onclick: without, "aria-label": `Remove ${name}` }, "×")
    : "";
}

// Counts the places where several terms occur together.
export async function drawTogether(place, s) {
  const parameters = { q: s.queries, within: s.within || null };
  const answer = await ask("all_of", parameters);
  const most = Math.max(1, ...answer.counts);
  const rows = answer.clauses.map((clause, i) => [
    link({ queries: [clause], view: "hits" }, { dir: "auto" }, visible(clause)),
    bar(answer.counts[i], most),
    (answer.approx ? "≥ " : "") + number.format(answer.counts[i]),
    remover(s.queries, i, clause),
  ]);
  const near =
    answer.within === null ? "in the same document" : `within ${number.format(answer.within)} tokens of each other`;
  const sentence =
    s.queries.length > 1
      ? `The rarest of these occurs ${page.occurrences(answer.count, answer.approx).replace("occurrence", "time")} with all others ${near}.`
      : "Add a second term to count the places where both occur.";
  place.append(
    adder(
      s.queries,
      "Together with",
      page.numberBox("within", s, "within", { min: 0, placeholder: "any" }),
      make("span", {}, "tokens"),
      downloads("all_of", parameters),
    ),
    make(
      "p",
      { id: "together" },
      sentence,
      make("span", { class: "quiet" }, " A term can have alternatives: cat|dog."),
    ),
    table(["term", "", ["count"], [""]], rows),
  );
}

// Lists the words around the query, those most strongly associated with it first.
export async function drawNear(place, s, counted) {
  const measures = [
    ["", "logDice"],
    ["mi", "MI"],
    ["mi3", "MI3"],
    ["t", "t-score"],
    ["log_likelihood", "log-likelihood"],
  ];
  const measure = measures.some(([name]) => name === s.measure) ? s.measure : "";
  const parameters = { q: s.queries[0], ...page.modeOf(s), measure: measure || null, limit: s.rows };
  const answer = await ask("collocations", parameters);
  const found = answer.collocations;
  const most = Math.max(1, ...found.map((row) => row.count));
  const [, title] = measures.find(([name]) => name === measure);
  const rows = found.map((row) => [
    make("bdi", {}, flat(row.text)),
    bar(row.count, most),
    number.format(row.count),
    number.format(row.total),
    page.fixed(row[measure || "log_dice"], 1),
  ]);
  place.append(
    tools(
      make("span", {}, "words at most five words before or after the query"),
      page.partial(answer, counted),
      page.chooser("measure", measures, { measure }, "by"),
      downloads("collocations", { ...parameters, limit: page.MAX_HITS }),
    ),
    table(["", "", ["count"], ["total"], [title]], rows),
    page.moreRows(s, rows.length),
  );
}

// ---- fields ----

const isNumber = (text) => text !== null && text.trim() !== "" && Number.isFinite(Number(text));

// Groups the hits by the values of a field; also draws a chart if most of the values are numbers.
export async function drawGroups(place, s, counted) {
  const fields = [...page.index.fields, "@file"];
  const by = fields.includes(s.by) ? s.by : fields[0];
  const parameters = { ...page.withFilters(s), by, order: "count", limit: 200 };
  const choices = fields.map((name) => [name, name === "@file" ? "input file" : name]);
  place.append(
    filters("where", s),
    tools(
      page.chooser("by", choices, { by }, "Group by"),
      downloads("groups", { ...parameters, limit: page.MAX_HITS }),
    ),
  );
  const answer = await ask("groups", parameters);
  if (page.isFiltered(s)) page.showCount(s, answer);
  const found = answer.groups;
  const numeric = found.filter((row) => isNumber(row.value));
  const hasRates = found.some((row) => row.per_million !== null);
  const value = (row) => (hasRates ? (row.per_million ?? 0) : row.count);
  const filter = (row) => ({ where: [...s.where, page.condition(by, row.value)], view: "hits" });
  if (numeric.length > 2 && numeric.length >= 0.8 * found.length) {
    found.sort((a, b) => (a.value === null) - (b.value === null) || Number(a.value) - Number(b.value));
    numeric.sort((a, b) => Number(a.value) - Number(b.value));
    place.append(
      page.chart(
        numeric.map((row) => ({
          label: row.value,
          value: value(row),
          title: `${row.value}: ${rate(value(row))}`,
          changes: filter(row),
        })),
        hasRates ? `hits per million words by ${by}` : `hits by ${by}`,
      ),
    );
  }
  const most = Math.max(...found.map(value), 0);
  const rows = found.map((row) => [
    make(
      "td",
      { class: "path" },
      row.value === null
        ? make("span", { class: "quiet" }, "(none)")
        : link(filter(row), {}, make("bdi", {}, flat(row.value) || "(empty)")),
    ),
    bar(value(row), most),
    number.format(row.count),
    number.format(row.documents),
    row.per_million === null ? "" : rate(row.per_million),
  ]);
  place.append(
    page.partial(answer, counted) ?? "",
    table([by, "", ["count"], ["documents", "optional"], ["per million words"]], rows),
  );
}

export async function drawDispersion(place, s) {
  const choices = [
    ["10", "10 equal parts"],
    ["100", "100 equal parts"],
    ["1000", "1,000 equal parts"],
    ...[...page.index.fields, "@file"].map((name) => [
      name,
      name === "@file" ? "input files" : `the values of ${name}`,
    ]),
  ];
  const parameters = { q: s.queries[0], ...page.modeOf(s), parts: s.parts };
  place.append(tools(page.chooser("parts", choices, s, "Distribution over"), downloads("dispersion", parameters)));
  const answer = await ask("dispersion", parameters);
  const parts = answer.parts;
  if (answer.approx) place.append(make("p", { class: "quiet" }, page.CUT_SHORT));
  if (!answer.count) return void place.append(answer.approx ? "" : make("p", { class: "quiet" }, "No words match."));
  const isField = !isNumber(s.parts);
  const value = (part) => (isField ? (1e6 * part.count) / Math.max(1, part.words) : part.count);
  const shown = isField ? [...parts].sort((a, b) => b.count - a.count).slice(0, 200) : parts;
  const columns =
    isField && parts.every((part) => isNumber(part.part)) ? [...parts].sort((a, b) => a.part - b.part) : shown;
  const label = (part) => (isField ? part.part : `${Math.round((100 * part.part) / Math.max(1, parts.length - 1))} %`);
  place.append(
    page.chart(
      columns.slice(0, 1000).map((part) => ({
        label: label(part),
        value: value(part),
        title: `${part.part}: ${number.format(part.count)} of ${number.format(part.words)} words`,
      })),
      isField ? "hits per million words in each part" : "hits in each part, from the start of the corpus to its end",
    ),
  );
  const numbers = [
    ["DP", answer.dp, "0: as even as possible; 1: as uneven as possible"],
    ["normalized DP", answer.dp_norm, "DP divided by its maximum for these parts"],
    ["Juilland’s D", answer.juilland_d, "1: even; 0: all hits in one part"],
    ["ARF", answer.arf, `average reduced frequency, at most ${number.format(answer.count)}`],
  ];
  const list = make("dl", { class: "numbers" });
  for (const [name, found, meaning] of numbers)
    list.append(
      make("dt", {}, name),
      make(
        "dd",
        {},
        make("b", {}, found === null ? "–" : Number(found.toPrecision(4)).toString()),
        make("span", { class: "quiet" }, ` ${meaning}`),
      ),
    );
  const note = s.mode ? "" : make("p", { class: "quiet" }, "In this view, the query is read as whole words.");
  place.append(note, list);
  if (isField)
    place.append(
      table(
        [s.parts, "", ["count"], ["words"]],
        shown.map((part) => [
          make("td", { class: "path" }, make("bdi", {}, flat(part.part) || "(empty)")),
          bar(value(part), Math.max(...shown.map(value))),
          number.format(part.count),
          number.format(part.words),
        ]),
      ),
    );
}
