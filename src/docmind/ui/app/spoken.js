// For those who hear the page: its parts have names, and the arrival of an answer is said.

const LONGEST = 400; // characters of an answer that are read out by themselves
const LOOK_MS = 300; // an answer comes in several changes of the page
const ROW = '[class*="st-key-turn-"][class*="-row"]', ANSWER = '[data-testid="stMarkdownContainer"]';

let said = null, known = null, place = "", looking = 0;

export default function ({ data: [{ texts }] }) {
  const pages = document.querySelector(".st-key-pages-of-the-app");
  pages?.setAttribute("role", "navigation");
  pages?.setAttribute("aria-label", texts.pages);
  if (said?.isConnected) return;
  said = document.createElement("div");
  said.id = "docmind-said";
  said.setAttribute("role", "status");
  said.setAttribute("aria-live", "polite");
  document.body.append(said);
  new MutationObserver(() => { looking ||= setTimeout(look, LOOK_MS); }).observe(document.body, { childList: true, subtree: true });
  look();
}

/* Each answer has a row of actions once it is complete; one more of them in the same view is an answer that came. */
function look() {
  looking = 0;
  const rows = document.querySelectorAll(ROW), here = location.pathname + new URLSearchParams(location.search).get("thread");
  if (here === place && known !== null && rows.length > known) say(rows[rows.length - 1]);
  place = here;
  known = rows.length;
}

function say(row) {
  const messages = document.querySelectorAll('[data-testid="stChatMessage"]'), last = messages[messages.length - 1];
  const text = last?.querySelector(ANSWER)?.innerText ?? "", told = row.querySelector('[data-testid="stCaptionContainer"]')?.innerText ?? "";
  said.textContent = `${text.slice(0, LONGEST)} ${told}`.trim();
}
