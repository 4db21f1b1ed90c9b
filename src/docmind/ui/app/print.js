// A button that prints one text alone, such as the recovery code: the rest of the page stays off the paper.
const ID = "docmind-print";
const RULE = `@media screen { #${ID} { display: none } }
@media print { body > :not(#${ID}) { display: none !important } #${ID} { font: 13pt/1.6 monospace; white-space: pre-wrap } }`;

export default function ({ parentElement, data: [data] }) {
  let button = parentElement.querySelector("button");
  if (!button) {
    button = document.createElement("button");
    button.type = "button";
    button.className = "docmind-print";
    parentElement.append(button);
  }
  button.textContent = data.label;
  button.onclick = () => {
    const paper = Object.assign(document.createElement("div"), { id: ID, textContent: data.text });
    const style = Object.assign(document.createElement("style"), { textContent: RULE });
    document.head.append(style);
    document.body.append(paper);
    const clean = () => { paper.remove(); style.remove(); };
    addEventListener("afterprint", clean, { once: true });
    print();
  };
}
