"use strict";
// Names are put into the page as text only: no markup is ever made of data.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const state = { key: "rank", up: true, chosen: -1, vector: -1 };
data.links.forEach((link, i) => { link.rank = i + 1; });

function make(tag, text, options) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  for (const [name, value] of Object.entries(options || {})) node.setAttribute(name, value);
  return node;
}
function draw(tag, options, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(options)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
function shown(name) { // what would turn the direction of writing around is written as its code
  return name.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}
const nameOf = (i) => shown(data.names[i]);
const short = (text, most = 48) => (text.length <= most ? text : text.slice(0, most - 1 - (most >> 2)) + "…" + text.slice(-(most >> 2))); // a long name by its beginning and its end

function value(link, key) {
  if (key === "u" || key === "v") return data.names[link[key]];
  if (key === "p") return link.p[0];
  if (key === "d") return link.d === null ? 99 : link.d;
  return link[key];
}
function chosen() {
  const word = byId("search").value.trim().toLowerCase(), least = Number(byId("least").value) || 0, kind = byId("kind").value;
  const found = data.links.filter((link) =>
    (!word || data.names[link.u].toLowerCase().includes(word) || data.names[link.v].toLowerCase().includes(word)) &&
    link.p[0] >= least && (!kind || (kind === "share") === (link.cn > 0)));
  const sign = state.up ? 1 : -1;
  return found.sort((a, b) => {
    const x = value(a, state.key), y = value(b, state.key);
    return (x < y ? -sign : x > y ? sign : a.rank - b.rank);
  });
}
function list() {
  const body = byId("table").tBodies[0], links = chosen();
  body.replaceChildren();
  for (const link of links) {
    const row = make("tr", null, { tabindex: "0", "data-rank": link.rank, "aria-selected": String(link.rank === state.chosen) });
    const cells = [link.rank, nameOf(link.u), nameOf(link.v), link.p[0].toFixed(3), link.p[1].toFixed(3) + "–" + link.p[2].toFixed(3), link.cn, link.d === null ? "> 5" : link.d, ...(data.directed ? [link.way.toFixed(3)] : [])];
    cells.forEach((cell, i) => row.append(i === 1 || i === 2 ? make("td", short(cell), { title: cell }) : make("td", cell)));
    row.addEventListener("click", () => choose(link));
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(link); }
      const next = event.key === "ArrowDown" ? row.nextElementSibling : event.key === "ArrowUp" ? row.previousElementSibling : null;
      if (next) { event.preventDefault(); next.focus(); }
    });
    body.append(row);
  }
  byId("count").textContent = links.length + " of " + data.links.length + " links";
  for (const button of document.querySelectorAll("th button")) {
    const mine = button.dataset.key === state.key;
    button.parentElement.setAttribute("aria-sort", mine ? (state.up ? "ascending" : "descending") : "none");
  }
}
function colour(share) {
  const full = share > 0 ? [31, 111, 178] : [194, 87, 26];
  return "rgb(" + full.map((c) => Math.round(255 + (c - 255) * Math.abs(share))).join(",") + ")";
}
function picture(link) {
  const svg = draw("svg", { viewBox: "-560 -540 1120 1080", class: "graph", role: "img", "aria-label": "the enclosing subgraph" });
  const most = Math.max(0, ...link.lines.map((l) => Math.abs(l[2] || 0)));
  const at = (i) => link.nodes[i];
  const lines = link.lines.slice().sort((a, b) => Math.abs(a[2] || 0) - Math.abs(b[2] || 0));
  for (const [a, b, lost] of lines) {
    const matters = lost !== undefined && most > 0 && Math.abs(lost) >= 0.05 * most;
    const line = draw("line", { x1: at(a)[1], y1: at(a)[2], x2: at(b)[1], y2: at(b)[2], stroke: !matters ? "#9aa0a6" : lost > 0 ? "var(--a)" : "var(--b)", "stroke-width": 2 + (matters ? 8 * Math.abs(lost) / most : 0) });
    line.append(draw("title", {}, nameOf(at(a)[0]) + " – " + nameOf(at(b)[0]) + ": " + (lost === undefined ? "not tried" : lost.toFixed(2))));
    svg.append(line);
  }
  svg.append(draw("line", { x1: at(0)[1], y1: at(0)[2], x2: at(1)[1], y2: at(1)[2], stroke: "var(--red)", "stroke-width": 6, "stroke-dasharray": "18 12", class: "predicted" }));
  const entries = link.vectors[state.vector] || [];
  link.nodes.forEach((node, i) => {
    const end = i < 2;
    const dot = draw("circle", { cx: node[1], cy: node[2], r: end ? 24 : 14, fill: colour((entries[i] || 0) / 99), stroke: end ? "var(--red)" : "#555", "stroke-width": end ? 7 : 2 });
    dot.append(draw("title", {}, nameOf(node[0])));
    svg.append(dot);
    if (end || (i < 12 && link.nodes.length <= 24)) {
      const label = draw("text", { x: node[1], y: node[2] - (end ? 34 : 22), "text-anchor": "middle", style: "font-size:" + (end ? 34 : 24) + "px" }, short(nameOf(node[0]), 24));
      svg.append(label);
    }
  });
  return svg;
}
function effects(title, rows) {
  const part = document.createDocumentFragment();
  if (!rows.length) return part;
  part.append(make("h3", title));
  const table = make("table"), most = Math.max(1e-9, ...rows.map((r) => Math.abs(r[1])));
  for (const [what, effect, remark] of rows) {
    const row = make("tr");
    row.append(make("td", (effect > 0 ? "+" : "") + effect.toFixed(2), { class: "n" }));
    const cell = make("td", null, { class: "w" }), bar = make("span", null, { class: effect > 0 ? "bar" : "bar against" });
    bar.style.width = Math.round(80 * Math.abs(effect) / most) + "px";
    cell.append(bar);
    const text = make("td", what);
    if (remark) text.append(" ", make("span", remark, { class: "dim" }));
    row.append(cell, text);
    table.append(row);
  }
  part.append(table);
  return part;
}
function choose(link) {
  state.chosen = link.rank;
  for (const row of byId("table").tBodies[0].rows) row.setAttribute("aria-selected", String(Number(row.dataset.rank) === link.rank));
  const detail = byId("detail");
  detail.replaceChildren(make("h3", nameOf(link.u) + (data.directed ? " → " : " – ") + nameOf(link.v)));
  for (const [about, chance] of link.predictions) {
    const line = make("div");
    line.append(make("b", chance.toFixed(3)), " " + about);
    detail.append(line);
  }
  if (link.direction) {
    const [forward, backward, both] = link.direction.probabilities, u = short(nameOf(link.u)), v = short(nameOf(link.v));
    detail.append(make("div", "Direction, if there is a link: " + u + " → " + v + " " + forward.toFixed(3) + ", " + v + " → " + u + " " + backward.toFixed(3) + " (both " + both.toFixed(3) + ")"));
    detail.append(effects("For " + u + " → " + v + " against the other direction, in log-odds", link.direction.parts));
  }
  if (data.unexplained) {
    detail.append(make("p", "No reasons are given: " + data.unexplained + ".", { class: "dim" }));
    return;
  }
  if (state.vector >= link.values.length) state.vector = -1;
  const label = make("label", "Colour nodes by an eigenvector "), select = make("select", null, { id: "vector" });
  select.append(make("option", "none", { value: -1 }));
  link.values.forEach((v, k) => select.append(make("option", "λ = " + v.toFixed(3), { value: k })));
  select.value = String(state.vector);
  label.append(select);
  let drawn = picture(link);
  select.addEventListener("change", () => {
    state.vector = Number(select.value);
    const next = picture(link);
    drawn.replaceWith(next);
    drawn = next;
  });
  if (link.values.length) detail.append(label);
  detail.append(drawn, make("div", link.shown[0] + " of " + link.shown[1] + " nodes; dashed: the predicted link; blue edges speak for it, orange ones against it", { class: "dim" }));
  const way = (row) => [row[0].map(nameOf).map((name) => short(name)).join(" – "), row[1], "leaves " + row[2].toFixed(3)];
  detail.append(
    effects("From an average random pair (" + link.reference.toFixed(2) + ") to this one (" + link.logOdds.toFixed(2) + "), in log-odds", link.parts.map((effect, i) => [data.parts[i][0], effect, data.parts[i][1]])),
    effects("Lost without an edge", link.edges.map(way)),
    effects("Lost without a common neighbour", link.common.map(way)),
    effects("Lost without a whole path", link.paths.map(way)),
    make("p", link.tried[0] < link.tried[1] ? link.tried[0] + " of " + link.tried[1] + " edges were tried, those nearest to the pair first." : "All edges were tried.", { class: "dim" }));
}
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const key = button.dataset.key;
    state.up = state.key === key ? !state.up : key === "rank" || key === "u" || key === "v" || key === "d";
    state.key = key;
    list();
  });
}
for (const id of ["search", "least", "kind"]) byId(id).addEventListener("input", list);
list();
if (data.links.length) choose(data.links[0]);
