"use strict";
// Names are put into the page as text only: no markup is ever made of data.
const byId = (id) => document.getElementById(id);
const token = new URLSearchParams(location.hash.slice(1)).get("token") || sessionStorage.getItem("token");
if (token) { sessionStorage.setItem("token", token); history.replaceState(null, "", location.pathname); }

function make(tag, text, options) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  for (const [name, value] of Object.entries(options || {})) node.setAttribute(name, value);
  return node;
}
function shown(name) { // what is not seen, or turns the direction of writing around, is written as its code
  return String(name).replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"))
    .replace(/(\p{M}{4})\p{M}+/gu, "$1…");
}
function trouble(sentence) { byId("trouble").textContent = sentence || ""; byId("trouble").hidden = !sentence; }
async function ask(path, query) {
  const options = token ? { headers: { Authorization: "Bearer " + token } } : {};
  let response;
  try { response = await fetch(path + "?" + new URLSearchParams(query || {}), options); } catch (error) {
    throw new Error("The server does not answer: is llwlc serve still running?");
  }
  const data = await response.json();
  if (!response.ok) throw new Error(data.error || "The server refused this request.");
  return data;
}
function attempt(action) {
  return async (...given) => { try { trouble(""); await action(...given); } catch (error) { trouble(error.message); } };
}
function fill(table, rows) { byId(table).tBodies[0].replaceChildren(...rows); }
function row(cells) {
  const line = make("tr");
  for (const cell of cells) line.append(make("td", typeof cell === "string" ? shown(cell) : cell.toFixed(3)));
  return line;
}

let typed = 0, listed = 0, explained = 0;
for (const id of ["search", "u", "v"]) byId(id).addEventListener("input", (event) => {
  const mine = ++typed, word = event.target.value.trim();
  if (word) setTimeout(attempt(async () => {
    if (mine !== typed) return;
    const found = await ask("/nodes", { search: word });
    if (mine === typed) byId("names").replaceChildren(...found.nodes.map((name) => make("option", null, { value: name })));
  }), 150);
});

byId("list").addEventListener("submit", attempt(async (event) => {
  event.preventDefault();
  const mine = ++listed;
  fill("links", []);
  byId("links-about").textContent = "Looking for the likeliest missing links…";
  let found;
  try { found = await ask("/recommend", { node: byId("search").value.trim(), type: byId("kind").value, top: byId("top").value }); }
  catch (error) { byId("links-about").textContent = ""; throw error; }
  if (mine !== listed) return;
  byId("links-about").textContent = found.links.length ? "Probabilities hold " + found.population + "." : "There are no candidates.";
  fill("links", found.links.map((link) => {
    const line = row([link.source, link.type, link.target, link.probability]);
    line.tabIndex = 0;
    const open = () => explain(link.source, link.target, link.type);
    line.addEventListener("click", open);
    line.addEventListener("keydown", (pressed) => { if (pressed.key === "Enter") open(); });
    return line;
  }));
}));

byId("one").addEventListener("submit", (event) => {
  event.preventDefault();
  explain(byId("u").value.trim(), byId("v").value.trim(), byId("type").value);
});
const explain = attempt(async (u, v, type) => {
  const mine = ++explained;
  byId("why-about").textContent = "Computing…";
  byId("facts").replaceChildren();
  fill("patterns", []);
  byId("note").textContent = "";
  let found;
  try { found = await ask("/explain", { u, v, type }); }
  catch (error) { byId("why-about").textContent = ""; throw error; }
  if (mine !== explained) return;
  byId("why-about").textContent = shown(found.source) + " – " + shown(found.type) + " → " + shown(found.target);
  byId("facts").replaceChildren(...found.facts.map((fact) => make("li", shown(fact))));
  fill("patterns", found.patterns.slice(0, 12).map((p) => row([p.steps.join(", "), p.linked + " of " + p.pairs, p.via.slice(0, 3).join(", ")])));
  byId("note").textContent = found.note;
});

attempt(async () => {
  const run = await ask("/run");
  byId("about").textContent = run.nodes + " nodes, " + run.links + " links of " + run.types.length + " types; MRR " + (100 * run.measured.mrr).toFixed(1) + " of hidden links";
  for (const id of ["kind", "type"]) byId(id).append(...run.types.map((name) => make("option", shown(name), { value: name })));
})();
