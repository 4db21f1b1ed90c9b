/* What the reader and the X-ray build their pages of. Texts are hostile: they are set with `textContent` only. */

/* Strokes of icons that both draw, in a square of 24. */
export const SHAPES = {
  close: "M6 6l12 12M18 6L6 18", previous: "M15 5l-7 7 7 7", next: "M9 5l7 7-7 7", down: "M5 9l7 7 7-7",
};

export function element(name, className = "", text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

export function drawing(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/* A button with an icon of these `strokes`, if any; its label is shown beside it where it `isNamed`. */
export function iconButton(strokes, label, press, isNamed = false) {
  const made = element("button", isNamed ? "named" : "");
  made.type = "button";
  made.title = label;
  if (strokes) {
    const icon = drawing("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" });
    icon.append(drawing("path", { d: strokes }));
    made.append(icon);
  }
  if (isNamed) made.append(element("span", "", label));
  else made.setAttribute("aria-label", label);
  made.addEventListener("click", press);
  return made;
}

export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/* The address of this start, before what lies below `/-/`. */
export const base = () => `/${location.pathname.split("/")[1]}/-`;
