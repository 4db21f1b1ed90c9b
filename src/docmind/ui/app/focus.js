// What asks for a text, a dialog or the lock screen, begins with the focus in its first field, what stands there
// selected: what is typed at once is kept, and replaces it.

const PLACES = '.stDialog [role="dialog"], .st-key-lock-screen';
const CONTROLS = "input, textarea, select, button:not([aria-label='Close'])";
const TEXTS = 'input:is([type="text"], [type="password"], [type="url"], :not([type])), textarea';
const FILLED_MS = 1_000; // five times what it took in a window on two busy cores
const begun = new WeakSet(); // places whose first field had the focus, or where the user was faster
const typed = new WeakMap(); // by place: what was typed before its field was there

const places = () => [...document.querySelectorAll(PLACES)].filter((place) => !begun.has(place));
const isBeside = (place, element) => element === place || !place.contains(element);

/** Give the focus to the first control of what was opened, where that is a field for a text and nothing else has it. */
function begin() {
  for (const place of places()) {
    // Streamlit draws a field later than the place, and may draw the button below it first.
    const first = [...place.querySelectorAll(CONTROLS)].find((one) => !one.disabled && one.checkVisibility());
    const isFree = isBeside(place, document.activeElement);
    if (isFree && !first?.matches(TEXTS)) continue;
    begun.add(place);
    if (!isFree) continue;
    first.focus();
    const keys = typed.get(place);
    if (keys) {
      first.setRangeText(keys, 0, first.value.length, "end");
      first.dispatchEvent(new InputEvent("input", { bubbles: true, data: keys, inputType: "insertText" }));
    } else select(first);
  }
}

/** Select what stands in a field, which Streamlit fills a moment after it has drawn it: at the latest as one types. */
function select(field) {
  const ends = performance.now() + FILLED_MS;
  let isOver = false;
  const stop = (event) => {
    if (!isOver && event.type === "keydown" && isLetter(event)) field.select();
    isOver = true;
  };
  for (const kind of ["keydown", "pointerdown"]) field.addEventListener(kind, stop, { once: true });
  (function look() {
    if (isOver || document.activeElement !== field || performance.now() > ends) return;
    if (!field.value) { requestAnimationFrame(look); return; }
    field.select();
    isOver = true;
  })();
}

const isLetter = (event) => event.key.length === 1 && !event.ctrlKey && !event.altKey && !event.metaKey;

/** Keep a letter that is typed while the field is still to come; the focus may still be where the place was opened. */
function keep(event) {
  const place = places().at(-1), before = (place && typed.get(place)) ?? "";
  if (!place || !isBeside(place, event.target) || event.defaultPrevented) return;
  // The space bar alone scrolls what has no field.
  if (!isLetter(event) || (event.key === " " && !before)) return;
  typed.set(place, before + event.key);
  event.preventDefault();
}

/** A field is not told that it was left where the Tab key goes on to its own eye: tell it, so that what was typed counts. */
function left({ target, relatedTarget }) {
  const own = target.matches?.('[role="dialog"] input') && target.closest("[data-testid=stTextInput]");
  if (relatedTarget && own && own.contains(relatedTarget)) target.dispatchEvent(new FocusEvent("focusout", { bubbles: true }));
}

let isWatching = false;

export default function () {
  if (isWatching) return;
  isWatching = true;
  new MutationObserver(begin).observe(document.body, { childList: true, subtree: true });
  document.addEventListener("keydown", keep);
  document.addEventListener("focusout", left);
  begin();
}
