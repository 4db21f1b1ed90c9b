/* The X-ray of a page: its image beside the lines that were read on it. It is opened by links whose fragment begins with
   `#xray=`, and asks for everything at addresses below `/-/`. Texts of documents are hostile: they are set with
   `textContent` only. */

import { SHAPES as SHARED, base, drawing, element, fill, iconButton } from "./elements.js";

const LINK = 'a[href^="#xray="]', KINDS = ["layer", "good", "doubtful", "bad", "hand"];
const SHAPES = {
  ...SHARED, edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3", undo: "M9 7L4 12l5 5M4 12h10a5 5 0 0 1 0 10h-2", header: "M4 5h16v14H4zM4 10h16M10 10v9",
};

let texts = {}, xray = null;

export default function ({ parentElement, data: [data] }) {
  texts = data.texts;
  if (!parentElement.querySelector(".docmind-reader-part")) parentElement.append(element("span", "docmind-reader-part"));
  xray ??= build();
  xray.redrawn();
}

const button = (shape, label, press, isNamed = false) => iconButton(SHAPES[shape], label, press, isNamed);

async function asked(path, form = null) {
  let answer;
  try {
    answer = await fetch(base() + path, form ? { method: "POST", body: new URLSearchParams(form) } : { credentials: "same-origin" });
  } catch {
    throw new Error(texts.silent);
  }
  if (answer.ok) return answer;
  let told = texts.failed;
  try {
    const found = await answer.json();
    told = [found.error, found.hint].filter(Boolean).join(" ") || told;
  } catch { /* an answer without words */ }
  throw new Error(told);
}

function parsed(fragment) {
  const place = /^#xray=([\w-]{1,64})\.(\d{1,6})$/.exec(fragment);
  return place ? { doc: place[1], page: Number(place[2]) } : null;
}

function build() {
  document.getElementById("docmind-xray")?.remove();
  let ref = null, facts = null, turn = 0, before = "", opener = null, current = 0, editing = 0, picture = "", isBusy = false;

  const pane = element("section");
  pane.id = "docmind-xray";
  pane.hidden = true;
  pane.tabIndex = -1;
  pane.setAttribute("role", "dialog");
  pane.setAttribute("aria-modal", "true");
  pane.setAttribute("aria-label", texts.xray);
  const heading = element("h2", "", texts.xray), told = element("p", "facts"), names = element("div", "names");
  names.append(heading, told);
  const header = element("header");
  header.append(names, button("close", texts.close, () => close()));

  const previous = button("previous", texts.previous, () => go(ref.page - 1)), next = button("next", texts.next, () => go(ref.page + 1));
  const number = element("input", "number"), of = element("span", "of");
  number.inputMode = "numeric";
  number.setAttribute("aria-label", texts.page);
  number.addEventListener("change", () => go(parseInt(number.value, 10) || ref.page));
  const doubtful = button("down", texts.nextDoubtful, () => toDoubtful(), true);
  const legend = element("ul", "legend"), bar = element("div", "bar");
  bar.setAttribute("role", "toolbar");
  bar.setAttribute("aria-label", texts.xray);
  const cover = element("details", "cover"), coverTitle = element("summary", "", texts.toLookAt), coverList = element("ul");
  cover.append(coverTitle, coverList);
  const again = element("details", "cover"), engines = element("ul");
  again.append(element("summary", "", texts.again), engines);
  bar.append(previous, number, of, next, legend, doubtful, again, cover);

  const view = element("div", "view"), sheet = element("div", "sheet"), image = element("img");
  const marks = drawing("svg", { "aria-hidden": "true", preserveAspectRatio: "none" });
  image.draggable = false;
  sheet.append(image, marks);
  view.append(sheet);
  view.tabIndex = 0;
  view.setAttribute("role", "region");
  view.setAttribute("aria-label", texts.page);
  const side = element("div", "side"), list = element("ol"), notes = element("div", "notes");
  list.setAttribute("aria-label", texts.lines);
  side.append(notes, list);
  const status = element("div", "status"), statusText = element("span"), takeBack = button("undo", texts.takeBack, () => undoLast?.(), true);
  statusText.setAttribute("role", "status");
  takeBack.hidden = true;
  status.append(statusText, takeBack);
  const body = element("div", "body");
  body.append(view, side);
  pane.append(header, bar, body, status);
  document.body.append(pane);
  let undoLast = null;

  /* opening, turning, closing */

  function open(wanted, link) {
    if (pane.hidden) {
      before = parsed(location.hash) ? "" : location.hash;
      opener = link || document.activeElement;
    }
    pane.hidden = false;
    cover.open = again.open = false;
    tell("");
    if (!facts || facts.doc !== wanted.doc) {
      cover.hidden = true;
      loadCoverage(wanted.doc);
    }
    show(wanted);
    pane.focus({ preventScroll: true });
  }

  function close() {
    if (pane.hidden) return;
    turn++;
    pane.hidden = true;
    editing = 0;
    facts = null;
    if (parsed(location.hash)) history.replaceState(history.state, "", location.pathname + location.search + before);
    if (opener?.isConnected) opener.focus({ preventScroll: true });
    opener = null;
  }

  function go(page) {
    const wanted = Math.min(Math.max(1, page), facts?.pages || 1);
    number.value = ref.page;
    if (wanted === ref.page) return;
    tell("");
    history.replaceState(history.state, "", `${location.pathname}${location.search}#xray=${ref.doc}.${wanted}`);
    show({ ...ref, page: wanted });
  }

  async function show(wanted) {
    const mine = ++turn;
    ref = wanted;
    editing = 0;
    current = 0;
    number.value = ref.page;
    pane.dataset.shown = "";
    try {
      const found = await (await asked(`/lines/${ref.doc}/${ref.page}`)).json();
      if (mine !== turn) return;
      facts = found;
      draw();
      const shown = await (await asked(`/page/${ref.doc}/${ref.page}/image`)).blob();
      if (mine !== turn) return;
      if (picture) URL.revokeObjectURL(picture);
      picture = URL.createObjectURL(shown);
      image.src = picture;
      await image.decode();
      if (mine === turn) pane.dataset.shown = String(ref.page);
    } catch (error) {
      if (mine === turn) fail(error);
    }
  }

  function fail(error) {
    facts = null;
    list.replaceChildren();
    marks.replaceChildren();
    image.removeAttribute("src");
    const trouble = element("div", "trouble");
    trouble.setAttribute("role", "alert");
    trouble.append(element("p", "", error.message), button("", texts.retry, () => show(ref), true));
    notes.replaceChildren(trouble);
  }

  async function loadCoverage(doc) {
    let found = [];
    try { found = await (await asked(`/coverage/${doc}`)).json(); } catch { /* the page itself tells what is wrong */ }
    if (ref.doc !== doc) return;
    cover.hidden = found.length === 0;
    coverList.replaceChildren(...found.slice(0, 200).map(([page, text]) => {
      const item = element("li"), link = element("a", "", text);
      link.href = `#xray=${doc}.${page}`;
      item.append(link);
      return item;
    }));
  }

  /* the page and its lines */

  const kindText = (line) => (["good", "doubtful", "bad"].includes(line.kind) ? `${texts.ocr}: ${texts[line.kind]}` : texts[line.kind]);
  const sureText = (line) => fill(texts.percent, { n: line.sure });

  function draw() {
    told.textContent = [facts.title, facts.title === facts.name ? "" : facts.name].filter(Boolean).join(" · ");
    told.title = told.textContent;
    of.textContent = fill(texts.pageOf, { pages: facts.pages });
    number.value = facts.page;
    previous.disabled = facts.page <= 1;
    next.disabled = facts.page >= facts.pages;
    image.alt = fill(texts.imageOf, { n: facts.page, pages: facts.pages, name: facts.title });
    sheet.style.aspectRatio = `${facts.width} / ${facts.height}`;
    marks.setAttribute("viewBox", `0 0 ${facts.width} ${facts.height}`);
    const counts = Object.fromEntries(KINDS.map((kind) => [kind, facts.lines.filter((line) => line.kind === kind).length]));
    legend.replaceChildren(...KINDS.filter((kind) => counts[kind]).map((kind) => {
      const item = element("li", `kind ${kind}`);
      item.append(element("i"), element("span", "", `${kindText({ kind })} · ${counts[kind]}`));
      return item;
    }));
    again.hidden = !facts.engines.length;
    engines.replaceChildren(...facts.engines.map(([engine, name]) => {
      const item = element("li");
      item.append(button("", name, () => { again.open = false; change("/again", { engine }, { done: texts.reread, during: texts.rereading }); }, true));
      return item;
    }));
    doubtful.hidden = !counts.doubtful && !counts.bad;
    notes.replaceChildren();
    if (!facts.lines.length) {
      const empty = element("div", "trouble");
      empty.append(element("p", "strong", texts.empty), element("p", "", texts.emptyHint));
      notes.append(empty);
    }
    for (const [text, read] of facts.unfit) notes.append(element("p", "unfit", fill(texts.unfit, { text, read })));
    if (facts.unfit.length) notes.append(button("", texts.drop, () => save(0, { undo: "1" }), true));
    if (!current && facts.lines.length) current = facts.lines[0].n;
    drawMarks();
    list.replaceChildren(...facts.lines.map(drawLine));
  }

  function drawMarks() {
    marks.replaceChildren(...facts.lines.filter((line) => line.box).map((line) => {
      const [x, y, width, height] = line.box;
      const rect = drawing("rect", { x, y, width, height, class: `${line.kind}${line.n === current ? " now" : ""}`, "data-n": line.n });
      rect.addEventListener("click", () => choose(line.n, { fromPage: true }));
      rect.addEventListener("dblclick", () => edit(line.n));
      return rect;
    }));
  }

  function drawLine(line) {
    const item = element("li", `kind ${line.kind}${line.n === current ? " now" : ""}`);
    item.dataset.n = line.n;
    if (line.n === editing) {
      item.append(drawEditor(line));
      return item;
    }
    item.tabIndex = line.n === current ? 0 : -1;
    const isSure = line.kind === "layer" || line.kind === "good";
    const said = [fill(texts.line, { n: line.n }), kindText(line), line.kind === "doubtful" || line.kind === "bad" ? sureText(line) : "", line.isHeader ? texts.header : ""];
    item.setAttribute("aria-label", `${said.filter(Boolean).join(", ")}: ${line.text || texts.nothingHere}`);
    if (line.n === current) item.setAttribute("aria-current", "true");
    const text = element("span", "text", line.text || texts.nothingHere);
    if (!line.text) text.classList.add("none");
    item.append(element("i"), text);
    const remarks = [];
    if (line.kind === "doubtful" || line.kind === "bad") remarks.push(`${texts[line.kind]} · ${sureText(line)}`);
    if (line.kind === "hand") remarks.push(`${texts.hand}. ${fill(texts.wasRead, { text: line.read })}`);
    if (line.isHeader) remarks.push(texts.header);
    if (!isSure || remarks.length) text.append(element("small", "", remarks.join(" · ")));
    const tools = element("span", "tools");
    if (line.isTable) {
      const names = button("header", texts.header, () => save(line.n, { header: line.isHeader ? "0" : "1" }));
      names.setAttribute("aria-pressed", String(line.isHeader));
      tools.append(names);
    }
    if (line.kind === "hand") tools.append(button("undo", texts.undo, () => save(line.n, { undo: "1" })));
    tools.append(button("edit", texts.edit, () => edit(line.n)));
    item.append(tools);
    item.addEventListener("click", (event) => { if (!event.target.closest("button") && !String(getSelection())) choose(line.n); });
    item.addEventListener("dblclick", (event) => { if (!event.target.closest("button")) edit(line.n); });
    return item;
  }

  function drawEditor(line) {
    const form = element("form"), field = element("textarea");
    field.value = line.text;
    field.rows = 1;
    field.maxLength = 2000;
    field.setAttribute("aria-label", `${texts.edit}: ${fill(texts.line, { n: line.n })}`);
    const keys = element("small", "", texts.howTo), done = button("", texts.save, () => {}, true);
    done.type = "submit";
    form.append(field, keys, button("", texts.cancel, () => leave(), true), done);
    form.addEventListener("submit", (event) => { event.preventDefault(); save(line.n, { text: field.value }); });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
      if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); leave(); }
    });
    const grow = () => { field.style.height = "auto"; field.style.height = `${field.scrollHeight + 2}px`; };
    field.addEventListener("input", grow);
    requestAnimationFrame(() => { grow(); field.focus(); field.select(); });
    return form;
  }

  const lineItem = (n) => list.querySelector(`li[data-n="${n}"]`);

  function choose(n, { fromPage = false } = {}) {
    if (!facts || editing) return;
    current = n;
    for (const one of pane.querySelectorAll("[data-n]")) one.classList.toggle("now", one.dataset.n === String(n));
    for (const one of list.children) {
      one.tabIndex = one.dataset.n === String(n) ? 0 : -1;
      one.toggleAttribute("aria-current", one.dataset.n === String(n));
      if (one.dataset.n === String(n)) one.setAttribute("aria-current", "true");
    }
    lineItem(n)?.focus({ preventScroll: true });
    if (fromPage || !isSeen(lineItem(n), side)) lineItem(n)?.scrollIntoView({ block: "center" });
    const rect = marks.querySelector(`[data-n="${n}"]`);
    if (!fromPage && rect && !isSeen(rect, view)) rect.scrollIntoView({ block: "center", inline: "nearest" });
  }

  function isSeen(one, within) {
    const box = one.getBoundingClientRect(), frame = within.getBoundingClientRect();
    return box.top >= frame.top && box.bottom <= frame.bottom;
  }

  function toDoubtful() {
    const found = facts.lines.filter((line) => line.kind === "doubtful" || line.kind === "bad");
    const next = found.find((line) => line.n > current) || found[0];
    if (next) choose(next.n);
  }

  function edit(n) {
    if (!facts || isBusy) return;
    choose(n);
    editing = n;
    tell("");
    lineItem(n).replaceWith(drawLine(facts.lines[n - 1]));
  }

  function leave() {
    const n = editing;
    editing = 0;
    if (!facts || !n) return;
    lineItem(n).replaceWith(drawLine(facts.lines[n - 1]));
    lineItem(n).focus();
  }

  function save(n, form) {
    if (isBusy) return;
    const line = facts.lines[n - 1] || { kind: "" };
    if (form.text !== undefined && form.text.trim() === line.text) { leave(); return; }
    const was = line.kind === "hand" ? { text: line.text } : form.header !== undefined ? { header: line.isHeader ? "1" : "0" } : { undo: "1" };
    undoLast = n ? () => save(n, was) : null;
    change(`/${n}`, form, { n, done: n && form.undo ? texts.restored : texts.saved, during: texts.saving, canUndo: n > 0 });
  }

  /* Have the page changed, and draw it as it is then. */
  async function change(path, form, { n = 0, done, during, canUndo = false }) {
    if (isBusy) return;
    const mine = turn;
    isBusy = true;
    pane.setAttribute("aria-busy", "true");
    tell(during);
    try {
      const found = await (await asked(`/lines/${ref.doc}/${ref.page}${path}`, form)).json();
      dispatchEvent(new CustomEvent("docmind-corrected"));
      if (mine !== turn) return;
      editing = 0;
      current = n || Math.min(current, found.lines.length);
      facts = found;
      draw();
      lineItem(current)?.focus({ preventScroll: true });
      tell(done, { canUndo });
      loadCoverage(ref.doc);
    } catch (error) {
      if (mine === turn) tell(error.message, { isTrouble: true });
    } finally {
      isBusy = false;
      pane.removeAttribute("aria-busy");
    }
  }

  function tell(text, { canUndo = false, isTrouble = false } = {}) {
    statusText.setAttribute("role", isTrouble ? "alert" : "status");
    statusText.textContent = text;
    status.classList.toggle("bad", isTrouble);
    status.hidden = !text;
    takeBack.hidden = !canUndo;
  }

  /* keys */

  pane.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Tab") { trap(event); return; }
    const isField = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
    if (event.key === "Escape") { event.preventDefault(); if (cover.open || again.open) cover.open = again.open = false; else close(); return; }
    if (isField || event.ctrlKey || event.metaKey || event.altKey || !facts) return;
    const isLine = event.target instanceof Element && event.target.matches("li[data-n]");
    const act = {
      ArrowDown: () => choose(Math.min(current + 1, facts.lines.length)), ArrowUp: () => choose(Math.max(current - 1, 1)),
      PageDown: () => go(ref.page + 1), PageUp: () => go(ref.page - 1), n: () => toDoubtful(),
      ...(isLine ? { Enter: () => edit(current), F2: () => edit(current), Home: () => choose(1), End: () => choose(facts.lines.length) } : {}),
    }[event.key];
    if (!act || ((event.key === "ArrowDown" || event.key === "ArrowUp") && (!facts.lines.length || event.target === view))) return;
    event.preventDefault();
    act();
  });

  /* The rest of the page is behind this dialog: the tabulator stays in it. */
  function trap(event) {
    const found = [...pane.querySelectorAll('button, a[href], input, textarea, summary, [tabindex="0"]')].filter((one) => one.getClientRects().length && !one.disabled);
    const first = found[0], last = found[found.length - 1], at = document.activeElement;
    if (event.shiftKey ? at === first || at === pane : at === last) {
      event.preventDefault();
      (event.shiftKey ? last : first)?.focus();
    }
  }

  /* links and the address */

  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest(LINK) : null, wanted = link && parsed(link.getAttribute("href"));
    if (!wanted || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    enter(wanted, link);
  }, true);
  addEventListener("docmind-xray", (event) => enter({ doc: event.detail.doc, page: event.detail.page }, document.activeElement));

  function enter(wanted, link) {
    const isOpen = !pane.hidden;
    const url = `${location.pathname}${location.search}#xray=${wanted.doc}.${wanted.page}`, hash = location.hash;
    if (isOpen) history.replaceState(history.state, "", url);
    open(wanted, link);
    if (!isOpen) {
      before = parsed(hash) ? "" : hash;
      history.pushState(history.state, "", url);
    }
  }

  function follow() {
    const wanted = parsed(location.hash);
    if (!wanted) close();
    else if (pane.hidden || wanted.doc !== ref.doc || wanted.page !== ref.page) open(wanted, null);
  }
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);

  return { redrawn() { if (pane.hidden && parsed(location.hash)) follow(); } };
}
