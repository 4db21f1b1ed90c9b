// Puts the cursor into the passphrase field when the page that asks for it appears.
export default function ({ parentElement }) {
  if (parentElement.dataset.done) return;
  parentElement.dataset.done = "1";
  document.querySelector(".st-key-lock-screen input")?.focus();
}
