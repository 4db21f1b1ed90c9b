// The pages of one document as thumbnails; each is a link that opens the reader.

const seen = new WeakMap();

export default function ({ parentElement, data: [data] }) {
  const state = `${data.doc_id} ${data.pages} ${data.done}`;
  const before = seen.get(parentElement);
  if (before === state) return;
  seen.set(parentElement, state);
  const base = "/" + (location.pathname.split("/")[1] || "") + "/-";
  const list = document.createElement("ol");
  list.className = "doc-pages";
  list.setAttribute("aria-label", data.words.pages);
  for (let page = 1; page <= data.pages; page += 1) {
    const item = document.createElement("li"), link = document.createElement("a");
    const name = data.words.page.replace("{n}", String(page));
    link.href = `#read=${data.doc_id}.${page}`;
    link.setAttribute("aria-label", name);
    const frame = document.createElement("span"), image = document.createElement("img");
    frame.className = "doc-frame";
    image.alt = "";
    image.loading = "lazy";
    image.decoding = "async";
    image.src = `${base}/page/${data.doc_id}/${page}/image?size=thumbnail`;
    image.addEventListener("error", () => { link.removeAttribute("href"); link.nextElementSibling?.remove(); frame.textContent = data.words.unread; });
    frame.append(image);
    const label = document.createElement("span");
    label.textContent = String(page);
    link.append(frame, label);
    const read = document.createElement("a");
    read.className = "doc-read";
    read.href = `#xray=${data.doc_id}.${page}`;
    read.textContent = data.words.read;
    read.setAttribute("aria-label", data.words.readOn.replace("{n}", String(page)));
    item.append(link, read);
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
