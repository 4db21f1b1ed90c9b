// The pages of one document as thumbnails that are pressed themselves.

const seen = new WeakMap();

export default function ({ parentElement, data, setTriggerValue }) {
  const state = `${data.doc_id} ${data.pages} ${data.done}`;
  const before = seen.get(parentElement);
  if (before === state) return;
  seen.set(parentElement, state);
  const base = "/" + (location.pathname.split("/")[1] || "") + "/-";
  const list = document.createElement("ol");
  list.className = "doc-pages";
  list.setAttribute("aria-label", data.words.pages);
  for (let page = 1; page <= data.pages; page += 1) {
    const item = document.createElement("li"), button = document.createElement("button");
    const name = data.words.page.replace("{n}", String(page));
    button.type = "button";
    button.setAttribute("aria-label", name);
    const frame = document.createElement("span"), image = document.createElement("img");
    frame.className = "doc-frame";
    image.alt = "";
    image.loading = "lazy";
    image.decoding = "async";
    image.src = `${base}/page/${data.doc_id}/${page}/image?size=thumbnail`;
    image.addEventListener("error", () => { button.disabled = true; frame.textContent = data.words.unread; });
    frame.append(image);
    const label = document.createElement("span");
    label.textContent = String(page);
    button.append(frame, label);
    button.addEventListener("click", () => setTriggerValue("page", page));
    item.append(button);
    list.append(item);
  }
  parentElement.querySelector(".doc-pages")?.remove();
  parentElement.append(list); // beside the style sheet, which Streamlit puts there
  if (!before) toTop(parentElement);
}

function toTop(element) {
  for (let at = element.parentElement; at; at = at.parentElement) {
    if (/(auto|scroll)/.test(getComputedStyle(at).overflowY)) at.scrollTop = 0;
  }
}
