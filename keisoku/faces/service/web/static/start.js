// What the page can do without, and is quicker with: keys, and fields that only one kind of device has.
const typing = (node) => node.matches("input:not([type=checkbox]):not([type=radio]), select, textarea, [contenteditable]");
document.addEventListener("keydown", (pressed) => {
  if (pressed.ctrlKey && pressed.key === "Enter") {
    const form = document.getElementById("form");
    if (!form) return;
    pressed.preventDefault();
    // While Ctrl is pressed the browser would open the answer in another tab, so this waits for the end of the event.
    setTimeout(() => form.requestSubmit(document.querySelector("button[name=start]")));
    return;
  }
  if (pressed.ctrlKey || pressed.altKey || pressed.metaKey || typing(pressed.target)) return;
  const wanted = [...document.querySelectorAll("[data-key]")].find((each) => each.dataset.key === pressed.key);
  if (!wanted) return;
  pressed.preventDefault();
  wanted.click();
});
// What has not changed stays, with the focus and the selection in it.
const shown = new Map();
document.addEventListener("htmx:beforeSwap", (swap) => {
  const { target, xhr } = swap.detail;
  if (shown.get(target.id) === xhr.responseText) swap.detail.shouldSwap = false;
  shown.set(target.id, xhr.responseText);
});
document.addEventListener("DOMContentLoaded", () => {
  const device = document.getElementById("f-dut"), ports = document.getElementById("host-ports");
  if (device && ports) {
    const parameters = document.getElementById("f-dut_parameters"), numbers = document.getElementById("f-ports");
    const show = () => {
      const real = device.value === "", lab = device.value.startsWith("lab:");
      ports.hidden = !real;
      ports.querySelectorAll("input:not([data-never])").forEach((each) => { each.disabled = !real; });
      parameters.disabled = !lab;
      document.getElementById("f-port_engine").disabled = !real && !lab;
      parameters.placeholder = device.selectedOptions[0].dataset.parameters || "mtu=9000";
      if (numbers && numbers.tagName === "INPUT") numbers.closest(".field").hidden = real;
    };
    device.addEventListener("change", show);
    show();
  }
  (document.getElementById("mistakes") || document.getElementById("outline"))?.focus();
  document.querySelectorAll('a[href^="#f-"]').forEach((link) => link.addEventListener("click", (pressed) => {
    const field = document.getElementById(link.hash.slice(1));
    if (!field) return;
    pressed.preventDefault();
    field.closest("details")?.setAttribute("open", "");
    field.scrollIntoView({ block: "center" });
    field.focus();
  }));
});
