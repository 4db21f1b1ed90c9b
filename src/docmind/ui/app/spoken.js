// For those who hear the page: the links to its pages have a name, and the arrival of an answer is said.

const LOOK_MS = 200; // a page comes in several changes
const RUNNING = '[class*="st-key-running-"]'; // there while a question is being answered, unless that takes a moment only
const ROWS = '[class*="st-key-turn-"][class*="-row"]'; // one below each answer
const ASK = '[data-testid="stChatInput"]';

let said = null, told = "", wasRunning = false, asked = null, looking = 0; // `asked`: the last answer when one was asked

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
  document.addEventListener("keydown", (event) => { if (event.key === "Enter" && event.target.closest?.(ASK)) ask(); }, true);
  document.addEventListener("click", (event) => { if (event.target.closest?.(`${ASK} button`)) ask(); }, true);
}

function ask() {
  asked = last();
  said.textContent = "";
}

function last() {
  const numbers = [...document.querySelectorAll(ROWS)].map((row) => Number(/st-key-turn-(\d+)-row/.exec(row.className)?.[1] ?? -1));
  return Math.max(-1, ...numbers);
}

function look() {
  looking = 0;
  const isRunning = document.querySelector(RUNNING) !== null;
  const hasCome = asked !== null && !isRunning && last() > asked;
  if (isRunning === wasRunning && !hasCome) return;
  if (hasCome) asked = null;
  wasRunning = isRunning;
  said.textContent = isRunning ? "" : told;
}
