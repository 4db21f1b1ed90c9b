// A button that copies an answer, and beside it a menu of other forms. Every text is from documents: set as text only.

const SHOWN_MS = 1800;

async function put(text) {
  if (navigator.clipboard && window.isSecureContext) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // refused, as in a window without the keyboard: the older way may still do
    }
  }
  const field = document.createElement("textarea");
  field.value = text;
  field.style.cssText = "position:fixed;opacity:0";
  document.body.append(field);
  const active = document.activeElement;
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  active?.focus?.({ preventScroll: true });
  return done;
}

function button(label, symbol, look) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = `copy-${look}`;
  made.title = label;
  made.setAttribute("aria-label", label);
  const sign = document.createElement("span");
  sign.setAttribute("aria-hidden", "true");
  sign.textContent = symbol;
  made.append(sign);
  return made;
}

export default function ({ parentElement, data: [data] }) {
  const root = document.createElement("div");
  root.className = "copy-answer";
  const copy = button(data.copy, "content_copy", "button");
  const more = button(data.more, "arrow_drop_down", "more");
  more.setAttribute("aria-haspopup", "menu");
  const list = document.createElement("div");
  list.setAttribute("role", "menu");
  list.className = "copy-menu";
  const notice = document.createElement("span");
  notice.setAttribute("role", "status");
  notice.className = "copy-notice";
  let timer = 0;

  const open = (is) => {
    list.hidden = !is;
    more.setAttribute("aria-expanded", String(is));
    if (is) list.firstElementChild.focus();
  };
  const take = async (text) => {
    const done = await put(text);
    copy.firstChild.textContent = done ? "check" : "content_copy";
    notice.textContent = done ? data.copied : data.failed;
    clearTimeout(timer);
    timer = setTimeout(() => {
      notice.textContent = "";
      copy.firstChild.textContent = "content_copy";
    }, SHOWN_MS);
  };
  for (const [label, text] of data.menu) {
    const entry = document.createElement("button");
    entry.type = "button";
    entry.setAttribute("role", "menuitem");
    entry.textContent = label;
    entry.onclick = () => {
      open(false);
      more.focus();
      take(text);
    };
    list.append(entry);
  }
  copy.onclick = () => take(data.text);
  more.onclick = () => open(list.hidden);
  list.onkeydown = (event) => {
    const entries = [...list.children];
    const at = entries.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) entries[(at + step + entries.length) % entries.length].focus();
    else if (event.key === "Escape") {
      open(false);
      more.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const away = (event) => {
    if (!root.contains(event.target)) open(false);
  };
  document.addEventListener("pointerdown", away);
  open(false);
  root.append(copy, more, list, notice);
  parentElement.querySelector(".copy-answer")?.remove(); // not its style sheet
  parentElement.append(root);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("pointerdown", away);
  };
}
