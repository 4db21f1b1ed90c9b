// Few stops of the Tab key: what belongs together is one stop, and arrows move within it. In the list of conversations
// Right reaches the menu of a row. On a narrow window the side bar closes after a choice.

const NARROW = 768;
const LIST = "list";
const GROUPS = {
  bar: '[data-testid="stSidebarCollapseButton"] button, [data-testid="stSidebar"] [data-testid="stPageLink-NavLink"], .st-key-recovery-show-side button, .st-key-new-thread button',
  picture: '.st-key-picture :is([data-testid="stFileUploader"] button, .stButton button)',
  [LIST]:
    ':is(.st-key-threads, .st-key-threads-put-away) [class*="st-key-show-"] button, .st-key-more-threads button, .st-key-archived-threads button, .st-key-deleted-threads button',
  heading: ".st-key-heading .stButton button",
  examples: ".st-key-examples button",
  choices: '.st-key-choices :is(button, input[type="checkbox"])',
};
const last = {}; // by group: the key of the element that had the keyboard last
let drawing = 0;

const menu = (row) => row.closest('[class*="thread-"]')?.querySelector('[class*="st-key-menu-"] button');
const isOpen = (row) => row.closest('[class*="st-key-open-thread-"]');
const members = (group) => [...document.querySelectorAll(GROUPS[group])].filter((one) => !one.disabled && one.checkVisibility());

function name(element) {
  const holder = element.closest('[class*="st-key-"]');
  return [...(holder?.classList ?? [])].find((one) => one.startsWith("st-key-")) || element.textContent;
}

function arrange() {
  for (const group of Object.keys(GROUPS)) {
    const all = members(group);
    const active = document.activeElement;
    const stop =
      all.find((one) => one === active || (group === LIST && menu(one) === active)) ||
      all.find((one) => name(one) === last[group]) ||
      (group === LIST && all.find(isOpen)) ||
      all[0];
    for (const one of all) {
      one.tabIndex = one === stop ? 0 : -1;
      const button = group === LIST && menu(one);
      if (button) button.tabIndex = -1;
    }
  }
  const skip = document.querySelector('[data-testid="stSkipToContent"]'); // one link past the side bar is enough
  if (skip) skip.tabIndex = document.getElementById("skip-to-question") ? -1 : 0;
}

function arrangeSoon() {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(arrange);
}

function goalInList(key, all, at, isMenu) {
  return {
    ArrowDown: isMenu ? null : all[at + 1],
    ArrowUp: isMenu ? null : all[at - 1],
    ArrowRight: menu(all[at]),
    ArrowLeft: all[at],
    Home: all[0],
    End: all[all.length - 1],
  }[key];
}

function goalIn(key, all, at) {
  return {
    ArrowDown: all[at + 1],
    ArrowRight: all[at + 1],
    ArrowUp: all[at - 1],
    ArrowLeft: all[at - 1],
    Home: all[0],
    End: all[all.length - 1],
  }[key];
}

function press(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || event.target.ariaExpanded === "true") return;
  for (const group of Object.keys(GROUPS)) {
    const all = members(group);
    const at = all.findIndex((one) => one === event.target || (group === LIST && menu(one) === event.target));
    if (at < 0) continue;
    const isMenu = all[at] !== event.target;
    const goal = group === LIST ? goalInList(event.key, all, at, isMenu) : goalIn(event.key, all, at);
    if (!goal) return;
    event.preventDefault();
    last[group] = name(all.includes(goal) ? goal : all[at]);
    goal.focus();
    arrange();
    return;
  }
}

function choose(event) {
  if (window.innerWidth > NARROW) return;
  if (!event.target.closest?.('.st-key-threads [class*="st-key-show-"] button, .st-key-new-thread button')) return;
  const close = document.querySelector('[data-testid="stSidebarCollapseButton"] button');
  if (close) setTimeout(() => close.click(), 0); // after Streamlit has heard the click
}

export default function () {
  const observer = new MutationObserver(arrangeSoon);
  observer.observe(document.body, { childList: true, subtree: true });
  document.addEventListener("keydown", press);
  document.addEventListener("click", choose);
  arrange();
  return () => {
    observer.disconnect();
    cancelAnimationFrame(drawing);
    document.removeEventListener("keydown", press);
    document.removeEventListener("click", choose);
  };
}
