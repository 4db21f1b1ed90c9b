// Puts the cursor into the passphrase field when the page or the dialog that asks for it appears. The field is not told
// that it was left where the Tab key goes on to its own eye; it is told here, so that what was typed counts.
const FIELD = ".st-key-lock-screen input, [role=dialog] input[type=password]";
const LOOK_MS = 50, LOOKS = 100; // Streamlit may draw the field later than this part

export default function ({ parentElement }) {
  if (parentElement.dataset.done) return;
  parentElement.dataset.done = "1";
  let looks = 0;
  (function focus() {
    const field = document.querySelector(FIELD);
    if (field) field.focus();
    else if (looks++ < LOOKS && parentElement.isConnected) setTimeout(focus, LOOK_MS);
  })();
  const dialog = parentElement.closest("[role=dialog]");
  dialog?.addEventListener("focusout", ({ target, relatedTarget }) => {
    const own = target.closest("[data-testid=stTextInput]");
    if (target.tagName === "INPUT" && relatedTarget && own?.contains(relatedTarget))
      target.dispatchEvent(new FocusEvent("focusout", { bubbles: true }));
  });
}
