// The views that compare a text with the corpus.
import * as page from "./base.js";
import { hitLine } from "./concordance.js";
const { make, link, go, ask, number, flat, tools, downloads, table, bar, occurrences } = page;

// A form that contains a box for the text and the settings of a view.
function textForm(s, ...settings) {
  const box = make("textarea", {
    id: "text",
    rows: Math.min(12, Math.max(4, page.textOf(s).split("\n").length)),
    dir: "auto",
    spellcheck: "false",
    "aria-label": "Text to compare with the corpus",
    placeholder: "Paste a text, such as a language model's answer or a test set",
  });
  box.value = page.textOf(s);
  const submit = (event) => {
    event.preventDefault();
    go({ text: box.value });
  };
  const keys = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  };
  box.addEventListener("keydown", keys);
  return make(
    "form",
    { class: "text", onsubmit: submit },
    box,
    tools(make("button", { type: "submit" }, "Compare with the corpus"), ...settings),
  );
}

// A checkbox that makes the comparison ignore case, punctuation and white space.
function normalizer(s) {
  if (!page.index.words) return null;
  const change = (event) => go({ normalize: event.target.checked ? "1" : "" });
  return make(
    "label",
    {},
    make("input", { id: "normalize", type: "checkbox", checked: s.normalize !== "", onchange: change }),
    " ignore case and punctuation",
  );
}

const isNormalized = (s) => (page.index.words && s.normalize !== "" ? 1 : null);

// The line above an answer.
function heading(summary, answer, request, parameters) {
  return tools(
    make("span", {}, summary),
    answer.approx ? make("span", { class: "quiet" }, page.CUT_SHORT) : null,
    downloads(request, parameters),
  );
}

const noPart = (answer) =>
  `No part of at least 24 bytes of this text ${answer.approx ? "was found" : "occurs in the corpus"}.`;

// Shows the text and marks the parts that also occur in the corpus, in three degrees of rarity. When a part is
// selected, lists documents that contain it.
export async function drawTrace(place, s) {
  place.append(textForm(s, normalizer(s)));
  if (!page.textOf(s)) return;
  const parameters = { q: page.textOf(s), normalize: isNormalized(s) };
  const answer = await ask("trace", parameters);
  const text = make("p", { class: "document traced", dir: "auto" });
  const list = make("section", { id: "occurrences", "aria-live": "polite" });
  const levels = answer.spans.map((span) => span.unigramLogprobSum).sort((a, b) => a - b);
  const level = (span) => 1 + Math.floor((3 * levels.indexOf(span.unigramLogprobSum)) / levels.length);
  const show = (span, mark) => {
    for (const other of text.querySelectorAll("mark")) other.setAttribute("aria-pressed", String(other === mark));
    const lines = make("ol", { class: "hits" });
    for (const one of span.documents) lines.append(make("li", {}, tracedLine(one)));
    const n = span.documents.length;
    list.replaceChildren(
      make(
        "p",
        {},
        `This part also occurs in the corpus: ${occurrences(span.count, answer.approx)}${n ? `; ${n === 1 ? "one document" : `${n} documents`} below` : ""}.`,
      ),
      lines,
    );
  };
  const encoded = new TextEncoder().encode(answer.text);
  const decode = (a, b) => new TextDecoder().decode(encoded.slice(a, b));
  let at_ = 0;
  for (const span of answer.spans) {
    if (span.beginByte > at_) text.append(decode(at_, span.beginByte));
    const mark = make(
      "mark",
      {
        class: `rare${level(span)}`,
        role: "button",
        tabindex: "0",
        "aria-pressed": "false",
        title: occurrences(span.count, answer.approx),
      },
      decode(Math.max(at_, span.beginByte), span.endByte),
    );
    mark.addEventListener("click", () => show(span, mark));
    mark.addEventListener("keydown", (event) => {
      if (event.key === "Enter") show(span, mark);
    });
    text.append(mark);
    at_ = Math.max(at_, span.endByte);
  }
  text.append(decode(at_, encoded.length));
  const n = answer.spansFound;
  const summary = n
    ? `${n === 1 ? "One part" : `${number.format(n)} parts`} of this text ${n === 1 ? "also occurs" : "also occur"} in the corpus${n > answer.spans.length ? `; the rarest ${answer.spans.length} are marked` : ""}. Select ${n === 1 ? "it" : "one"}.`
    : noPart(answer);
  place.append(
    heading(summary, answer, "trace", parameters),
    text,
    list,
  );
}

function tracedLine(one) {
  const letters = Array.from(one.text);
  const end = one.needleOffset + one.needleLength; // offsets count code points
  const part = (from, to) => letters.slice(from, to).join("");
  return hitLine(
    {
      document: one.documentIndex,
      begin: one.begin,
      end: one.end,
      source: one.source,
      before: part(0, one.needleOffset),
      match: part(one.needleOffset, end),
      after: part(end),
    },
    one.metadata?.metadata,
  );
}

// Shows how many windows of each line of the text occur in the corpus.
export async function drawOverlap(place, s) {
  const units = page.chooser(
    "unit",
    [
      ["words", "words"],
      ["tokens", "tokens"],
      ["bytes", "bytes"],
    ],
    s,
    "",
  );
  place.append(
    textForm(
      s,
      page.numberBox("window", s, "windows of", { min: 1 }),
      units,
      s.unit === "words" ? normalizer(s) : null,
    ),
  );
  if (!page.textOf(s)) return;
  const parameters = {
    q: page.textOf(s),
    n: s.window,
    unit: s.unit,
    normalize: s.unit === "words" ? isNormalized(s) : null,
  };
  const answer = await ask("overlap", parameters);
  const rows = answer.overlap.map((row) => [
    String(row.line),
    make("bdi", {}, flat(row.text)),
    bar(row.share, 1),
    row.short ? "too short" : page.percent(row.share) || "0 %",
    row.short ? "" : `${number.format(row.found)} of ${number.format(row.windows)}`,
    row.document === null ? "" : link({ document: row.document, begin: 0, end: 0 }, {}, String(row.document)),
  ]);
  const n = answer.lines_found;
  const summary = `${number.format(n)} of ${number.format(answer.lines)} lines ${n === 1 ? "shares" : "share"} ${answer.window} successive ${answer.unit} with the corpus`;
  place.append(
    heading(summary, answer, "overlap", parameters),
    table([["line", "optional"], "text", "", ["covered"], ["windows", "optional"], ["document"]], rows, "overlap"),
  );
}

// Lists the longest parts of the text that also occur in the corpus.
export async function drawSpans(place, s) {
  place.append(textForm(s, normalizer(s)));
  if (!page.textOf(s)) return;
  const parameters = { q: page.textOf(s), normalize: isNormalized(s) };
  const answer = await ask("spans", parameters);
  const rows = answer.spans.map((span) => [
    make(
      "td",
      { class: "path" },
      link(
        { queries: [span.text], view: "hits", mode: isNormalized(s) ? "case" : "", text: page.textOf(s) },
        {},
        make("bdi", {}, flat(span.text)),
      ),
    ),
    number.format(span.end - span.begin),
    number.format(span.count),
    span.document === null ? "" : link({ document: span.document, begin: 0, end: 0 }, {}, String(span.document)),
  ]);
  const n = rows.length;
  const summary = n
    ? `${number.format(n)} ${n === 1 ? "part" : "parts"} of at least 24 bytes also ${n === 1 ? "occurs" : "occur"} in the corpus`
    : noPart(answer);
  place.append(
    heading(summary, answer, "spans", parameters),
    n ? table(["part", ["bytes"], ["count"], ["document"]], rows, "spans") : "",
  );
}
