// The table of the library: all rows are in the browser, and only those in the window are elements of the page.
// Every text of a document is hostile: it is set with textContent.

const ROW = 44, AROUND = 12, POLL_MS = 2500, TAGS = 3;
const DAY = 86400000;
const EDGES = ["2rem", "2.25rem"]; // the columns of check box and picture
const AT = {}; // the place of each value in a row, by the name of its column
const kept = { find: "", filters: {}, sort: "added_at_ms", down: true, top: 0, opened: new Set() }; // as it was before a document was opened
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

const cssOf = ({ name, drawn, rank }) => `lib-${name} lib-is-${drawn} lib-rank-${rank}`;
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
    this.count?.remove();
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
    for (const { name, label } of this.data.menus) {
      const menu = make("select", "lib-menu", undefined, { "aria-label": label });
      menu.addEventListener("change", () => { kept.filters[name] = menu.value; this.choose(); });
      this.menus[name] = menu;
      bar.append(menu);
    }
    this.ask = make("button", "lib-button lib-ask", undefined, { type: "button" });
    this.ask.append(icon("forum"), make("span", "", words.ask));
    this.ask.addEventListener("click", () => this.act("ask", [kept.filters.collections]));
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
    this.body = make("div", "lib-body", undefined, { role: "rowgroup" });
    this.none = make("div", "lib-none");
    this.none.append(make("p", "", words.none));
    const again = make("button", "lib-button", words.clear, { type: "button" });
    again.addEventListener("click", () => this.forget());
    this.none.append(again);
    this.grid.append(this.head, this.body);
    const top = make("div", "lib-top");
    top.append(bar, this.chosen);
    const title = document.querySelector(".st-key-documents-heading > *");
    if (title) title.after(this.count); // one line: the title and how many there are
    else top.append(this.count);
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
    told.names.forEach((name, place) => { AT[name] = place; });
    this.hay = new Map(this.rows.map((row) => [row[AT.doc_id], plain(this.data.found.flatMap((name) => row[AT[name]]).join("\n"))]));
    const there = new Set(this.rows.map((row) => row[AT.doc_id]));
    for (const id of this.selected) if (!there.has(id)) this.selected.delete(id);
    this.drawHead();
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

  drawHead() {
    const isUsed = ({ name, drawn }) => !["text", "day"].includes(drawn) || this.rows.some((row) => row[AT[name]]);
    const columns = this.data.columns.filter(isUsed), names = columns.map(({ name }) => name).join(" ");
    if (this.columns && names === this.head.dataset.names) return;
    this.head.dataset.names = names;
    this.shownColumns = columns;
    for (const rank of [1, 2, 3, 4]) {
      const widths = columns.filter((one) => one.rank <= rank).map((one) => one.width);
      this.root.style.setProperty(`--lib-columns-${rank}`, [...EDGES, ...widths].join(" "));
    }
    const first = make("div", "lib-check", undefined, { role: "columnheader" });
    first.append(this.all);
    this.columns = {};
    this.head.replaceChildren(first, ...columns.map((column) => {
      const cell = make("div", cssOf(column), undefined, { role: "columnheader" });
      const button = make("button", "", column.label, { type: "button" });
      button.append(icon("arrow_downward"));
      button.addEventListener("click", () => this.sortBy(column));
      cell.append(button);
      this.columns[column.name] = cell;
      return cell;
    }));
  }

  fillMenus() {
    const words = this.words, told = this.names;
    const names = { kind: told.kinds, language: told.languages, collections: told.collections };
    const options = (name) => {
      if (name === "added_at_ms") return [["1", words.today], ["7", words.week], ["31", words.month], ["366", words.year]];
      const used = name === "collections" ? Object.keys(told.collections) : this.rows.flatMap((row) => row[AT[name]]);
      const named = [...new Set(used)].filter(Boolean).map((value) => [value, names[name]?.[value] || value]);
      return named.sort((a, b) => collator.compare(a[1], b[1]));
    };
    for (const { name, every } of this.data.menus) {
      const menu = this.menus[name], values = options(name);
      menu.replaceChildren(make("option", "", every, { value: "" }), ...values.map(([value, text]) => make("option", "", text, { value })));
      if (!values.some(([value]) => value === kept.filters[name])) kept.filters[name] = "";
      menu.value = kept.filters[name];
      menu.hidden = values.length < (["tags", "collections", "added_at_ms"].includes(name) ? 1 : 2);
    }
  }

  // --- which rows, in which order

  choose(isKept = false) {
    const active = this.shown[this.active]?.[AT.doc_id];
    const { added_at_ms: added, ...others } = kept.filters;
    const wanted = Object.entries(others).filter(([, value]) => value);
    const parts = plain(kept.find).split(/\s+/).filter(Boolean);
    const since = added ? new Date().setHours(0, 0, 0, 0) - (Number(added) - 1) * DAY : 0;
    this.shown = this.rows.filter((row) =>
      wanted.every(([name, value]) => [row[AT[name]]].flat().includes(value)) && row[AT.added_at_ms] >= since
      && parts.every((part) => this.hay.get(row[AT.doc_id]).includes(part)));
    this.matched = this.shown;
    this.sort();
    this.active = isKept && active ? this.shown.findIndex((row) => row[AT.doc_id] === active) : -1;
    const isNarrow = parts.length > 0 || Object.values(kept.filters).some(Boolean);
    this.clear.hidden = !isNarrow;
    this.ask.hidden = !kept.filters.collections || !this.shown.length;
    this.none.hidden = this.shown.length > 0 || !this.rows.length;
    this.grid.hidden = !this.shown.length;
    const words = this.words, told = (count, one, many) => fill(count === 1 ? one : many, { n: number.format(count) });
    const pages = this.rows.reduce((sum, row) => sum + row[AT.pages_done], 0);
    this.count.textContent = isNarrow
      ? fill(words.some, { n: number.format(this.matched.length), all: number.format(this.rows.length) })
      : fill(words.whole, { documents: told(this.rows.length, words.one, words.many), pages: told(pages, words.page, words.pages) });
    this.paint(true);
  }

  sort() {
    const place = AT[kept.sort], last = "\uffff";
    const { drawn } = this.data.columns.find((one) => one.name === kept.sort);
    const textOf = {
      title: (row) => row[AT.title] || row[AT.document],
      language: (row) => this.names.languages[row[place]] || last,
      tags: (row) => row[place][0] || last,
      text: (row) => row[place] || last,
      day: (row) => row[place],
    }[drawn];
    const by = textOf ? (a, b) => collator.compare(textOf(a), textOf(b)) : (a, b) => a[place] - b[place];
    const sign = kept.down ? -1 : 1;
    this.matched.sort((a, b) => sign * by(a, b));
    this.nest();
  }

  // Files that came in another one stand beneath it, where that matches too, and so do the earlier versions of one, once
  // they are opened.
  nest() {
    const there = new Set(this.matched.map((row) => row[AT.doc_id])), inside = new Map(), older = new Map();
    this.newest = new Map(this.matched.filter((row) => row[AT.versions] && row[AT.version] === row[AT.versions]).map((row) => [row[AT.series], row]));
    const file = (groups, above, row) => { if (!groups.has(above)) groups.set(above, []); groups.get(above).push(row); };
    for (const row of this.matched) {
      const newest = this.newest.get(row[AT.series]);
      if (there.has(row[AT.parent])) file(inside, row[AT.parent], row);
      else if (newest && newest !== row) file(older, newest[AT.doc_id], row);
      else file(inside, "", row);
    }
    this.depths = new Map(); this.older = older; this.isOlder = new Set();
    const put = (row, depth) => {
      const id = row[AT.doc_id], rows = inside.get(id) || [], versions = older.get(id) || [];
      inside.delete(id);
      this.depths.set(id, depth);
      versions.sort((a, b) => b[AT.version] - a[AT.version]);
      for (const one of versions) this.isOlder.add(one[AT.doc_id]);
      const opened = kept.opened.has(row[AT.series]) ? versions : [];
      return [row, ...opened.flatMap((one) => put(one, depth + 1)), ...rows.flatMap((one) => put(one, depth + 1))];
    };
    const first = inside.get("") || [];
    inside.delete("");
    this.shown = [...first.flatMap((row) => put(row, 0)), ...[...inside.values()].flat()];
  }

  // Open or close the earlier versions of a row; the row stays the active one.
  unfold(row, isOpen) {
    if (!this.older.has(row[AT.doc_id])) return false;
    if (isOpen) kept.opened.add(row[AT.series]); else kept.opened.delete(row[AT.series]);
    this.nest();
    this.active = this.shown.indexOf(row);
    this.paint(true);
    return true;
  }

  // Do what an arrow to the side means: open a row, close it, or go up from an earlier version to the newest one.
  side(isOpen) {
    const row = this.shown[this.active];
    if (!row) return;
    const newest = this.newest.get(row[AT.series]);
    if (this.isOlder.has(row[AT.doc_id])) { if (!isOpen && newest) this.go(this.shown.indexOf(newest)); }
    else this.unfold(row, isOpen);
  }

  sortBy({ name, drawn }) {
    kept.down = kept.sort === name ? !kept.down : ["number", "time", "day"].includes(drawn);
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
    if (!this.columns || !this.root.isConnected) return;
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
      const is = this.selected.has(this.shown[place][AT.doc_id]);
      element.setAttribute("aria-selected", String(is));
      element.querySelector("input").checked = is;
      element.classList.toggle("lib-active", isIn && place === this.active);
    }
    if (this.drawn.has(this.active)) this.grid.setAttribute("aria-activedescendant", this.drawn.get(this.active).id);
    else this.grid.removeAttribute("aria-activedescendant");
    const here = this.shown.reduce((sum, row) => sum + this.selected.has(row[AT.doc_id]), 0);
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
      ...(count === 2 ? [button("compare", words.compare, () => this.act("compare"))] : []),
      ...(this.data.embeds ? [button("grid_on", words.embed, () => this.act("embed"))] : []),
      button("delete", words.delete, () => this.act("delete")),
      ...more,
      button("close", words.unselect, () => { this.selected.clear(); this.mark(); this.grid.focus(); }),
    );
  }

  row(row, place) {
    const words = this.words, told = this.names;
    const element = make("div", "lib-row", undefined, { role: "row", id: `lib-${row[AT.doc_id]}`, "aria-rowindex": String(place + 2) });
    element.style.top = `${place * ROW}px`;
    const cell = (name, text) => { const made = make("div", name, text, { role: "gridcell" }); element.append(made); return made; };
    const box = make("input", "", undefined, { type: "checkbox", tabindex: "-1", "aria-label": fill(words.select, { name: row[AT.document] }) });
    box.addEventListener("click", (event) => { event.stopPropagation(); this.select(place, event.shiftKey); });
    const check = cell("lib-check");
    check.append(box);
    check.addEventListener("click", (event) => { if (event.target === check) this.select(place, event.shiftKey); });
    const picture = cell("lib-picture");
    if (row[AT.pages_done]) {
      const image = make("img", "", undefined, { alt: "", loading: "lazy", decoding: "async", src: `${this.base}/page/${row[AT.doc_id]}/1/image?size=thumbnail` });
      image.addEventListener("error", () => { image.remove(); picture.append(icon("description")); });
      picture.append(image);
    } else picture.append(icon("description"));
    const title = cell(cssOf(this.shownColumns[0]));
    const link = make("a", "", row[AT.title] || row[AT.document], { href: `?document=${row[AT.doc_id]}`, tabindex: "-1", title: row[AT.title] ? `${row[AT.title]}\n${row[AT.document]}` : row[AT.document] });
    link.addEventListener("click", (event) => { if (!event.metaKey && !event.ctrlKey && !event.shiftKey) { event.preventDefault(); this.open(place); } });
    const named = make("div", "lib-words");
    named.append(link);
    title.append(named);
    const kind = told.kinds[row[AT.kind]] || row[AT.kind];
    const pages = fill(row[AT.pages] === 1 ? words.page : words.pages, { n: number.format(row[AT.pages]) });
    if (row[AT.title] && row[AT.title] !== row[AT.document]) named.append(" ", make("span", "lib-name", row[AT.document]));
    const depth = this.depths.get(row[AT.doc_id]) || 0, isOlder = this.isOlder.has(row[AT.doc_id]);
    const day = isOlder ? dates.format(row[AT.dated] ? new Date(`${row[AT.dated]}T00:00`) : row[AT.added_at_ms]) : "";
    const where = day || (depth ? "" : row[AT.place]);
    if (depth) title.style.paddingInlineStart = `${depth * 1.25}rem`;
    if (where) named.append(" ", make("span", "lib-place", where));
    title.append(make("span", "lib-facts", [kind, pages, where].filter(Boolean).join(" · ")));
    if (isOlder) title.append(this.acts(row));
    const older = this.older.get(row[AT.doc_id]);
    if (older) {
      const isOpen = kept.opened.has(row[AT.series]);
      const more = make("button", "lib-quiet lib-versions", undefined, { type: "button", tabindex: "-1", "aria-expanded": String(isOpen) });
      more.append(icon(isOpen ? "expand_less" : "expand_more"), make("span", "", fill(words.versions, { n: number.format(older.length + 1) })));
      more.addEventListener("click", (event) => { event.stopPropagation(); this.unfold(row, !isOpen); });
      title.append(more);
    }
    const state = words.states[row[AT.status]];
    if (state) {
      const done = row[AT.pages] && row[AT.pages_done] < row[AT.pages] ? fill(words.done, { n: number.format(row[AT.pages_done]), all: number.format(row[AT.pages]) }) : state;
      const badge = make("span", `lib-state lib-${row[AT.status]}`, row[AT.status] === "reading" ? done : state, { title: row[AT.message] || done });
      title.append(badge);
      if (row[AT.status] === "stopped") {
        const on = make("button", "lib-quiet", words.go_on, { type: "button", tabindex: "-1" });
        on.addEventListener("click", (event) => { event.stopPropagation(); this.act("resume", [row[AT.doc_id]]); });
        title.append(on);
      }
    }
    for (const column of this.shownColumns.slice(1)) {
      const value = row[AT[column.name]], texts = {
        number: () => number.format(value),
        time: () => dates.format(value),
        day: () => (value ? dates.format(new Date(`${value}T00:00`)) : ""),
        language: () => told.languages[value] || "",
        text: () => value,
      };
      const made = cell(cssOf(column), texts[column.drawn]?.());
      if (column.drawn === "text") made.title = value;
      if (column.drawn !== "tags") continue;
      for (const tag of value.slice(0, TAGS)) made.append(make("span", "lib-tag", tag));
      if (value.length > TAGS) made.append(make("span", "lib-more", `+${value.length - TAGS}`, { title: value.slice(TAGS).join(", ") }));
    }
    element.addEventListener("click", (event) => {
      if (event.target.closest("a, button, input, .lib-check")) return;
      this.active = place;
      if (event.shiftKey || event.metaKey || event.ctrlKey) this.select(place, event.shiftKey);
      else this.open(place);
    });
    return element;
  }

  // What can be done with an earlier version.
  acts(row) {
    const words = this.words, acts = make("span", "lib-acts"), newest = this.newest.get(row[AT.series]);
    const act = (name, label, work) => {
      const made = make("button", "lib-quiet", undefined, { type: "button", tabindex: "-1", title: label, "aria-label": `${label}: ${row[AT.document]}` });
      made.append(icon(name));
      made.addEventListener("click", (event) => { event.stopPropagation(); work(); });
      acts.append(made);
    };
    act("compare", words.compare_newest, () => this.act("compare", [row[AT.doc_id], newest[AT.doc_id]]));
    act("delete", words.delete, () => this.act("delete", [row[AT.doc_id]]));
    return acts;
  }

  // --- what a person does

  async open(place) {
    const id = this.shown[place]?.[AT.doc_id], hasPages = () => this.rows.some((row) => row[AT.doc_id] === id && row[AT.pages_done]);
    if (id && !hasPages()) await this.read(); // its first page may have been read since the list was
    if (!hasPages()) return;
    const page = scrolling(this.root);
    kept.top = page ? page.scrollTop : 0;
    this.act("open", [id]);
  }

  select(place, isRange) {
    const id = this.shown[place][AT.doc_id], wanted = !this.selected.has(id);
    if (isRange && this.anchor >= 0 && this.anchor < this.shown.length) {
      const [from, to] = [Math.min(place, this.anchor), Math.max(place, this.anchor)];
      for (let at = from; at <= to; at += 1) this.selected.add(this.shown[at][AT.doc_id]);
    } else if (wanted) this.selected.add(id);
    else this.selected.delete(id);
    this.active = this.anchor = place;
    this.mark();
  }

  selectAll(wanted) {
    for (const row of this.shown) if (wanted) this.selected.add(row[AT.doc_id]); else this.selected.delete(row[AT.doc_id]);
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
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") this.side(event.key === "ArrowRight");
    else if (event.key === " " && this.active >= 0) this.select(this.active, event.shiftKey);
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
    for (let at = from; at <= to; at += 1) this.selected.add(this.shown[at][AT.doc_id]);
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
