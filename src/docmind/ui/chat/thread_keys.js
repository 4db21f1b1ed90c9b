// The list of conversations as one stop of the Tab key: arrows move within it, Right reaches the menu of a row.
// On a narrow window the side bar closes after a choice. The field of the dialog for a new name gets the keyboard.

const NARROW = 768;
let last = ""; // key of the row that had the keyboard last

const rows = (list) => [...list.querySelectorAll('[class*="st-key-show-"] button')];
const menu = (row) => row.closest('[class*="thread-"]')?.querySelector('[class*="st-key-menu-"] button');
const name = (row) => [...row.closest('[class*="st-key-show-"]').classList].find((one) => one.startsWith("st-key-show-"));

function arrange() {
  const list = document.querySelector(".st-key-threads");
  if (list) {
    const all = rows(list);
    const stop =
      all.find((row) => row === document.activeElement || menu(row) === document.activeElement) ||
      all.find((row) => name(row) === last) ||
      all.find((row) => row.closest('[class*="st-key-open-thread-"]')) ||
      all[0];
    for (const row of all) {
      row.tabIndex = row === stop ? 0 : -1;
      const button = menu(row);
      if (button) button.tabIndex = -1;
    }
  }
  const field = document.querySelector(".st-key-rename-field input:not([data-was-focused])");
  if (field) {
    field.dataset.wasFocused = "";
    field.focus();
    field.select();
  }
}

function press(event) {
  const list = event.target.closest?.(".st-key-threads");
  if (!list) return;
  const all = rows(list);
  const at = all.findIndex((row) => row === event.target || menu(row) === event.target);
  if (at < 0) return;
  const isMenu = all[at] !== event.target;
  const goals = {
    ArrowDown: isMenu ? null : all[at + 1],
    ArrowUp: isMenu ? null : all[at - 1],
    Home: all[0],
    End: all[all.length - 1],
    ArrowRight: menu(all[at]),
    ArrowLeft: all[at],
  };
  const goal = goals[event.key];
  if (!goal) return;
  event.preventDefault();
  last = name(all.includes(goal) ? goal : all[at]);
  goal.focus();
  arrange();
}

function choose(event) {
  if (window.innerWidth > NARROW) return;
  if (!event.target.closest?.('.st-key-threads [class*="st-key-show-"] button, .st-key-new-thread button')) return;
  const close = document.querySelector('[data-testid="stSidebarCollapseButton"] button');
  if (close) setTimeout(() => close.click(), 0); // after Streamlit has heard the click
}

export default function () {
  const observer = new MutationObserver(arrange);
  observer.observe(document.body, { childList: true, subtree: true });
  document.addEventListener("keydown", press);
  document.addEventListener("click", choose);
  arrange();
  return () => {
    observer.disconnect();
    document.removeEventListener("keydown", press);
    document.removeEventListener("click", choose);
  };
}
