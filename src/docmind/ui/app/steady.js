// Keeps what was pressed, or else what is read, where it stands while the page becomes narrower or wider: a page of a
// document, the history or the memories open beside it. And each view of the app begins at its top.

const HELD_MS = 800; // after a change of the width: pictures and elements of Streamlit come later
const SETTLED = 1; // pixels that are no movement
const BACK = '[data-testid="stMainBlockContainer"]';
const CONTENT = "p, li, img, h1, h2, h3, blockquote, pre, tr, button, a, .lib-row";
const FIXED = '.st-key-heading, .st-key-beside, #docmind-reader, [data-testid="stBottom"], [data-testid="stSidebar"]';
const TURN = /(^| )st-key-turn-\d+( |$)/;

const seen = { view: undefined, width: 0, block: null };
let held = null; // what is kept in its place: {find, top}
let until = 0, frame = 0, wasPressed = false;

const scroller = () => document.querySelector('[data-testid="stMain"]');

/** The turn of a conversation that an element is in, else the whole page. */
function rootOf(element) {
  for (let at = element; at; at = at.parentElement) if (TURN.test(at.className)) return at;
  return element.closest(BACK);
}

/** How an element is found again after it was drawn anew: its way down from a root that has a name. */
function wayTo(element) {
  const root = rootOf(element), steps = [];
  if (!root) return null;
  for (let at = element; at !== root; at = at.parentElement) steps.unshift([...at.parentElement.children].indexOf(at));
  const name = TURN.exec(root.className)?.[0].trim();
  return () => {
    if (element.isConnected) return element;
    let at = document.querySelector(name ? `.${name}` : BACK);
    for (const step of steps) at = at?.children[step] ?? null;
    return at;
  };
}

function top() {
  const heading = document.querySelector(".st-key-heading");
  return Math.max(scroller()?.getBoundingClientRect().top ?? 0, heading?.getBoundingClientRect().bottom ?? 0);
}

const isInView = (box) => box.height > 0 && box.bottom > top() && box.top < innerHeight;

/** Remember an element and its place. */
function remember(element) {
  const find = element && wayTo(element);
  held = find ? { find, top: element.getBoundingClientRect().top } : null;
}

/** Remember the first element in view: what is being read. */
function rememberFirst() {
  wasPressed = false;
  const from = top(), block = document.querySelector(BACK);
  if (!block) return remember(null);
  // Turns above the view are passed over as a whole: a long conversation has many elements.
  const turns = [...block.querySelectorAll('[class*="st-key-turn-"]')].filter((one) => TURN.test(one.className));
  const inView = turns.find((one) => isInView(one.getBoundingClientRect()));
  // A question that begins in the upper half of the view is what is read, not the end of the answer above it.
  const begun = turns.find((one) => {
    const at = one.getBoundingClientRect().top;
    return at >= from && at < (from + innerHeight) / 2;
  });
  if (begun) return remember(begun);
  const found = [...(inView ?? block).querySelectorAll(CONTENT)].find((one) => {
    const box = one.getBoundingClientRect();
    return box.height > 0 && box.top >= from && box.top < innerHeight && !one.closest(FIXED);
  });
  remember(found ?? inView);
}

/** Scroll so that the remembered element has its place; where the page is too short for that, make it longer. */
function putBack() {
  const main = scroller(), element = held?.find();
  if (!main || !element || !element.checkVisibility()) return;
  const off = element.getBoundingClientRect().top - held.top;
  if (Math.abs(off) <= SETTLED) return;
  const lacking = main.scrollTop + off - (main.scrollHeight - main.clientHeight);
  if (lacking > 0) {
    const root = document.documentElement, room = parseFloat(root.style.getPropertyValue("--room-below")) || 0;
    root.style.setProperty("--room-below", `${Math.ceil(room + lacking)}px`);
  }
  main.scrollTop += off;
}

function follow() {
  putBack();
  frame = performance.now() < until ? requestAnimationFrame(follow) : 0;
}

/** The width that lines have: of the conversation where there is one, which a panel makes narrower. */
const widthNow = () => document.querySelector(`.st-key-split [data-testid="stColumn"], ${BACK} .lib`)?.clientWidth ?? document.querySelector(BACK)?.clientWidth ?? 0;

/** What is in the page has another size: look whether that is for another width. */
function resized() {
  const width = widthNow();
  if (!width || width === seen.width) return;
  const isFirst = !seen.width;
  seen.width = width;
  if (isFirst) return;
  document.documentElement.style.removeProperty("--room-below");
  until = performance.now() + HELD_MS;
  cancelAnimationFrame(frame);
  follow();
}

const widths = new ResizeObserver(resized);

/** The user moves the page: what is in view from now on is what is kept. */
function released() {
  until = 0;
  cancelAnimationFrame(frame);
  frame = 0;
}

// Before anything else hears of it: the reader makes the page narrow at once.
function pressed({ target }) {
  if (!(target instanceof Element)) return;
  released();
  const element = target.closest("a, button, [role=button], label, .lib-row");
  if (element?.closest(BACK) && !element.closest(FIXED) && isInView(element.getBoundingClientRect())) {
    remember(element);
    wasPressed = true;
  } else if (!wasPressed || !target.closest("#docmind-reader, .st-key-heading, .st-key-beside")) rememberFirst();
}
addEventListener("click", pressed, true);
for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) addEventListener(kind, released, { capture: true, passive: true });
let scrolled = 0;
document.addEventListener("scroll", ({ target }) => {
  if (target !== scroller() || frame) return;
  clearTimeout(scrolled);
  scrolled = setTimeout(() => {
    const box = held?.find()?.getBoundingClientRect();
    // A pressed element that is still in view stays the one that is kept, at its new place.
    if (wasPressed && box && isInView(box)) held.top = box.top;
    else rememberFirst();
  }, 60);
}, true);

export default function ({ data: [data] }) {
  const block = document.querySelector(BACK);
  if (block && block !== seen.block) {
    widths.disconnect();
    widths.observe(block);
    Object.assign(seen, { block, width: widthNow() });
  }
  if (data.view === seen.view) return;
  const isFirst = seen.view === undefined, main = scroller();
  Object.assign(seen, { view: data.view, width: widthNow() });
  held = null;
  wasPressed = false;
  document.documentElement.style.removeProperty("--room-below");
  if (!isFirst && main) main.scrollTop = 0;
}
