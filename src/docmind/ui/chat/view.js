// Keeps the last question at the top of the view with its answer below it, and the keyboard in the question box.
// Streamlit draws a page in several steps, so the place is held until it is drawn, or until the user scrolls.

const HELD_MS = 2500; // after the answer is drawn: pictures of pages come last
const GAP = 16; // pixels between elements
const SEARCHED_MS = 4000; // for elements that are not drawn yet
const SCROLLING = new Set(["PageUp", "PageDown", "Home", "End", "ArrowUp", "ArrowDown", " "]);

const LEFT_MS = 300; // without a new drawing, the page was left

const seen = { place: undefined, at: undefined, turn: undefined, run: "" };
let held = null; // what ends the hold
let leaving = 0;

const scroller = () => document.querySelector('[data-testid="stMain"]');
const isInDialog = () => // a closed reader is there, and hidden
  [...document.querySelectorAll('[role="dialog"]')].some((one) => one.checkVisibility());
const box = () => document.querySelector('[data-testid="stBottom"] [data-testid="stChatInput"] textarea');

function top() {
  const header = document.querySelector('[data-testid="stHeader"]');
  const banner = document.querySelector(".st-key-past"); // of an earlier point; it stays in view
  return (header ? header.getBoundingClientRect().height : 0) + (banner ? banner.offsetHeight + GAP : 0);
}

/** Gives the last turn the height of the view, so that its question can stand at the top of it. */
function makeRoom() {
  const main = scroller();
  const bottom = document.querySelector('[data-testid="stBottom"]');
  if (!main) return;
  const room = Math.max(160, Math.floor(main.clientHeight - top() - (bottom ? bottom.offsetHeight : 0)));
  document.documentElement.style.setProperty("--room-of-last-turn", `${room}px`);
}

function showLast() {
  const main = scroller();
  const last = document.querySelector(".st-key-last");
  if (!main || !last) return;
  const off = last.getBoundingClientRect().top - main.getBoundingClientRect().top - top();
  if (Math.abs(off) > 1) main.scrollTop += off;
}

function release() {
  if (held) held();
  held = null;
}

/** Holds the last turn at the top while it is being answered and until it is drawn, or until the user scrolls. */
function hold(isRunning) {
  release();
  const main = scroller();
  if (!main) return;
  const until = isRunning ? Infinity : performance.now() + HELD_MS;
  let frame = 0;
  const follow = () => {
    makeRoom();
    // Pages found by a picture stand above the conversation, and are what the user waits for.
    if (!isRunning && document.querySelector(".st-key-picture-results")) {
      release();
      return;
    }
    showLast();
    if (performance.now() > until) release();
    else frame = requestAnimationFrame(follow);
  };
  const key = (event) => {
    if (SCROLLING.has(event.key) && !event.target.closest("textarea, input")) release();
  };
  const press = (event) => {
    if (event.target === main) release(); // its scroll bar
  };
  const end = () => release();
  const choose = ({ target }) => {
    if (target.closest?.('[class*="st-key-turn-"] :is(a, button)')) release(); // it stays where it was pressed
  };
  main.addEventListener("wheel", end, { passive: true });
  main.addEventListener("touchmove", end, { passive: true });
  main.addEventListener("pointerdown", press);
  window.addEventListener("keydown", key);
  window.addEventListener("click", choose, true);
  held = () => {
    cancelAnimationFrame(frame);
    main.removeEventListener("wheel", end);
    main.removeEventListener("touchmove", end);
    main.removeEventListener("pointerdown", press);
    window.removeEventListener("keydown", key);
    window.removeEventListener("click", choose, true);
  };
  follow();
}

/** Puts the keyboard into the question box, unless it is in use elsewhere; not where that opens a keyboard on screen. */
function focusBox() {
  if (matchMedia("(pointer: coarse)").matches) return;
  const until = performance.now() + SEARCHED_MS;
  const tryIt = () => {
    const active = document.activeElement;
    const isTyping = active && active.matches("input, textarea, [contenteditable=true]");
    if (isInDialog() || isTyping) return;
    const found = box();
    if (found && !found.disabled) found.focus({ preventScroll: true });
    else if (performance.now() < until) requestAnimationFrame(tryIt);
  };
  tryIt();
}

/** Adds the first stop of the Tab key: a link past everything to the question box. */
function addSkip(label) {
  let link = document.getElementById("skip-to-question");
  if (!link) {
    link = document.createElement("a");
    link.id = "skip-to-question";
    link.href = "#";
    link.addEventListener("click", (event) => {
      event.preventDefault();
      box()?.focus();
    });
    document.body.prepend(link);
  }
  link.textContent = label;
}

const withoutSlash = (path) => (path || "").replace(/\/+$/, "");

// The link of the open page draws nothing anew, and would keep the keyboard.
document.addEventListener("click", ({ target }) => {
  const link = target.closest?.("a[href]");
  if (seen.place === undefined || !link || link.hash) return;
  if (withoutSlash(link.pathname) === withoutSlash(location.pathname)) focusBox();
});

export default function ({ data: [data] }) {
  clearTimeout(leaving);
  addSkip(data.skip);
  const isOpened = data.place !== seen.place;
  const isMoved = data.at !== seen.at;
  const isAsked = data.turn !== seen.turn || (data.run && data.run !== seen.run);
  const isOver = !data.run && seen.run;
  Object.assign(seen, { place: data.place, at: data.at, turn: data.turn, run: data.run });
  makeRoom();
  if (isOpened && !data.turn) {
    release();
    const main = scroller();
    if (main) main.scrollTop = 0;
  } else if (isOpened || isMoved || isAsked) hold(Boolean(data.run));
  else if (isOver && held) hold(false);
  if (isOpened || isAsked || isOver) focusBox();
  return () => {
    leaving = setTimeout(() => {
      release();
      seen.place = undefined;
      document.getElementById("skip-to-question")?.remove();
    }, LEFT_MS);
  };
}
