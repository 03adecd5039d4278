// The views of the complete corpus: its words, n-grams and keywords.
import * as page from "./base.js";
import { filters } from "./concordance.js";
import { visible, wordLink } from "./lists.js";
const { make, link, ask, number, tools, downloads, table, bar, rate } = page;

// A link that searches for the text of some tokens, or only the text if it contains bytes that are not valid UTF-8.
function tokensLink(text) {
  const shown = make("bdi", {}, visible(text));
  return /\\x[0-9a-f]{2}/.test(text) ? shown : link({ queries: [text], view: "hits", mode: "" }, {}, shown);
}

export async function drawList(place, s) {
  const query = s.queries[0] || "";
  const isPattern = s.mode !== "" && query !== "" && !/\s/.test(query);
  const parameters = { ...(isPattern ? { q: query } : {}), ...page.modeOf(s), limit: s.rows };
  const answer = await ask("word_list", parameters);
  const found = answer.word_list;
  const rows = found.map((row) => [
    wordLink(row.text, s.mode === "case" || s.mode === "accents" ? { mode: s.mode } : {}),
    bar(row.count, found[0].count),
    number.format(row.count),
    rate(1e6 * row.share),
  ]);
  const which = isPattern
    ? [make("span", {}, "words that match "), make("bdi", {}, query)]
    : [make("span", {}, "words of the corpus")];
  const hint = isPattern
    ? null
    : make(
        "span",
        { class: "quiet" },
        "To list only matching words, choose “words with * and ?” above and search for a pattern such as *ing.",
      );
  place.append(
    tools(
      make("span", {}, `${number.format(answer.distinct)} different `, ...which),
      hint,
      downloads("word_list", { ...parameters, limit: page.MAX_HITS }),
    ),
    table(["word", "", ["count"], ["per million"]], rows),
    page.moreRows(s, rows.length),
  );
}

export async function drawNgrams(place, s) {
  const ofWords = page.index.words && s.unit !== "tokens";
  const request = ofWords ? "word_ngrams" : "ngrams";
  const parameters = { n: s.n, min: s.least, limit: s.rows };
  const units = page.index.words
    ? page.chooser(
        "unit",
        [
          ["words", "words"],
          ["tokens", "tokens"],
        ],
        s,
        "",
      )
    : make("span", {}, "tokens");
  place.append(
    tools(
      page.numberBox("n", s, "Sequences of", { min: 1, max: 16 }),
      units,
      page.numberBox("least", s, "at least", { min: 1 }),
      make("span", {}, "times"),
      downloads(request, { ...parameters, limit: page.MAX_HITS }),
    ),
  );
  const found = (await ask(request, parameters))[request];
  const rows = found.map((row) => [
    ofWords ? wordLink(row.text) : tokensLink(row.text),
    bar(row.count, found[0].count),
    number.format(row.count),
  ]);
  place.append(
    rows.length ? table(["", "", ["count"]], rows) : make("p", { class: "quiet" }, "No sequence occurs that often."),
    page.moreRows(s, rows.length),
  );
}

// Lists the words that are more frequent in the documents that meet some conditions than in other documents.
export async function drawKeyness(place, s) {
  const measures = [
    ["", "log-likelihood"],
    ["simple_maths", "simple maths"],
    ["diff", "%DIFF"],
    ["log_ratio", "log ratio"],
  ];
  const measure = measures.some(([name]) => name === s.measure) ? s.measure : "";
  const shown = measure || "log_likelihood";
  const parameters = {
    where: s.where,
    against: s.against,
    ...page.modeOf(s),
    measure: measure || null,
    min: s.least,
    limit: s.rows,
  };
  place.append(
    filters("where", s, "Words of documents with"),
    filters(
      "against",
      s,
      s.against.length ? "compared with documents with" : "compared with all other documents, or those with",
    ),
    await conditionList(),
    tools(
      page.chooser("measure", measures, { measure }, "by"),
      page.numberBox("least", s, "at least", { min: 1 }),
      make("span", {}, "times"),
      s.where.length ? downloads("keyness", { ...parameters, limit: page.MAX_HITS }) : null,
    ),
  );
  if (!s.where.length)
    return void place.append(
      make("p", { class: "quiet" }, "Add a condition to see the words that are typical of these documents."),
    );
  const found = (await ask("keyness", parameters)).keyness;
  const most = Math.max(1, ...found.map((row) => row[shown] ?? 0));
  const rows = found.map((row) => [
    wordLink(row.text),
    bar(row[shown] ?? most, most),
    number.format(row.count),
    rate(row.per_million),
    rate(row.per_million_reference),
    page.fixed(row[shown], 1),
  ]);
  const [, title] = measures.find(([name]) => name === measure);
  place.append(
    table(["word", "", ["count"], ["per million", "optional"], ["reference", "optional"], [title]], rows),
    page.moreRows(s, rows.length),
  );
}

// Suggests conditions: the values of fields that occur in more than one document.
async function conditionList() {
  const list = make("datalist", { id: "conditions" });
  const { values } = await ask("values", { limit: 30 });
  for (const row of values) if (row.documents > 1) list.append(make("option", { value: page.condition(row.field, row.value) }));
  return list;
}
