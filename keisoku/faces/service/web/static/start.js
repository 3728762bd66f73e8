// Shows the fields of a device only where a device is measured. Nothing else depends on it.
document.addEventListener("DOMContentLoaded", () => {
  const kind = document.getElementById("measurement");
  if (!kind) return;
  const show = () => document.querySelectorAll("[data-for]").forEach((part) => { part.hidden = part.dataset.for !== kind.value; });
  kind.addEventListener("change", show);
  show();
});
