// The menu "Add" opens the browser's own choice of files; and the whole page takes files that are dropped on it: while
// some are over it, the box for files covers the page (adding.css), so that the box itself receives them.

const LEFT_MS = 150; // without news of files over the page, they have left it

let words = {}, leaving = 0;

const box = (name) => document.querySelector(`.st-key-${name} input[type="file"]`);

addEventListener("click", ({ target }) => {
  const entry = target instanceof Element && target.closest('[role="menuitem"]');
  if (!entry || !document.querySelector(".st-key-add-menu")) return;
  const told = entry.textContent.trim();
  if (words.files && told.endsWith(words.files)) box("adding")?.click();
  else if (words.folder && told.endsWith(words.folder)) box("adding-folder")?.click();
}, true);

const isOver = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files") && box("adding");

function leave() {
  clearTimeout(leaving);
  delete document.documentElement.dataset.dropping;
}

for (const kind of ["dragenter", "dragover"]) {
  addEventListener(kind, (event) => {
    if (!isOver(event) || document.querySelector('[data-testid="stDialog"]')) return;
    event.preventDefault(); // else the browser would open the file in place of the page
    document.documentElement.dataset.dropping = words.drop;
    clearTimeout(leaving);
    leaving = setTimeout(leave, 10 * LEFT_MS);
  }, true);
}
addEventListener("drop", () => setTimeout(leave, LEFT_MS), true);
addEventListener("dragleave", (event) => { if (!event.relatedTarget) leaving = setTimeout(leave, LEFT_MS); }, true);

export default function ({ parentElement, data: [data] }) {
  words = data;
  const host = document.querySelector(".st-key-adding");
  if (host) host.dataset.drop = data.drop;
}
