// The table of the library: all rows are in the browser, and only those in the window are elements of the page.
// Every text of a document is hostile: it is set with textContent.

const ROW = 44, AROUND = 12, POLL_MS = 2500, TAGS = 3;
const ID = 0, NAME = 1, TITLE = 2, KIND = 3, PAGES = 4, DONE = 5, LANGUAGE = 6, BYTES = 7, ADDED = 8, STATUS = 9, MESSAGE = 10, LABELS = 11, COLLECTIONS = 12;
const DAY = 86400000;
const kept = { find: "", filters: {}, sort: "added", down: true, top: 0 }; // as it was before a document was opened
const tables = new WeakMap();

export default function ({ parentElement, data: [data], setTriggerValue }) {
  let table = tables.get(parentElement);
  if (!table) tables.set(parentElement, (table = new Table(parentElement)));
  table.update(data, setTriggerValue);
  return () => { table.close(); tables.delete(parentElement); };
}

function make(tag, name, text, more = {}) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  for (const [key, value] of Object.entries(more)) element.setAttribute(key, value);
  return element;
}

function icon(name) {
  return make("span", "lib-icon", name, { "aria-hidden": "true", translate: "no" });
}

const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const number = new Intl.NumberFormat("en");
const collator = new Intl.Collator("und", { numeric: true, sensitivity: "base" });
const dates = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

class Table {
  constructor(parent) {
    this.parent = parent;
    this.base = "/" + (location.pathname.split("/")[1] || "") + "/-";
    this.rows = []; this.shown = []; this.hay = [];
    this.selected = new Set(); this.active = -1; this.anchor = -1;
    this.version = ""; this.isRead = false; this.reading = null;
    this.root = make("div", "lib");
    parent.append(this.root); // beside the style sheet, which Streamlit puts there
    this.redraw = () => { if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.paint(); }); };
    document.addEventListener("scroll", this.redraw, { capture: true, passive: true });
    window.addEventListener("resize", this.redraw);
    this.timer = setInterval(() => { if (document.visibilityState === "visible") this.read(); }, POLL_MS);
  }

  close() {
    clearInterval(this.timer);
    this.root.remove();
    document.removeEventListener("scroll", this.redraw, { capture: true });
    window.removeEventListener("resize", this.redraw);
  }

  update(data, trigger) {
    this.data = data; this.words = data.words; this.trigger = trigger;
    if (!this.grid) this.build();
    if (data.turn !== this.turn) { this.turn = data.turn; this.selected.clear(); }
    this.read();
  }

  act(what, ids) {
    this.trigger("act", { what, ids: ids || [...this.selected], at: Date.now() });
  }

  // --- parts

  build() {
    const words = this.words;
    const bar = make("div", "lib-bar", undefined, { role: "search" });
    const find = make("label", "lib-find");
    find.append(icon("search"));
    this.find = make("input", "", undefined, { type: "search", placeholder: words.find, "aria-label": words.find, spellcheck: "false" });
    this.find.value = kept.find;
    this.find.addEventListener("input", () => { kept.find = this.find.value; this.choose(); });
    this.find.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); this.grid.focus(); this.go(0); }
      if (event.key === "Escape" && this.find.value) { event.preventDefault(); this.find.value = kept.find = ""; this.choose(); }
    });
    find.append(this.find);
    bar.append(find);
    this.menus = {};
    for (const name of ["kind", "language", "tag", "collection", "added"]) {
      const menu = make("select", "lib-menu", undefined, { "aria-label": words[name] });
      menu.addEventListener("change", () => { kept.filters[name] = menu.value; this.choose(); });
      this.menus[name] = menu;
      bar.append(menu);
    }
    this.ask = make("button", "lib-button lib-ask", undefined, { type: "button" });
    this.ask.append(icon("forum"), make("span", "", words.ask));
    this.ask.addEventListener("click", () => this.act("ask", [kept.filters.collection]));
    bar.append(this.ask);
    this.clear = make("button", "lib-quiet", words.clear, { type: "button" });
    this.clear.addEventListener("click", () => this.forget());
    bar.append(this.clear);

    this.chosen = make("div", "lib-chosen", undefined, { role: "toolbar", "aria-label": words.selection });
    this.count = make("div", "lib-count", "", { role: "status" });
    this.grid = make("div", "lib-grid", undefined, { role: "grid", tabindex: "0", "aria-label": words.library, "aria-multiselectable": "true" });
    this.grid.addEventListener("keydown", (event) => this.key(event));
    this.grid.addEventListener("focus", () => { if (this.active < 0 && this.shown.length) this.active = 0; this.paint(); });
    this.grid.addEventListener("blur", () => this.paint());
    this.head = make("div", "lib-head", undefined, { role: "row", "aria-rowindex": "1" });
    this.all = make("input", "", undefined, { type: "checkbox", "aria-label": words.all });
    this.all.addEventListener("change", () => this.selectAll(this.all.checked));
    const first = make("div", "lib-check", undefined, { role: "columnheader" });
    first.append(this.all);
    this.head.append(first);
    this.columns = {};
    for (const [name, css] of [["title", "lib-title"], ["pages", "lib-pages"], ["language", "lib-language"], ["tag", "lib-tags"], ["added", "lib-added"]]) {
      const cell = make("div", css, undefined, { role: "columnheader" });
      const button = make("button", "", words.columns[name], { type: "button" });
      button.append(icon("arrow_downward"));
      button.addEventListener("click", () => this.sortBy(name));
      cell.append(button);
      this.head.append(cell);
      this.columns[name] = cell;
    }
    this.body = make("div", "lib-body", undefined, { role: "rowgroup" });
    this.none = make("div", "lib-none");
    this.none.append(make("p", "", words.none));
    const again = make("button", "lib-button", words.clear, { type: "button" });
    again.addEventListener("click", () => this.forget());
    this.none.append(again);
    this.grid.append(this.head, this.body);
    const top = make("div", "lib-top");
    top.append(bar, this.chosen, this.count);
    this.root.append(top, this.grid, this.none);
    this.none.hidden = this.chosen.hidden = true;
  }

  read() {
    this.reading ??= this.readNow().finally(() => { this.reading = null; });
    return this.reading;
  }

  async readNow() {
    try {
      const answer = await fetch(`${this.base}/library?since=${this.version}`);
      if (answer.status === 200) {
        const told = await answer.json();
        this.version = answer.headers.get("docmind-version") || "";
        this.take(told);
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // the server has ended, and the page says so
    }
  }

  take(told) {
    this.names = told;
    this.rows = told.rows;
    this.hay = new Map(this.rows.map((row) => [row[ID], plain([row[NAME], row[TITLE], ...row[LABELS]].join("\n"))]));
    const there = new Set(this.rows.map((row) => row[ID]));
    for (const id of this.selected) if (!there.has(id)) this.selected.delete(id);
    this.fillMenus();
    this.choose(true);
    if (!this.isRead) {
      this.isRead = true;
      const top = kept.top;
      kept.top = 0;
      if (top) requestAnimationFrame(() => { const page = scrolling(this.root); if (page) page.scrollTop = top; });
      performance.mark("library-painted");
    }
  }

  fillMenus() {
    const words = this.words, told = this.names;
    const tags = new Map();
    for (const row of this.rows) for (const tag of row[LABELS]) tags.set(tag, tag);
    const there = (place) => new Set(this.rows.map((row) => row[place]));
    const named = (map, used) => [...used].filter(Boolean).map((code) => [code, map[code] || code]).sort((a, b) => collator.compare(a[1], b[1]));
    const options = {
      kind: named(told.kinds, there(KIND)),
      language: named(told.languages, there(LANGUAGE)),
      tag: [...tags].sort((a, b) => collator.compare(a[1], b[1])),
      collection: Object.entries(told.collections).sort((a, b) => collator.compare(a[1], b[1])),
      added: [["1", words.today], ["7", words.week], ["31", words.month], ["366", words.year]],
    };
    for (const [name, menu] of Object.entries(this.menus)) {
      const values = options[name];
      menu.replaceChildren(make("option", "", words.every[name], { value: "" }), ...values.map(([value, text]) => make("option", "", text, { value })));
      if (!values.some(([value]) => value === kept.filters[name])) kept.filters[name] = "";
      menu.value = kept.filters[name];
      menu.hidden = values.length < (name === "kind" || name === "language" ? 2 : 1);
    }
  }

  // --- which rows, in which order

  choose(isKept = false) {
    const active = this.shown[this.active]?.[ID];
    const { kind, language, tag, collection, added } = kept.filters;
    const parts = plain(kept.find).split(/\s+/).filter(Boolean);
    const since = added ? new Date().setHours(0, 0, 0, 0) - (Number(added) - 1) * DAY : 0;
    this.shown = this.rows.filter((row) =>
      (!kind || row[KIND] === kind) && (!language || row[LANGUAGE] === language) && (!tag || row[LABELS].includes(tag))
      && (!collection || row[COLLECTIONS].includes(collection)) && row[ADDED] >= since
      && parts.every((part) => this.hay.get(row[ID]).includes(part)));
    this.sort();
    this.active = isKept && active ? this.shown.findIndex((row) => row[ID] === active) : -1;
    const isNarrow = parts.length > 0 || Object.values(kept.filters).some(Boolean);
    this.clear.hidden = !isNarrow;
    this.ask.hidden = !collection || !this.shown.length;
    this.none.hidden = this.shown.length > 0 || !this.rows.length;
    this.grid.hidden = !this.shown.length;
    const words = this.words, told = (count, one, many) => fill(count === 1 ? one : many, { n: number.format(count) });
    const pages = this.rows.reduce((sum, row) => sum + row[DONE], 0);
    this.count.textContent = isNarrow
      ? fill(words.some, { n: number.format(this.shown.length), all: number.format(this.rows.length) })
      : fill(words.whole, { documents: told(this.rows.length, words.one, words.many), pages: told(pages, words.page, words.pages) });
    this.paint(true);
  }

  sort() {
    const by = {
      title: (a, b) => collator.compare(a[TITLE] || a[NAME], b[TITLE] || b[NAME]),
      pages: (a, b) => a[PAGES] - b[PAGES],
      language: (a, b) => collator.compare(this.names.languages[a[LANGUAGE]] || "\uffff", this.names.languages[b[LANGUAGE]] || "\uffff"),
      tag: (a, b) => collator.compare(a[LABELS][0] || "\uffff", b[LABELS][0] || "\uffff"),
      added: (a, b) => a[ADDED] - b[ADDED],
    }[kept.sort];
    const sign = kept.down ? -1 : 1;
    this.shown.sort((a, b) => sign * by(a, b));
  }

  sortBy(name) {
    kept.down = kept.sort === name ? !kept.down : name === "pages" || name === "added";
    kept.sort = name;
    this.sort();
    this.active = -1;
    this.paint(true);
  }

  forget() {
    kept.find = this.find.value = "";
    kept.filters = {};
    for (const menu of Object.values(this.menus)) menu.value = "";
    this.choose();
    this.find.focus();
  }

  // --- what is drawn

  paint(isAnew = false) {
    if (!this.grid || !this.root.isConnected) return;
    for (const [name, cell] of Object.entries(this.columns)) {
      const is = kept.sort === name;
      cell.setAttribute("aria-sort", is ? (kept.down ? "descending" : "ascending") : "none");
    }
    this.grid.setAttribute("aria-rowcount", String(this.shown.length + 1));
    this.body.style.height = `${this.shown.length * ROW}px`;
    const at = this.body.getBoundingClientRect().top;
    const from = Math.max(0, Math.floor(-at / ROW) - AROUND);
    const to = Math.min(this.shown.length, Math.ceil((window.innerHeight - at) / ROW) + AROUND);
    if (isAnew) { this.drawn = new Map(); this.body.replaceChildren(); }
    for (const [place, element] of this.drawn) if (place < from || place >= to) { element.remove(); this.drawn.delete(place); }
    for (let place = from; place < to; place += 1) {
      if (!this.drawn.has(place)) {
        const element = this.row(this.shown[place], place);
        this.drawn.set(place, element);
        this.body.append(element);
      }
    }
    this.mark();
  }

  mark() {
    const isIn = this.grid.contains(document.activeElement);
    for (const [place, element] of this.drawn) {
      const is = this.selected.has(this.shown[place][ID]);
      element.setAttribute("aria-selected", String(is));
      element.querySelector("input").checked = is;
      element.classList.toggle("lib-active", isIn && place === this.active);
    }
    if (this.drawn.has(this.active)) this.grid.setAttribute("aria-activedescendant", this.drawn.get(this.active).id);
    else this.grid.removeAttribute("aria-activedescendant");
    const here = this.shown.reduce((sum, row) => sum + this.selected.has(row[ID]), 0);
    this.all.checked = here > 0 && here === this.shown.length;
    this.all.indeterminate = here > 0 && here < this.shown.length;
    this.drawChosen();
  }

  drawChosen() {
    const count = this.selected.size, words = this.words;
    this.chosen.hidden = !count;
    const told = `${count} ${this.shown.length}`;
    if (!count || this.chosen.dataset.told === told) return;
    this.chosen.dataset.told = told;
    const button = (name, text, work) => {
      const made = make("button", "lib-button", undefined, { type: "button" });
      made.append(icon(name), make("span", "", text));
      made.addEventListener("click", work);
      return made;
    };
    const more = this.shown.length > count ? [button("select_all", fill(words.select_all, { n: number.format(this.shown.length) }), () => this.selectAll(true))] : [];
    this.chosen.replaceChildren(
      make("strong", "", fill(words.selected, { n: number.format(count) })),
      button("label", words.tag_them, () => this.act("tag")),
      button("folder_special", words.collect, () => this.act("collect")),
      button("download", words.fetch, () => this.fetch()),
      ...(this.data.embeds ? [button("grid_on", words.embed, () => this.act("embed"))] : []),
      button("delete", words.delete, () => this.act("delete")),
      ...more,
      button("close", words.unselect, () => { this.selected.clear(); this.mark(); this.grid.focus(); }),
    );
  }

  row(row, place) {
    const words = this.words, told = this.names;
    const element = make("div", "lib-row", undefined, { role: "row", id: `lib-${row[ID]}`, "aria-rowindex": String(place + 2) });
    element.style.top = `${place * ROW}px`;
    const cell = (name, text) => { const made = make("div", name, text, { role: "gridcell" }); element.append(made); return made; };
    const box = make("input", "", undefined, { type: "checkbox", tabindex: "-1", "aria-label": fill(words.select, { name: row[NAME] }) });
    box.addEventListener("click", (event) => { event.stopPropagation(); this.select(place, event.shiftKey); });
    const check = cell("lib-check");
    check.append(box);
    check.addEventListener("click", (event) => { if (event.target === check) this.select(place, event.shiftKey); });
    const picture = cell("lib-picture");
    if (row[DONE]) {
      const image = make("img", "", undefined, { alt: "", loading: "lazy", decoding: "async", src: `${this.base}/page/${row[ID]}/1/image?size=thumbnail` });
      image.addEventListener("error", () => { image.remove(); picture.append(icon("description")); });
      picture.append(image);
    } else picture.append(icon("description"));
    const title = cell("lib-title");
    const link = make("a", "", row[TITLE] || row[NAME], { href: `?document=${row[ID]}`, tabindex: "-1", title: row[TITLE] ? `${row[TITLE]}\n${row[NAME]}` : row[NAME] });
    link.addEventListener("click", (event) => { if (!event.metaKey && !event.ctrlKey && !event.shiftKey) { event.preventDefault(); this.open(place); } });
    title.append(link);
    const kind = told.kinds[row[KIND]] || row[KIND];
    const pages = fill(row[PAGES] === 1 ? words.page : words.pages, { n: number.format(row[PAGES]) });
    title.append(make("span", "lib-name", row[TITLE] ? row[NAME] : kind));
    title.append(make("span", "lib-facts", `${kind} · ${pages}`));
    const state = words.states[row[STATUS]];
    if (state) {
      const done = row[PAGES] && row[DONE] < row[PAGES] ? fill(words.done, { n: number.format(row[DONE]), all: number.format(row[PAGES]) }) : state;
      const badge = make("span", `lib-state lib-${row[STATUS]}`, row[STATUS] === "reading" ? done : state, { title: row[MESSAGE] || done });
      title.append(badge);
      if (row[STATUS] === "stopped") {
        const on = make("button", "lib-quiet", words.go_on, { type: "button", tabindex: "-1" });
        on.addEventListener("click", (event) => { event.stopPropagation(); this.act("resume", [row[ID]]); });
        title.append(on);
      }
    }
    cell("lib-pages", number.format(row[PAGES]));
    cell("lib-language", told.languages[row[LANGUAGE]] || "");
    const tags = cell("lib-tags");
    for (const tag of row[LABELS].slice(0, TAGS)) tags.append(make("span", "lib-tag", tag));
    if (row[LABELS].length > TAGS) tags.append(make("span", "lib-more", `+${row[LABELS].length - TAGS}`, { title: row[LABELS].slice(TAGS).join(", ") }));
    cell("lib-added", dates.format(row[ADDED]));
    element.addEventListener("click", (event) => {
      if (event.target.closest("a, button, input, .lib-check")) return;
      this.active = place;
      if (event.shiftKey || event.metaKey || event.ctrlKey) this.select(place, event.shiftKey);
      else this.open(place);
    });
    return element;
  }

  // --- what a person does

  async open(place) {
    const id = this.shown[place]?.[ID], hasPages = () => this.rows.some((row) => row[ID] === id && row[DONE]);
    if (id && !hasPages()) await this.read(); // its first page may have been read since the list was
    if (!hasPages()) return;
    const page = scrolling(this.root);
    kept.top = page ? page.scrollTop : 0;
    this.act("open", [id]);
  }

  select(place, isRange) {
    const id = this.shown[place][ID], wanted = !this.selected.has(id);
    if (isRange && this.anchor >= 0 && this.anchor < this.shown.length) {
      const [from, to] = [Math.min(place, this.anchor), Math.max(place, this.anchor)];
      for (let at = from; at <= to; at += 1) this.selected.add(this.shown[at][ID]);
    } else if (wanted) this.selected.add(id);
    else this.selected.delete(id);
    this.active = this.anchor = place;
    this.mark();
  }

  selectAll(wanted) {
    for (const row of this.shown) if (wanted) this.selected.add(row[ID]); else this.selected.delete(row[ID]);
    this.mark();
  }

  go(place) {
    if (!this.shown.length) return;
    this.active = Math.max(0, Math.min(this.shown.length - 1, place));
    const page = scrolling(this.root), box = this.body.getBoundingClientRect();
    const top = box.top + this.active * ROW, above = this.head.getBoundingClientRect().bottom;
    if (page && top < above) page.scrollTop -= above - top + 4;
    else if (page && top + ROW > window.innerHeight) page.scrollTop += top + ROW - window.innerHeight + 8;
    this.paint();
  }

  key(event) {
    if (event.target !== this.grid) return;
    const isCommand = event.ctrlKey || event.metaKey, step = Math.max(1, Math.floor(window.innerHeight / ROW) - 6);
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: step, PageUp: -step, Home: -Infinity, End: Infinity }[event.key];
    if (event.altKey) return;
    if (move !== undefined) {
      const from = this.active;
      this.go(this.active + move);
      if (event.shiftKey && from >= 0) { if (this.anchor < 0) this.anchor = from; this.selectBetween(); } else this.anchor = this.active;
    } else if (event.key === " " && this.active >= 0) this.select(this.active, event.shiftKey);
    else if (event.key === "Enter" && this.active >= 0) this.open(this.active);
    else if (isCommand && event.key.toLowerCase() === "a") this.selectAll(true);
    else if (event.key === "Escape" && this.selected.size) { this.selected.clear(); this.mark(); }
    else if (event.key === "Delete" && this.selected.size) this.act("delete");
    else if (!isCommand && event.key.length === 1 && event.key !== " ") { this.find.focus(); this.find.value += event.key; kept.find = this.find.value; this.choose(); }
    else return;
    event.preventDefault();
  }

  selectBetween() {
    const [from, to] = [Math.min(this.active, this.anchor), Math.max(this.active, this.anchor)];
    for (let at = from; at <= to; at += 1) this.selected.add(this.shown[at][ID]);
    this.mark();
  }

  async fetch() {
    const ids = [...this.selected];
    let address = `document/${ids[0]}/original`;
    if (ids.length > 1) {
      const answer = await fetch(`${this.base}/originals`, { method: "POST", body: new URLSearchParams({ ids: ids.join(".") }) });
      if (!answer.ok) return this.read(); // one was deleted meanwhile: the rows show it
      address = `originals/${(await answer.json()).selection}`;
    }
    const link = make("a", "", "", { href: `${this.base}/${address}`, download: "" });
    this.root.append(link);
    link.click();
    link.remove();
  }
}

function scrolling(element) {
  for (let at = element.parentElement; at; at = at.parentElement) {
    if (/(auto|scroll)/.test(getComputedStyle(at).overflowY) && at.scrollHeight > at.clientHeight) return at;
  }
  return document.scrollingElement;
}
