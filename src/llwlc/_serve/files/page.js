"use strict";
// Names are put into the page as text only: no markup is ever made of data.
const byId = (id) => document.getElementById(id);
const token = new URLSearchParams(location.hash.slice(1)).get("token") || sessionStorage.getItem("token");
if (token) { sessionStorage.setItem("token", token); history.replaceState(null, "", location.pathname); }
const state = { links: [], node: undefined, about: "", scores: [], key: "", up: false, drawing: null, graph: null, asked: 0, listed: 0, directed: false };

function make(tag, text, options) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  for (const [name, value] of Object.entries(options || {})) node.setAttribute(name, value);
  return node;
}
function shown(name) { // what is not seen, or turns the direction of writing around, is written as its code; piles of accents would cover what is beside them
  return String(name).replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"))
    .replace(/(\p{M}{4})\p{M}+/gu, "$1…");
}
function short(name, most = 48) { // a long name by its beginning and its end
  const text = shown(name);
  return text.length <= most ? text : text.slice(0, most - 1 - (most >> 2)) + "…" + text.slice(-(most >> 2));
}
function trouble(sentence) { byId("trouble").textContent = sentence || ""; byId("trouble").hidden = !sentence; }

async function ask(path, query, body) {
  const options = { headers: {} };
  if (token) options.headers.Authorization = "Bearer " + token;
  if (body) { options.method = "POST"; options.headers["Content-Type"] = "application/json"; options.body = JSON.stringify(body); }
  const address = path + (query ? "?" + new URLSearchParams(query) : "");
  let response;
  try { response = await fetch(address, options); } catch (error) {
    throw new Error("The server does not answer: is llwlc serve still running?");
  }
  let data;
  try { data = await response.json(); } catch (error) { throw new Error("The server's answer was cut off: try again."); }
  if (!response.ok) throw new Error(data.error || "The server refused this request.");
  return data;
}
// every action says what went wrong in one place, and nothing else changes
function attempt(action) {
  return async (...given) => { try { trouble(""); await action(...given); } catch (error) { trouble(error.message); } };
}

// theme
const themes = ["as the system", "light", "dark"], dark = matchMedia("(prefers-color-scheme: dark)");
function themed() {
  const chosen = localStorage.getItem("theme") || themes[0];
  document.documentElement.dataset.theme = chosen === "dark" || (chosen === themes[0] && dark.matches) ? "dark" : "light";
  byId("theme").textContent = "Theme: " + chosen;
  if (state.graph) restyle();
}
byId("theme").addEventListener("click", () => {
  const at = themes.indexOf(localStorage.getItem("theme") || themes[0]);
  localStorage.setItem("theme", themes[(at + 1) % themes.length]);
  themed();
});
dark.addEventListener("change", themed);

// search
let typed = 0;
const search = byId("search"), names = byId("names");
function close() { names.hidden = true; search.setAttribute("aria-expanded", "false"); }
search.addEventListener("input", () => {
  const mine = ++typed, word = search.value.trim();
  if (!word) { close(); return; }
  setTimeout(attempt(async () => {
    if (mine !== typed) return;
    const found = await ask("/nodes", { search: word });
    if (mine !== typed) return;
    names.replaceChildren();
    for (const name of found.nodes) {
      const item = make("li", shown(name), { role: "option", "aria-selected": "false" });
      item.addEventListener("mousedown", (event) => { event.preventDefault(); choose(name); });
      item.name = name;
      names.append(item);
    }
    if (!found.nodes.length) names.append(make("li", "no node is called so", { role: "option", "aria-disabled": "true" }));
    names.hidden = false;
    search.setAttribute("aria-expanded", "true");
  }), 150);
});
search.addEventListener("keydown", (event) => {
  const items = [...names.children].filter((item) => item.name !== undefined);
  const at = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    if (!items.length) return;
    const next = (at + (event.key === "ArrowDown" ? 1 : -1) + items.length) % items.length;
    items.forEach((item, i) => item.setAttribute("aria-selected", String(i === next)));
    items[next].scrollIntoView({ block: "nearest" });
  } else if (event.key === "Enter") {
    event.preventDefault();
    if (at >= 0) choose(items[at].name); else if (search.value.trim()) choose(search.value.trim());
  } else if (event.key === "Escape") close();
});
search.addEventListener("blur", close);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !["INPUT", "TEXTAREA", "SELECT"].includes(document.activeElement.tagName)) { event.preventDefault(); search.focus(); }
});
function choose(name) { typed++; search.value = name; close(); recommend(name); }

// recommendations
const recommend = attempt(async (node) => {
  const mine = ++state.listed, about = byId("links-about");
  about.textContent = "Looking for the likeliest missing links…";
  byId("links").tBodies[0].replaceChildren();
  let found;
  try { found = await ask("/recommend", node === null ? { top: byId("top").value } : { node, top: byId("top").value }); }
  catch (error) { if (mine === state.listed) about.textContent = ""; throw error; }
  if (mine !== state.listed) return; // another list was asked for meanwhile
  state.node = node;
  state.links = found.links;
  state.key = "";
  state.about = (node === null ? "Of the whole graph. " : "Of " + short(node) + ". ") + "Probability among " + found.population + ".";
  if (!state.links.length) state.about = "No candidates: nothing unlinked is near, or alike.";
  listLinks();
});
byId("everyone").addEventListener("click", () => recommend(null));
byId("least").addEventListener("input", listLinks);
byId("top").addEventListener("change", () => { if (state.node !== undefined) recommend(state.node); });
for (const button of byId("links").querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    state.up = state.key === button.dataset.key ? !state.up : ["source", "target", "distance"].includes(button.dataset.key);
    state.key = button.dataset.key;
    listLinks();
  });
}
function wanted() { // the links as they are shown, and as they are exported
  const least = Number(byId("least").value) || 0, key = state.key, sign = state.up ? 1 : -1;
  const rows = state.links.filter((link) => link.probability >= least);
  const value = (link) => (key === "distance" && link.distance === null ? 99 : link[key]);
  if (key) rows.sort((a, b) => (value(a) < value(b) ? -sign : value(a) > value(b) ? sign : 0));
  return rows;
}
function listLinks() {
  const rows = wanted(), key = state.key;
  byId("export-links").disabled = !rows.length;
  byId("links-about").textContent = state.about + (rows.length < state.links.length ? " " + rows.length + " of " + state.links.length + " links have that probability." : "");
  fill("links", rows, (link) => [[link.source], [link.target], [link.probability.toFixed(3), "n"], [link.probability_low.toFixed(3) + "–" + link.probability_high.toFixed(3), "n wide"], [link.common_neighbors, "n"], [link.distance === null ? "> 5" : link.distance, "n"], ...way(link)],
    (link) => explain(link.source, link.target, "candidates"));
  for (const button of byId("links").querySelectorAll("th button")) button.parentElement.setAttribute("aria-sort", button.dataset.key === key ? (state.up ? "ascending" : "descending") : "none");
}
function way(item) { return state.directed ? [[item.direction.toFixed(3), "n"]] : []; }
function fill(id, rows, cells, open) {
  const body = byId(id).tBodies[0];
  body.replaceChildren();
  for (const item of rows) {
    const row = make("tr", null, { tabindex: "0" });
    // what has no kind is a name
    for (const [text, kind] of cells(item)) row.append(kind ? make("td", text, { class: kind }) : make("td", short(text), { title: shown(text) }));
    const go = () => {
      for (const other of document.querySelectorAll("tr[aria-selected]")) other.removeAttribute("aria-selected");
      row.setAttribute("aria-selected", "true");
      open(item);
    };
    row.addEventListener("click", go);
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go(); }
      const next = event.key === "ArrowDown" ? row.nextElementSibling : event.key === "ArrowUp" ? row.previousElementSibling : null;
      if (next) { event.preventDefault(); next.focus(); }
    });
    body.append(row);
  }
}

// scores
function parsed(text) {
  const pairs = [];
  for (const [at, line] of text.replace(/^\ufeff/, "").split(/\r?\n/).entries()) {
    if (!line.trim()) continue;
    const cells = [];
    const mark = line.includes("\t") ? "\t" : line.includes(",") || line.trim()[0] === '"' ? "," : line.includes(";") ? ";" : /\s/;
    if (mark instanceof RegExp) cells.push(...line.trim().split(/\s+/));
    else {
      const pattern = new RegExp('\\s*(?:"((?:[^"]|"")*)"|([^' + mark + ']*))\\s*(?:' + mark + "|$)", "y");
      while (pattern.lastIndex < line.length) {
        const found = pattern.exec(line);
        if (!found) break;
        cells.push(found[1] !== undefined ? found[1].replaceAll('""', '"') : found[2].trim());
      }
    }
    if (cells.length < 2 || !cells[0] || !cells[1]) throw new Error("Line " + (at + 1) + " names no two nodes: " + shown(line.slice(0, 60)));
    pairs.push([cells[0], cells[1]]);
  }
  if (pairs.length && /^(source|from|u|a)$/i.test(pairs[0][0]) && /^(target|to|v|b)$/i.test(pairs[0][1])) pairs.shift(); // a header
  if (!pairs.length) throw new Error("Write or drop some pairs first, one per line.");
  return pairs;
}
const scorePairs = attempt(async () => {
  const pairs = parsed(byId("pairs").value), about = byId("scores-about"), before = about.textContent;
  about.textContent = "Scoring " + pairs.length + " pairs…";
  let found;
  try { found = await ask("/score", null, { pairs, prior: Number(byId("prior").value) }); }
  catch (error) { about.textContent = before; throw error; }
  state.scores = found.scores;
  byId("scores-about").textContent = found.scores.length + " pairs. Probability among " + found.population + ".";
  byId("export-scores").disabled = false;
  fill("scores", found.scores.slice(0, 500), (s) => [[s.source], [s.target], [s.score.toFixed(3), "n"], [s.probability.toFixed(4), "n"], ...way(s)], (s) => explain(s.source, s.target, "random"));
  if (found.scores.length > 500) byId("scores-about").textContent += " The first 500 are shown; the export has all.";
});
byId("score").addEventListener("click", scorePairs);
byId("pair").addEventListener("submit", (event) => { event.preventDefault(); explain(byId("u").value.trim(), byId("v").value.trim(), "random"); });
const area = byId("pairs");
// anywhere on the page: beside the field, a browser would leave the page and open the file
document.addEventListener("dragover", (event) => { if ([...event.dataTransfer.types].includes("Files")) { event.preventDefault(); area.classList.add("over"); } });
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) area.classList.remove("over"); });
document.addEventListener("drop", attempt(async (event) => {
  const file = event.dataTransfer.files[0];
  if (!file) return;
  event.preventDefault();
  area.classList.remove("over");
  await take(file);
}));
byId("file").addEventListener("change", attempt(async (event) => {
  const file = event.target.files[0];
  event.target.value = ""; // the same file may be chosen again, changed
  if (file) await take(file);
}));
async function take(file) {
  if (file.size > 1000000) throw new Error("The file is larger than 1 MB: use llwlc score.");
  area.value = await file.text();
  await scorePairs();
}

function cell(value) {
  let text = value === null || value === undefined ? "" : String(value);
  // no spreadsheet is to compute what a name says
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text))) text = "'" + text;
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}
function save(name, columns, rows) {
  const lines = [columns.join(","), ...rows.map((row) => columns.map((c) => cell(row[c])).join(","))];
  const link = make("a", null, { download: name, href: URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
byId("export-links").addEventListener("click", () => save("missing_links.csv", ["source", "target", "score", "probability", "probability_low", "probability_high", "candidate_score", "common_neighbors", "distance", ...(state.directed ? ["direction"] : [])], wanted()));
byId("export-scores").addEventListener("click", () => save("scores.csv", ["source", "target", "score", "probability", ...(state.directed ? ["direction"] : [])], state.scores));

// explanation
const explain = attempt(async (u, v, population) => {
  const mine = ++state.asked, about = byId("why-about");
  about.textContent = "Looking at " + short(u) + " – " + short(v) + "…";
  let found;
  try { found = await ask("/explain", { u, v, population }); }
  catch (error) { if (mine === state.asked) about.textContent = ""; throw error; }
  if (mine !== state.asked) return;
  byId("why").replaceChildren(...ends(found));
  about.textContent = found.linked ? "Linked in the graph, explained as if it were not." : "Not linked in the graph.";
  const predictions = byId("predictions");
  predictions.replaceChildren();
  for (const s of found.predictions) {
    const line = make("div");
    line.append(make("b", s.probability.toFixed(3)), (s.low === null ? "" : " (" + s.low.toFixed(3) + " to " + s.high.toFixed(3) + ")") + " " + s.about);
    predictions.append(line);
  }
  reasons(found);
  picture(found);
  if (matchMedia("(max-width: 56rem)").matches) byId("detail").scrollIntoView();
});
function ends(found) { // of a directed run in the order in which they were asked for
  const told = found.direction || found;
  return [make("bdi", short(told.source, 400)), found.direction ? " → " : " – ", make("bdi", short(told.target, 400))];
}
function directed(d) {
  const source = short(d.source), target = short(d.target);
  return [make("div", "Direction, if there is a link: " + source + " → " + target + " " + d.forward.toFixed(3) + ", " + target + " → " + source + " " + d.backward.toFixed(3) + " (both " + d.both.toFixed(3) + ")"),
    ...effects("For " + source + " → " + target + " against the other direction, in log-odds", d.parts.map((p) => [p.name, p.effect, p.about]))];
}
function effects(title, rows) {
  if (!rows.length) return [];
  const table = make("table"), most = Math.max(1e-9, ...rows.map((r) => Math.abs(r[1])));
  for (const [what, effect, remark] of rows) {
    const row = make("tr"), bar = make("td"), span = make("span", null, { class: effect > 0 ? "effect" : "effect against" });
    span.style.width = Math.round(80 * Math.abs(effect) / most) + "px";
    bar.append(span);
    const text = make("td", what);
    if (remark) text.append(" ", make("span", remark, { class: "dim" }));
    row.append(make("td", (effect > 0 ? "+" : "") + effect.toFixed(2), { class: "n" }), bar, text);
    table.append(row);
  }
  return [make("h3", title), table];
}
function reasons(found) {
  const largest = (rows) => rows.slice().sort((a, b) => Math.abs(b.lost) - Math.abs(a.lost)).slice(0, 8).sort((a, b) => b.lost - a.lost);
  const removals = (rows) => largest(rows).map((r) => [r.nodes.map((name) => short(name)).join(" – "), r.lost, "leaves " + r.probability.toFixed(3)]);
  const place = byId("reasons");
  place.replaceChildren(
    ...(found.direction ? directed(found.direction) : []),
    ...effects("From an average random pair (" + found.reference.toFixed(2) + ") to this one (" + found.predictions[0].log_odds.toFixed(2) + "), in log-odds", found.parts.map((p) => [p.name, p.effect, p.about])),
    ...effects("Lost without an edge", removals(found.edges)),
    ...effects("Lost without a common neighbour", removals(found.common_neighbors)),
    ...effects("Lost without a whole path", removals(found.paths)),
    ...effects("What features add to the cosine of the raw features" + (found.cosine === null ? "" : ", " + found.cosine.toFixed(3)), found.features.map((f) => [short(f.name), f.share, ""])));
  if (found.similar.length) {
    place.append(make("h3", "Existing links that the network reads most alike"));
    const table = make("table", null, { id: "similar" });
    table.append(make("tbody"));
    place.append(table);
    fill("similar", found.similar, (s) => [[short(s.source) + " – " + short(s.target), "pair"], ["distance " + s.distance.toFixed(2) + ", probability " + s.probability.toFixed(3), "dim"]], (s) => explain(s.source, s.target, "random"));
  }
  const spectrum = [
    ...effects("Lost without an eigenvector", largest(found.eigenvectors).map((e) => ["λ = " + e.value.toFixed(3), e.lost, ""])),
    ...effects("Lost without a filter", largest(found.filters).map((f) => [f.where + ", filter " + (f.index + 1), f.lost, ""])),
  ];
  if (spectrum.length) { // for those who ask
    const more = make("details", null, { id: "spectrum" });
    more.append(make("summary", "Eigenvectors and learned filters"), ...spectrum);
    place.append(more);
  }
  for (const note of found.notes) place.append(make("p", note, { class: "dim" }));
}
function tone(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
function blend(share) {
  const full = share > 0 ? [31, 111, 178] : [194, 87, 26];
  return "rgb(" + full.map((c) => Math.round(255 + (c - 255) * Math.abs(share))).join(",") + ")";
}
function restyle() {
  const { drawing, graph } = state, k = Number(byId("vector").value);
  const entries = drawing.nodes.map((n) => n.vectors[k] || 0), most = Math.max(1e-12, ...entries.map(Math.abs));
  const loud = Math.max(0, ...drawing.edges.map((e) => Math.abs(e[2] || 0)));
  graph.batch(() => {
    graph.nodes().forEach((node) => {
      const i = node.data("at"), end = i < 2;
      node.style({ "background-color": blend(entries[i] / most), "border-color": end ? tone("--red") : tone("--plain"), color: tone("--fg"), "text-background-color": tone("--bg") });
    });
    graph.edges().forEach((edge) => {
      const lost = edge.data("lost");
      if (edge.data("pair")) edge.style({ "line-color": tone("--red") });
      else {
        const matters = lost !== null && loud > 0 && Math.abs(lost) >= 0.05 * loud;
        edge.style({ "line-color": !matters ? tone("--plain") : lost > 0 ? tone("--for") : tone("--against"), width: 1 + (matters ? 4 * Math.abs(lost) / loud : 0) });
      }
    });
  });
}
function picture(found) {
  const drawing = found.drawing, side = 300;
  state.drawing = drawing;
  byId("graph").hidden = false;
  byId("colour-tools").hidden = !found.eigenvectors.length;
  const select = byId("vector");
  select.replaceChildren(make("option", "none", { value: -1 }), ...found.eigenvectors.map((e) => make("option", "λ = " + e.value.toFixed(3), { value: e.index })));
  const few = drawing.nodes.length <= 40;
  const elements = drawing.nodes.map((n, i) => ({ group: "nodes", data: { id: "n" + i, at: i, label: i < 2 || (few && i < 14) ? short(n.name, 24) : "", name: shown(n.name) }, position: { x: side * n.x, y: side * n.y } }));
  drawing.edges.forEach(([a, b, lost], i) => elements.push({ group: "edges", data: { id: "e" + i, source: "n" + a, target: "n" + b, lost } }));
  elements.push({ group: "edges", data: { id: "pair", source: "n0", target: "n1", pair: true, lost: null } });
  if (state.graph) state.graph.destroy();
  state.graph = cytoscape({
    container: byId("graph"), elements, layout: { name: "preset", fit: true, padding: 24 }, minZoom: 0.2, maxZoom: 6,
    style: [
      { selector: "node", style: { width: 14, height: 14, "border-width": 1, label: "data(label)", "font-size": 11, "text-valign": "top", "text-background-opacity": 0.75, "text-background-padding": 2 } },
      { selector: "node[at < 2]", style: { width: 24, height: 24, "border-width": 3, "font-size": 22, "text-margin-y": -4 } },
      { selector: "edge", style: { width: 1, "curve-style": "haystack" } },
      { selector: "edge[?pair]", style: { width: 3, "line-style": "dashed", "curve-style": "straight" } },
    ],
  });
  state.graph.on("tap", "node", (event) => { search.value = drawing.nodes[event.target.data("at")].name; recommend(search.value); });
  state.graph.on("mouseover", "node", (event) => { byId("graph-about").textContent = event.target.data("name"); });
  state.graph.on("mouseover", "edge", (event) => {
    const edge = event.target, lost = edge.data("lost");
    byId("graph-about").textContent = edge.data("pair") ? "the pair" : edge.source().data("name") + " – " + edge.target().data("name") + ": " + (lost === null ? "not tried" : lost.toFixed(2));
  });
  byId("graph-about").textContent = drawing.nodes.length + " of " + drawing.all_nodes + " nodes; dashed: the pair; blue edges speak for the link, orange ones against it; click a node for its links";
  restyle();
}
byId("vector").addEventListener("change", restyle);

attempt(async () => {
  themed();
  const run = await ask("/run");
  document.title = byId("title").textContent = shown(run.graph) + ": missing links";
  state.directed = run.directed;
  if (run.directed) {
    for (const part of document.querySelectorAll(".way")) part.hidden = false;
    byId("direction-about").textContent = "A link points from source to target; its probability is that of the link and of its direction. " + run.direction;
    byId("u-label").textContent = "From";
    byId("v-label").textContent = "To";
  }
  byId("about").textContent = run.nodes.toLocaleString("en") + " nodes, " + run.links.toLocaleString("en") + " links";
  byId("top").max = run.limits.links;
  byId("trust").textContent = run.trust;
  if (!state.listed) recommend(null); // unless a list was asked for meanwhile
})();
