// The figures of one document as thumbnails with their captions; each is a link that opens the reader at its place.

const seen = new WeakMap();

export default function ({ parentElement, data: [data] }) {
  const state = JSON.stringify(data);
  if (seen.get(parentElement) === state) return;
  seen.set(parentElement, state);
  const base = "/" + (location.pathname.split("/")[1] || "") + "/-";
  const list = document.createElement("ul");
  list.className = "doc-figures";
  list.setAttribute("aria-label", data.words.figures);
  for (const [page, number, said, href] of data.figures) {
    const item = document.createElement("li"), link = document.createElement("a");
    const place = data.words.page.replace("{n}", String(page));
    link.href = href;
    const frame = document.createElement("span"), image = document.createElement("img");
    frame.className = "doc-figure";
    image.alt = said;
    image.loading = "lazy";
    image.decoding = "async";
    image.src = `${base}/page/${data.doc_id}/${page}/figure/${number}`;
    image.addEventListener("error", () => { frame.textContent = data.words.lost; });
    frame.append(image);
    const label = document.createElement("span"), caption = document.createElement("span");
    label.className = "doc-figure-page";
    label.textContent = place;
    caption.className = "doc-figure-said";
    caption.textContent = said;
    if (said) caption.setAttribute("aria-hidden", "true"); // the picture says it
    link.append(frame, ...(said ? [caption] : []), label);
    item.append(link);
    list.append(item);
  }
  parentElement.querySelector(".doc-figures")?.remove();
  parentElement.append(list); // beside the style sheet, which Streamlit puts there
}
