// For those who hear the page: the links to its pages have a name, and the arrival of an answer is said.

const LOOK_MS = 200; // a page comes in several changes
const RUNNING = ".st-key-running"; // there while a question is being answered

let said = null, told = "", wasRunning = false, looking = 0;

export default function ({ data: [{ texts }] }) {
  const pages = document.querySelector(".st-key-pages-of-the-app");
  pages?.setAttribute("role", "navigation");
  pages?.setAttribute("aria-label", texts.pages);
  told = texts.arrived;
  if (said?.isConnected) return;
  said = document.createElement("div");
  said.id = "docmind-said";
  said.setAttribute("role", "status");
  document.body.append(said);
  new MutationObserver(() => { looking ||= setTimeout(look, LOOK_MS); }).observe(document.body, { childList: true, subtree: true });
}

function look() {
  looking = 0;
  const isRunning = document.querySelector(RUNNING) !== null;
  if (isRunning === wasRunning) return;
  wasRunning = isRunning;
  said.textContent = isRunning ? "" : told;
}
