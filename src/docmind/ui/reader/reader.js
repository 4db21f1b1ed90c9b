/* The reader: a page of a document beside what is on screen. It is opened by links whose fragment begins with `#read=`
   and asks for everything at addresses below `/-/`; no run of the page takes part. Texts of documents are hostile: they
   are set with `textContent` only. */

import { SHAPES as SHARED, base, drawing, element, fill, iconButton } from "./elements.js";

const KEPT_IMAGES = 16, KEPT_ANSWERS = 80, MARGIN = 12, STRIP = 30, STEP = 1.25, SMALLEST = 0.1, LARGEST = 6;
const CROP_WIDTH = 400, CROP_LINE = 17, CROP_LINES = 9; // of the place shown over a number: pixels, and lines of text
const READABLE = 9; // pixels: the height of a quoted line at which it is read without zooming in
const HOVER_MS = 140, TYPING_MS = 160;
const MOVED_MS = 200;
const ASKED_MS = 10_000; // within this time the page on which questions are asked has come
const LINK = 'a[href^="#read="]';
const SHAPES = {
  ...SHARED, zoomIn: "M12 5v14M5 12h14", zoomOut: "M5 12h14", fitWidth: "M3 5v14M21 5v14M6 12h12M9 9l-3 3 3 3M15 9l3 3-3 3",
  fitPage: "M6 3h12v18H6zM12 7v10M9.5 9.5L12 7l2.5 2.5M9.5 14.5L12 17l2.5-2.5", rotate: "M19 12a7 7 0 1 1-2.2-5.1M19 3v5h-5",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5L21 21", thumbnails: "M3 5h5v14H3zM10 5h5v14h-5zM17 5h4v14h-4z",
  more: "M5 12h.01M12 12h.01M19 12h.01", ask: "M4 5h16v11H9l-5 4z", download: "M12 4v11M7.5 11l4.5 4.5 4.5-4.5M5 20h14", xray: "M4 8V4h4M16 4h4v4M20 16v4h-4M8 20H4v-4M8 9h8M8 12h8M8 15h5", up: "M5 15l7-7 7 7",
};

let texts = {}, trigger = () => {}, source = null, reader = null;

export default function ({ parentElement, data: [data], setTriggerValue }) {
  texts = data.texts;
  trigger = setTriggerValue;
  source = parentElement;
  if (!parentElement.querySelector(".docmind-reader-part")) parentElement.append(element("span", "docmind-reader-part"));
  reader ??= build();
  reader.redrawn();
}

const button = (shape, label, press) => iconButton(SHAPES[shape], label, press);

/* What is asked of the server, kept for a while. */

class Kept {
  constructor(most, drop = () => {}) {
    this.most = most; this.drop = drop; this.known = new Map();
  }
  get(key, make) {
    let value = this.known.get(key);
    this.known.delete(key);
    if (value === undefined) {
      value = make();
      value.catch(() => this.known.get(key) === value && this.known.delete(key));
    }
    this.known.set(key, value);
    for (const [old, dropped] of this.known) {
      if (this.known.size <= this.most) break;
      this.known.delete(old);
      dropped.then(this.drop, () => {});
    }
    return value;
  }
}

class Refused extends Error {
  constructor(status, told) { super(told); this.status = status; }
}

async function asked(path) {
  let answer;
  try {
    answer = await fetch(base() + path, { credentials: "same-origin" });
  } catch {
    throw new Refused(0, texts.silent);
  }
  if (answer.ok) return answer;
  let told = texts.failed;
  try { told = (await answer.json()).error || told; } catch { /* an answer without words */ }
  throw new Refused(answer.status, told);
}

const answers = new Kept(KEPT_ANSWERS), images = new Kept(KEPT_IMAGES, (url) => URL.revokeObjectURL(url));
const json = (path) => answers.get(path, async () => (await asked(path)).json());
const image = (path) => images.get(path, async () => {
  const url = URL.createObjectURL(await (await asked(path)).blob());
  const picture = new Image();
  picture.src = url;
  await picture.decode();
  return url;
});

/* Links: `#read=DOCUMENT.PAGE`, `&from=CONVERSATION.TURN.SOURCE`, `&quad=PAGE.x.y.x.y.x.y.x.y`. */

function parsed(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const place = /^([\w-]{1,64})\.(\d{1,6})$/.exec(fields.get("read") || "");
  if (!place) return null;
  const from = /^[\w-]{1,64}\.[\w-]{1,64}\.\d{1,4}$/.exec(fields.get("from") || "");
  const quad = /^\d{1,6}(\.-?\d{1,7}){8}$/.exec(fields.get("quad") || "");
  return { doc: place[1], page: Number(place[2]), from: from ? from[0] : "", quad: quad ? quad[0] : "" };
}

const fragmentOf = (ref) =>
  `#read=${ref.doc}.${ref.page}${ref.from ? `&from=${ref.from}` : ""}${ref.quad ? `&quad=${ref.quad}` : ""}`;
const isCited = (ref) => ref.from !== "" && !ref.from.endsWith(".0");
const pagePath = (ref) => `/page/${ref.doc}/${ref.page}`;
const factsPath = (ref) => pagePath(ref) + (ref.from ? `?from=${ref.from}` : "");

/* Begin to load what a link opens. */
function prepare(ref) {
  const quietly = (promise) => promise.catch(() => {});
  quietly(json(factsPath(ref)));
  if (isCited(ref)) {
    quietly(json(`/cited/${ref.from}`));
    quietly(image(`/cited/${ref.from}/image`));
  } else quietly(image(`${pagePath(ref)}/image`));
}

function build() {
  document.getElementById("docmind-reader")?.remove();
  const root = document.documentElement, pane = element("section");
  let ref = null, facts = null, cited = null, turn = 0, zoom = { fit: "start", scale: 1 }, angle = 0, opener = null;
  let path = "", places = null, at = -1, hot = false, word = "", keptUntil = 0;

  /* what it is made of */

  pane.id = "docmind-reader";
  pane.hidden = true;
  pane.setAttribute("role", "dialog");
  pane.setAttribute("aria-label", texts.reader);
  pane.tabIndex = -1;
  const title = element("h2"), told = element("p", "facts"), names = element("div", "names");
  names.append(title, told);
  const ask = button("ask", texts.ask, () => { keptUntil = performance.now() + ASKED_MS; trigger("ask", ref.doc); if (innerWidth <= 800) close(); });
  ask.classList.add("named");
  ask.append(element("span", "", texts.ask));
  const menu = element("div", "menu"), choices = element("div");
  const original = element("a", "", texts.original), onePage = element("a", "", texts.thisPage);
  const save = button("download", texts.download, () => unfold(choices.hidden));
  for (const link of [original, onePage]) {
    link.setAttribute("download", "");
    link.addEventListener("click", () => unfold(false));
  }
  choices.append(original, onePage);
  menu.append(save, choices);
  const shut = button("close", texts.close, () => close());
  const header = element("header");
  header.append(names, ask, menu, shut);

  const previous = button("previous", texts.previous, () => go(ref.page - 1));
  const next = button("next", texts.next, () => go(ref.page + 1));
  const number = element("input", "number"), of = element("span", "of");
  number.inputMode = "numeric";
  number.setAttribute("aria-label", texts.page);
  number.addEventListener("focus", () => number.select());
  number.addEventListener("change", () => { go(parseInt(number.value, 10) || ref.page); view.focus({ preventScroll: true }); });
  const smaller = button("zoomOut", texts.zoomOut, () => zoomBy(1 / STEP));
  const larger = button("zoomIn", texts.zoomIn, () => zoomBy(STEP));
  smaller.className = larger.className = "pinched";
  const percent = element("span", "zoom wide");
  const wide = button("fitWidth", texts.fitWidth, () => setZoom({ fit: "width" }));
  const whole = button("fitPage", texts.fitPage, () => setZoom({ fit: "page" }));
  const rotate = button("rotate", texts.rotate, () => { angle = (angle + 90) % 360; place(); toMarks(); });
  const finder = button("search", texts.search, () => openFind(find.hidden));
  const pages = button("thumbnails", texts.thumbnails, () => { strip.hidden = !strip.hidden; drawStrip(); place(); });
  const read = button("xray", texts.xray, () => dispatchEvent(new CustomEvent("docmind-xray", { detail: { doc: ref.doc, page: ref.page } })));
  const heat = element("button", "heat", texts.heat);
  heat.type = "button";
  heat.setAttribute("aria-pressed", "false");
  heat.addEventListener("click", () => { hot = !hot; word = ""; drawHeat(); });
  const bar = element("div", "bar");
  bar.setAttribute("role", "toolbar");
  bar.setAttribute("aria-label", texts.reader);
  // In a narrow window these are behind a button, with their names: the tool bar stays one row.
  const extras = element("div", "extras"), more = button("more", texts.more, () => showExtras(!extras.classList.contains("open")));
  more.classList.add("more");
  for (const one of [wide, whole, rotate, read, pages]) one.append(element("span", "word", one.title));
  extras.append(wide, whole, rotate, element("span", "gap"), heat, read, pages);
  extras.addEventListener("click", () => showExtras(false));
  bar.append(previous, number, of, next, element("span", "gap"), smaller, percent, larger, extras, finder, more);

  const find = element("div", "find"), field = element("input"), count = element("span", "told");
  field.type = "search";
  field.maxLength = 200;
  field.placeholder = texts.search;
  field.setAttribute("aria-label", texts.search);
  count.setAttribute("role", "status");
  find.hidden = true;
  find.append(field, count, button("up", texts.previousMatch, () => match(-1)), button("down", texts.nextMatch, () => match(1)),
    button("close", texts.close, () => openFind(false)));
  let typing = 0;
  field.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(search, TYPING_MS); });

  const warm = element("div", "hot");
  warm.hidden = true;
  const view = element("div", "view"), space = element("div", "space"), turned = element("div", "turned");
  const sheet = element("div", "sheet"), picture = element("img"), words = element("div", "words");
  const marks = drawing("svg", { "aria-hidden": "true", preserveAspectRatio: "none" }), bones = element("div", "bones");
  bones.setAttribute("role", "status");
  bones.setAttribute("aria-label", texts.loading);
  picture.draggable = false;
  sheet.append(picture, marks, words, bones);
  turned.append(sheet);
  space.append(turned);
  view.append(space);
  view.tabIndex = 0;
  view.setAttribute("role", "region");
  view.setAttribute("aria-label", texts.reader);
  const strip = element("div", "strip");
  strip.hidden = innerWidth <= 800;
  pane.append(header, bar, find, warm, view, strip);
  document.body.append(pane);

  function unfold(isOpen) {
    choices.hidden = !isOpen;
    save.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) original.focus();
  }
  unfold(false);

  function showExtras(isOpen) {
    extras.classList.toggle("open", isOpen);
    more.setAttribute("aria-expanded", String(isOpen));
  }
  showExtras(false);

  /* colours of the theme */

  function dress() {
    if (!source?.isConnected) return;
    const style = getComputedStyle(source), read = (name) => style.getPropertyValue(`--st-${name}`).trim();
    const paper = read("background-color"), ink = read("text-color");
    if (!paper || !ink) return;
    const set = (name, value) => root.style.setProperty(`--reader-${name}`, value);
    set("paper", paper);
    set("ink", ink);
    set("accent", read("link-color") || read("primary-color"));
    set("border", read("border-color") || "#8885");
    set("field", read("secondary-background-color") || paper);
    set("quiet", `color-mix(in srgb, ${ink} 74%, ${paper})`);
    set("hover", `color-mix(in srgb, ${ink} 9%, ${paper})`);
    set("desk", `color-mix(in srgb, ${ink} 12%, ${paper})`);
    set("font", read("font") || "sans-serif");
  }
  const looks = new MutationObserver(dress);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTimeout(dress, 300));

  /* opening, turning, closing */

  function address(fragment, isNew) {
    const url = location.pathname + location.search + fragment;
    if (isNew) history.pushState(history.state, "", url);
    else history.replaceState(history.state, "", url);
  }

  function open(wanted, link) {
    const isNew = pane.hidden || !ref || ref.doc !== wanted.doc;
    opener = link ? { link, href: link.getAttribute("href") } : opener;
    if (isNew) {
      angle = 0;
      forgetFind();
    }
    if (zoom.fit !== "page") zoom = { fit: "start", scale: zoom.scale };
    path = location.pathname;
    dress();
    pane.setAttribute("aria-modal", String(innerWidth <= 800));
    pane.hidden = false;
    root.dataset.reader = "open";
    hot = false;
    show(wanted);
    if (link) view.focus({ preventScroll: true });
  }

  /* The links of the open page are marked, also those that were drawn since. */
  function markOpened() {
    const opened = pane.hidden || !ref ? "" : fragmentOf(ref);
    for (const link of document.querySelectorAll(`${LINK}[aria-current]`)) if (link.getAttribute("href") !== opened) link.removeAttribute("aria-current");
    if (opened) for (const link of document.querySelectorAll(`a[href="${opened}"]:not([aria-current])`)) link.setAttribute("aria-current", "page");
  }

  function close() {
    if (pane.hidden) return;
    turn++;
    pane.hidden = true;
    markOpened();
    delete root.dataset.reader;
    if (parsed(location.hash)) address("", false);
    const link = opener?.link.isConnected ? opener.link : [...document.querySelectorAll(LINK)].find((other) => other.getAttribute("href") === opener?.href);
    link?.focus({ preventScroll: true });
    opener = null;
  }

  function go(page) {
    unfold(false);
    const wanted = Math.min(Math.max(1, page), facts?.pages || 1);
    number.value = ref.page;
    if (!facts || wanted === ref.page) return;
    if (zoom.fit === "start") zoom = { fit: "width", scale: zoom.scale };
    const next = { ...ref, page: wanted };
    address(fragmentOf(next), false);
    show(next);
  }

  async function show(wanted) {
    const mine = ++turn;
    ref = wanted;
    markOpened();
    pane.querySelector(".trouble")?.remove();
    turned.hidden = false;
    number.value = ref.page;
    original.href = `${base()}/document/${ref.doc}/original`;
    onePage.href = `${base()}${pagePath(ref)}/download`;
    const late = setTimeout(() => { if (mine === turn) { bones.hidden = false; if (!facts) place(); } }, 90);
    try {
      prepare(wanted);
      const [found, page] = await Promise.allSettled([
        isCited(wanted) ? json(`/cited/${wanted.from}`) : Promise.resolve(null), json(factsPath(wanted)),
      ]);
      const quoted = found.status === "fulfilled" ? found.value : null;
      const isHere = quoted !== null && quoted.doc === wanted.doc && quoted.page === wanted.page;
      if (page.status === "rejected") {
        if (mine === turn) fail(page.reason, quoted);
        return;
      }
      let url;
      try {
        url = await image(isHere ? `/cited/${wanted.from}/image` : `${pagePath(wanted)}/image`);
      } catch (error) {
        if (!isHere || error.status !== 404) throw error;
        url = await image(`${pagePath(wanted)}/image`);
      }
      if (mine !== turn) return;
      facts = page.value;
      cited = isHere ? quoted : null;
      picture.src = url;
      draw();
      bones.hidden = true;
      toMarks();
      pane.dataset.shown = String(facts.page);
      drawStrip();
      if (hot) drawHeat();
      for (const near of [wanted.page + 1, wanted.page - 1]) {
        if (near >= 1 && near <= facts.pages) {
          const other = { ...wanted, page: near };
          json(factsPath(other)).catch(() => {});
          image(`${pagePath(other)}/image`).catch(() => {});
        }
      }
    } catch (error) {
      if (mine === turn) fail(error, null);
    } finally {
      clearTimeout(late);
    }
  }

  function fail(error, quoted) {
    bones.hidden = true;
    turned.hidden = true;
    facts = null;
    title.textContent = quoted?.name || texts.reader;
    told.textContent = "";
    const trouble = element("div", "trouble");
    trouble.setAttribute("role", "alert");
    if (error.status === 404) {
      trouble.append(element("p", "", quoted?.quote ? texts.gone : texts.goneBare));
      if (quoted?.quote) trouble.append(element("blockquote", "", `“${quoted.quote}”`));
    } else {
      trouble.append(element("p", "", error instanceof Refused ? error.message : texts.failed));
      const again = element("button", "named", texts.retry);
      again.type = "button";
      again.addEventListener("click", () => show(ref));
      trouble.append(again);
    }
    space.append(trouble);
    enable(false);
  }

  function enable(isHere) {
    for (const one of [ask, save, previous, next, number, smaller, larger, wide, whole, rotate, finder, read, pages, heat, more]) one.disabled = !isHere;
    if (!isHere) return;
    previous.disabled = facts.page <= 1;
    next.disabled = facts.page >= facts.pages;
  }

  /* the page */

  function draw() {
    title.textContent = facts.title;
    title.title = facts.name;
    told.textContent = [...(facts.title === facts.name ? [] : [facts.name]), ...facts.facts].join(" · ");
    told.title = told.textContent;
    number.value = facts.page;
    of.textContent = fill(texts.pageOf, { pages: facts.pages });
    picture.alt = described();
    enable(true);
    heat.hidden = !facts.heat;
    if (!facts.heat) warm.hidden = true;
    heat.setAttribute("aria-pressed", String(hot));
    drawWords();
    drawMarks();
    place();
  }

  function described() {
    const page = fill(texts.imageOf, { n: facts.page, pages: facts.pages, name: facts.name });
    if (cited?.quote) return fill(texts.quoted, { told: page, quote: cited.quote });
    return ref.quad.startsWith(`${facts.page}.`) ? fill(texts.outlined, { told: page }) : page;
  }

  const pen = document.createElement("canvas").getContext("2d");

  function drawWords() {
    const spans = facts.words.map(([text, x, y, w, h, joint], index) => {
      const span = element("span", "", joint === "" || joint === "-" ? text : `${text} `);
      pen.font = "100px sans-serif";
      const natural = (pen.measureText(text).width * h) / 100;
      span.dataset.i = index;
      span.style.cssText = `left:${x}px;top:${y}px;font-size:${h}px;transform:scaleX(${natural ? w / natural : 1})`;
      return span;
    });
    words.replaceChildren(...spans);
    words.style.width = `${facts.width}px`;
    words.style.height = `${facts.height}px`;
  }

  function polygon(quad, className, pad = true) {
    let points = quad;
    if (pad) {
      const [[ax, ay], [bx, by], [cx, cy], [dx, dy]] = quad;
      const high = Math.hypot(dx - ax, dy - ay), wide = Math.hypot(bx - ax, by - ay) || 1;
      const [ux, uy] = [((bx - ax) / wide) * high * 0.12, ((by - ay) / wide) * high * 0.12];
      const [vx, vy] = [(dx - ax) * 0.07, (dy - ay) * 0.07];
      points = [[ax - ux - vx, ay - uy - vy], [bx + ux - vx, by + uy - vy], [cx + ux + vx, cy + uy + vy], [dx - ux + vx, dy - uy + vy]];
    }
    return drawing("polygon", { class: className, points: points.map((point) => point.join(",")).join(" ") });
  }

  function shapes() {
    const shown = [];
    if (cited) {
      const [across, down] = [facts.width / (cited.width || facts.width), facts.height / (cited.height || facts.height)];
      for (const quad of cited.quads) shown.push({ quad: quad.map(([x, y]) => [x * across, y * down]), kind: "cited" });
    }
    places?.forEach(([page, quads], index) => {
      if (page === facts.page) for (const quad of quads) shown.push({ quad, kind: index === at ? "match now" : "match" });
    });
    const [page, ...corners] = ref.quad.split(".").map(Number);
    if (corners.length === 8 && page === facts.page) {
      const quad = [0, 2, 4, 6].map((index) => [corners[index], corners[index + 1]]);
      shown.push({ quad, kind: "region" });
    }
    return shown;
  }

  function drawMarks() {
    marks.setAttribute("viewBox", `0 0 ${facts.width} ${facts.height}`);
    marks.replaceChildren(...shapes().map(({ quad, kind }) => polygon(quad, kind, kind !== "region")));
  }

  /* The box around what is to be seen, in pixels of the page; null where nothing is marked. */
  function target() {
    const all = shapes(), now = all.filter((shape) => shape.kind === "match now");
    const quads = (now.length ? now : all.filter((shape) => shape.kind !== "match")).map((shape) => shape.quad);
    if (!quads.length) return null;
    const xs = quads.flat().map(([x]) => x), ys = quads.flat().map(([, y]) => y);
    const keep = (value, most) => Math.min(Math.max(0, value), most);
    const line = Math.min(...quads.map((quad) => Math.hypot(quad[3][0] - quad[0][0], quad[3][1] - quad[0][1])));
    return {
      left: keep(Math.min(...xs), facts.width), right: keep(Math.max(...xs), facts.width),
      top: keep(Math.min(...ys), facts.height), bottom: keep(Math.max(...ys), facts.height), line,
    };
  }

  const sides = () => (angle % 180 ? [facts.height, facts.width] : [facts.width, facts.height]);

  /* The scale at which the page is as wide as the reader. */
  const fullWidth = () => Math.max(40, view.clientWidth - 2 * MARGIN) / sides()[0];

  function scaleNow() {
    const down = sides()[1], width = fullWidth();
    const page = Math.min(width, Math.max(40, view.clientHeight - 2 * MARGIN) / down);
    if (zoom.fit === "page") return page;
    if (zoom.fit === "width") return width;
    if (zoom.fit !== "start") return zoom.scale;
    const seen = target();
    if (!seen) return width;
    const fits = (view.clientWidth - 2 * MARGIN) / Math.max(1, seen.right - seen.left + 2 * seen.line);
    return Math.max(width, Math.min(READABLE / Math.max(1, seen.line), fits, 2 * width));
  }

  function place() {
    const page = facts || { width: 1240, height: 1754 };
    if (!facts) {
      const scale = Math.max(0.1, (view.clientWidth - 2 * MARGIN) / page.width);
      turned.style.width = sheet.style.width = `${page.width * scale}px`;
      turned.style.height = sheet.style.height = `${page.height * scale}px`;
      return;
    }
    const scale = scaleNow(), [across, down] = sides();
    zoom.scale = scale;
    turned.style.width = `${across * scale}px`;
    turned.style.height = `${down * scale}px`;
    sheet.style.width = `${page.width * scale}px`;
    sheet.style.height = `${page.height * scale}px`;
    const moved = { 0: "", 90: `translateX(${across * scale}px)`, 180: `translate(${across * scale}px, ${down * scale}px)`, 270: `translateY(${down * scale}px)` };
    sheet.style.transform = angle ? `${moved[angle]} rotate(${angle}deg)` : "";
    words.style.transform = `scale(${scale})`;
    percent.textContent = `${Math.round(100 * scale / fullWidth())} %`;
    wide.setAttribute("aria-pressed", String(zoom.fit === "width" || zoom.fit === "start"));
    whole.setAttribute("aria-pressed", String(zoom.fit === "page"));
  }

  /* A point of the page in pixels of the turned sheet. */
  function onSheet(x, y) {
    const scale = zoom.scale, turnedTo = { 0: [x, y], 90: [facts.height - y, x], 180: [facts.width - x, facts.height - y], 270: [y, facts.width - x] };
    return turnedTo[angle].map((value) => value * scale);
  }

  function toMarks() {
    const seen = facts ? target() : null;
    if (!seen) {
      view.scrollTo(0, 0);
      return;
    }
    const [ax, ay] = onSheet(seen.left, seen.top), [bx, by] = onSheet(seen.right, seen.bottom);
    const [left, right, top, bottom] = [Math.min(ax, bx), Math.max(ax, bx), Math.min(ay, by), Math.max(ay, by)];
    const high = view.clientHeight, across = view.clientWidth;
    const down = bottom - top > 0.6 * high ? top - 0.1 * high : (top + bottom) / 2 - 0.4 * high;
    const along = right - left > across - 2 * MARGIN ? left - MARGIN : (left + right) / 2 - across / 2;
    view.scrollTo(Math.max(0, turned.offsetLeft + along), Math.max(0, turned.offsetTop + down));
  }

  /* Zoom about a point of the view: by default what is marked, where that is in sight, otherwise the middle. */
  function zoomBy(factor, point = null) {
    if (!facts) return;
    const frame = view.getBoundingClientRect();
    let about = point || [view.clientWidth / 2, view.clientHeight / 2];
    const seen = target();
    if (!point && seen) {
      const [x, y] = onSheet((seen.left + seen.right) / 2, (seen.top + seen.bottom) / 2), box = turned.getBoundingClientRect();
      const there = [box.left - frame.left + x, box.top - frame.top + y];
      if (there[0] >= 0 && there[1] >= 0 && there[0] <= view.clientWidth && there[1] <= view.clientHeight) about = there;
    }
    const before = turned.getBoundingClientRect(), old = zoom.scale;
    const scale = Math.min(LARGEST, Math.max(SMALLEST, old * factor));
    const [x, y] = [(about[0] + frame.left - before.left) / old, (about[1] + frame.top - before.top) / old];
    zoom = { fit: "", scale };
    place();
    const after = turned.getBoundingClientRect();
    view.scrollBy(after.left + x * scale - frame.left - about[0], after.top + y * scale - frame.top - about[1]);
  }

  function setZoom(wanted) {
    zoom = { ...zoom, ...wanted };
    place();
    toMarks();
  }

  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const frame = view.getBoundingClientRect();
    zoomBy(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 180), [event.clientX - frame.left, event.clientY - frame.top]);
  }, { passive: false });

  let pinch = 0;
  const spread = ([a, b]) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  view.addEventListener("touchmove", (event) => {
    if (event.touches.length !== 2) return;
    event.preventDefault();
    const now = spread(event.touches), frame = view.getBoundingClientRect(), [a, b] = event.touches;
    if (pinch) zoomBy(now / pinch, [(a.clientX + b.clientX) / 2 - frame.left, (a.clientY + b.clientY) / 2 - frame.top]);
    pinch = now;
  }, { passive: false });
  for (const end of ["touchend", "touchcancel"]) view.addEventListener(end, () => { pinch = 0; });

  let resized = 0;
  new ResizeObserver(() => {
    cancelAnimationFrame(resized);
    resized = requestAnimationFrame(() => { if (!pane.hidden && facts) { const fits = zoom.fit; place(); if (fits) toMarks(); } });
  }).observe(view);

  /* copying: lines are joined as they were before they were set */

  words.addEventListener("copy", (event) => {
    const selected = getSelection();
    if (!facts || !selected.rangeCount) return;
    const range = selected.getRangeAt(0), spans = [...words.children].filter((span) => range.intersectsNode(span));
    let text = "";
    for (const [index, span] of spans.entries()) {
      const [whole, , , , , joint] = facts.words[Number(span.dataset.i)];
      const from = span.contains(range.startContainer) ? range.startOffset : 0;
      const to = span.contains(range.endContainer) && range.endContainer.nodeType === 3 ? range.endOffset : whole.length;
      const isWhole = to >= whole.length && index < spans.length - 1;
      text += isWhole && joint === "-" ? whole.slice(from, -1) : whole.slice(from, to) + (isWhole ? joint : "");
    }
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  });

  /* thumbnails */

  function drawStrip() {
    if (strip.hidden || !facts) return;
    const first = Math.max(1, facts.page - STRIP), last = Math.min(facts.pages, facts.page + STRIP);
    const key = `${facts.doc} ${first} ${last}`;
    if (strip.dataset.key !== key) {
      strip.dataset.key = key;
      strip.replaceChildren(...Array.from({ length: last - first + 1 }, (_, index) => {
        const page = first + index, one = element("button"), small = element("img");
        one.type = "button";
        one.dataset.page = page;
        one.setAttribute("aria-label", fill(texts.pageName, { n: page }));
        small.loading = "lazy";
        small.alt = "";
        small.src = `${base()}/page/${facts.doc}/${page}/image?size=thumbnail`;
        one.append(small, element("span", "", String(page)));
        one.addEventListener("click", () => go(page));
        return one;
      }));
    }
    for (const one of strip.children) {
      if (Number(one.dataset.page) === facts.page) {
        one.setAttribute("aria-current", "page");
        strip.scrollLeft = one.offsetLeft - (strip.clientWidth - one.offsetWidth) / 2;
      } else one.removeAttribute("aria-current");
    }
    pages.setAttribute("aria-pressed", "true");
  }

  /* search within the document */

  function openFind(isOpen) {
    find.hidden = !isOpen;
    finder.setAttribute("aria-pressed", String(isOpen));
    if (isOpen) {
      field.focus();
      field.select();
      if (field.value && !places) search();
    } else {
      places = null;
      at = -1;
      if (facts) drawMarks();
      view.focus({ preventScroll: true });
    }
  }

  function forgetFind() {
    find.hidden = true;
    field.value = count.textContent = "";
    places = null;
    at = -1;
    finder.setAttribute("aria-pressed", "false");
  }

  async function search() {
    clearTimeout(typing);
    const text = field.value.trim(), doc = ref.doc;
    if (!text) {
      places = null;
      at = -1;
      count.textContent = "";
      drawMarks();
      return;
    }
    let found;
    try {
      found = await json(`/document/${doc}/places?text=${encodeURIComponent(text)}`);
    } catch (error) {
      count.textContent = error.message;
      return;
    }
    if (text !== field.value.trim() || doc !== ref.doc || find.hidden) return;
    places = found.places;
    places.cut = found.cut;
    at = places.findIndex(([page]) => page >= ref.page);
    at = at < 0 ? 0 : at;
    toMatch();
  }

  function match(by) {
    if (!places?.length) return;
    at = (at + by + places.length) % places.length;
    toMatch();
  }

  function toMatch() {
    if (!places.length) {
      count.textContent = texts.noMatch;
      at = -1;
      drawMarks();
      return;
    }
    count.textContent = fill(texts.matchOf, { n: (at + 1).toLocaleString(), count: places.length.toLocaleString() + (places.cut ? "+" : "") });
    if (places[at][0] !== ref.page) go(places[at][0]);
    else {
      drawMarks();
      toMarks();
    }
  }

  /* heat map */

  async function drawHeat() {
    heat.setAttribute("aria-pressed", String(hot));
    warm.hidden = !(hot && facts.heat);
    const mine = turn, wanted = ref;
    if (warm.hidden) {
      picture.src = await image(cited ? `/cited/${wanted.from}/image` : `${pagePath(wanted)}/image`);
      if (mine === turn) picture.alt = described();
      return;
    }
    let map;
    try {
      map = await json(`${pagePath(wanted)}/heat?from=${wanted.from}&word=${encodeURIComponent(word)}`);
    } catch (error) {
      if (mine === turn) warm.replaceChildren(element("span", "told", error.message));
      return;
    }
    if (mine !== turn || !hot) return;
    picture.src = map.image;
    const values = { n: facts.page, strongest: map.strongest, word: map.word };
    picture.alt = fill(map.word ? texts.heatOfWord : texts.heatOf, values);
    const chosen = ["", ...(map.words.length > 1 ? map.words : [])].map((name) => {
      const one = element("button", "", name || texts.allWords);
      one.type = "button";
      one.setAttribute("aria-pressed", String(name === map.word));
      one.addEventListener("click", () => { word = name; drawHeat(); });
      return one;
    });
    const bar = element("img");
    bar.src = map.legend;
    bar.alt = "";
    const held = warm.contains(warm.getRootNode().activeElement);
    warm.replaceChildren(...chosen, ...(map.flat ? [element("span", "told", fill(texts.flat, { name: map.model }))]
      : [element("span", "told", texts.weaker), bar, element("span", "told", fill(texts.strongest, { name: map.model }))]));
    // The keyboard stays in the reader: arrows turn the page after a word was chosen.
    if (held) chosen.find((one) => one.getAttribute("aria-pressed") === "true")?.focus();
  }

  /* keys */

  pane.addEventListener("keydown", (event) => {
    const isField = event.target instanceof HTMLInputElement, isStrong = event.ctrlKey || event.metaKey;
    const act = () => {
      if (event.key === "Escape") return () => (!choices.hidden ? unfold(false) : extras.classList.contains("open") ? showExtras(false) : event.target === field ? openFind(false) : close());
      if (isStrong && event.key.toLowerCase() === "f" && facts) return () => openFind(true);
      if (event.key === "F3" || (isStrong && event.key.toLowerCase() === "g")) return () => match(event.shiftKey ? -1 : 1);
      if (event.target === field && event.key === "Enter") return () => (places ? match(event.shiftKey ? -1 : 1) : search());
      if (isField || isStrong || event.altKey || !facts) return null;
      return {
        ArrowLeft: () => go(ref.page - 1), ArrowRight: () => go(ref.page + 1), PageUp: () => go(ref.page - 1),
        PageDown: () => go(ref.page + 1), Home: () => go(1), End: () => go(facts.pages), "+": () => zoomBy(STEP),
        "=": () => zoomBy(STEP), "-": () => zoomBy(1 / STEP), 0: () => setZoom({ fit: "width" }), n: () => match(1),
        p: () => match(-1), "/": () => openFind(true),
      }[event.key] || null;
    };
    const wanted = act();
    event.stopPropagation();
    if (!wanted) return;
    event.preventDefault();
    wanted();
  });

  /* links, and the quote that a link stands for */

  const quote = element("div");
  quote.id = "docmind-quote";
  quote.setAttribute("role", "tooltip");
  quote.hidden = true;
  document.getElementById("docmind-quote")?.remove();
  document.body.append(quote);
  let hover = 0, hovered = null;

  const linkAt = (event) => (event.target instanceof Element ? event.target.closest(LINK) : null);

  document.addEventListener("click", (event) => {
    const link = linkAt(event), wanted = link && parsed(link.getAttribute("href"));
    if (!choices.hidden && !menu.contains(event.target)) unfold(false);
    if (!extras.contains(event.target) && !more.contains(event.target)) showExtras(false);
    if (!wanted || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    hush();
    address(fragmentOf(wanted), fragmentOf(wanted) !== location.hash);
    open(wanted, link);
  }, true);

  function point(event) {
    const link = linkAt(event);
    if (link === hovered) return;
    hush();
    const wanted = link && parsed(link.getAttribute("href"));
    if (!wanted) return;
    hovered = link;
    hover = setTimeout(() => { prepare(wanted); if (isCited(wanted)) explain(link, wanted); }, HOVER_MS);
  }

  function hush() {
    clearTimeout(hover);
    hovered?.removeAttribute("aria-describedby");
    hovered = null;
    quote.hidden = true;
  }

  /* The place on the page, because the words stand in the answer; null where no place is known. */
  async function cropped(found, from, said) {
    if (!found.quads.length) return null;
    const picture = new Image();
    try {
      picture.src = await image(`/cited/${from}/image`);
      await picture.decode();
    } catch { return null; }
    const xs = found.quads.flat().map(([x]) => x), ys = found.quads.flat().map(([, y]) => y);
    const line = Math.max(1, Math.min(...found.quads.map((quad) => Math.hypot(quad[3][0] - quad[0][0], quad[3][1] - quad[0][1]))));
    const left = Math.max(0, Math.min(...xs) - 2 * line), right = Math.min(found.width, Math.max(...xs) + 2 * line);
    const top = Math.max(0, Math.min(...ys) - line), bottom = Math.min(found.height, Math.max(...ys) + line, top + CROP_LINES * line);
    const scale = Math.min(CROP_LINE / line, CROP_WIDTH / (right - left)), dense = scale * devicePixelRatio;
    const canvas = element("canvas"), context = canvas.getContext("2d");
    canvas.width = Math.round((right - left) * dense);
    canvas.height = Math.round((bottom - top) * dense);
    canvas.style.width = `${(right - left) * scale}px`;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", said);
    const real = picture.naturalWidth / found.width;
    context.drawImage(picture, left * real, top * real, (right - left) * real, (bottom - top) * real, 0, 0, canvas.width, canvas.height);
    context.globalCompositeOperation = "multiply";
    context.fillStyle = "#ffde4d";
    for (const quad of found.quads) {
      context.beginPath();
      for (const [x, y] of quad) context.lineTo((x - left) * dense, (y - top) * dense);
      context.fill();
    }
    return canvas;
  }

  async function explain(link, wanted) {
    let found;
    try { found = await json(`/cited/${wanted.from}`); } catch { return; }
    if (hovered !== link || !link.isConnected) return;
    const said = found.quote ? `“${found.quote}”` : found.how;
    if (!said) return;
    const shown = await cropped(found, wanted.from, said);
    if (hovered !== link || !link.isConnected) return;
    dress();
    quote.replaceChildren(shown ?? element("p", "", said), element("small", "", `${found.name}, ${fill(texts.citedPage, { n: found.page })}`));
    quote.hidden = false;
    link.setAttribute("aria-describedby", quote.id);
    const box = link.getBoundingClientRect(), size = quote.getBoundingClientRect();
    const over = box.top - size.height - 6;
    quote.style.left = `${Math.max(8, Math.min(box.left, innerWidth - size.width - 8))}px`;
    quote.style.top = `${over > 8 ? over : box.bottom + 6}px`;
  }

  document.addEventListener("mouseover", point);
  document.addEventListener("focusin", point);
  document.addEventListener("scroll", hush, true);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hush(); }, true);

  /* the address */

  function follow() {
    const wanted = parsed(location.hash);
    if (!wanted) close();
    else if (pane.hidden || fragmentOf(wanted) !== fragmentOf(ref)) open(wanted, null);
  }
  addEventListener("docmind-corrected", () => { answers.known.clear(); if (!pane.hidden) show(ref); });
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);

  /* Another page of the app was opened; Streamlit tells no part of that whose data stays the same. */
  function moved() {
    if (performance.now() > keptUntil) close();
    else if (!parsed(location.hash)) address(fragmentOf(ref), false);
    path = location.pathname;
  }
  setInterval(() => {
    if (pane.hidden) return;
    if (location.pathname !== path) moved();
    else markOpened();
  }, MOVED_MS);

  return {
    /* The page was drawn again: its theme may be another, and Streamlit may have taken the fragment from the address. */
    redrawn() {
      dress();
      looks.disconnect();
      for (let node = source; node && node !== root; node = node.parentElement) looks.observe(node, { attributes: true, attributeFilter: ["style", "class"] });
      if (pane.hidden) {
        if (parsed(location.hash)) follow();
        return;
      }
      if (location.pathname !== path) moved();
      else if (!parsed(location.hash)) address(fragmentOf(ref), false);
    },
  };
}
