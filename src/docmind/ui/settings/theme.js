// The theme that was chosen in Settings, taken over by this tab: the page is loaded again where it shows another one.
export default function ({ data: [data] }) {
  const chosen = String(data.theme);
  const meta = document.querySelector('meta[name="docmind-theme"]');
  if (meta && meta.content !== chosen && ["system", "light", "dark"].includes(chosen)) location.reload();
}
