// Exchanges the pictures of a plot as the reader chooses, and says what a point is. Computes no figure and asks the
// network for nothing.
(() => {
  "use strict";
  const inflated = async (packed) => {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  };
  const plots = [...document.querySelectorAll(".plot")];
  for (const plot of plots) {
    const name = plot.id.slice("plot-".length);
    const packed = document.getElementById("data-" + name);
    const controls = document.querySelector('.controls[data-for="' + name + '"]');
    if (!packed || !controls) continue;
    if (!("DecompressionStream" in window)) { controls.hidden = true; continue; }
    const select = controls.querySelector("select"), buttons = [...controls.querySelectorAll("button")];
    const state = () => (select ? select.selectedIndex : 0) + ":"
      + buttons.map((button) => (button.getAttribute("aria-pressed") === "true" ? "1" : "0")).join("");
    // A browser that goes back keeps the form: begin with what the page shows.
    if (select) select.selectedIndex = 0;
    const [wide, narrow] = [plot.querySelector(".wide"), plot.querySelector(".narrow")];
    const known = { [state()]: [wide.innerHTML, narrow.innerHTML] };
    let others = null;
    const show = async () => {
      const key = state();
      if (!known[key]) { others = others || inflated(packed.textContent); Object.assign(known, await others); }
      // Of a changed plot there is no narrow picture: a telephone scrolls the wide one.
      if (key === state()) [wide.innerHTML, narrow.innerHTML] = Array.isArray(known[key]) ? known[key] : [known[key], known[key]];
      plot.dataset.state = key;
    };
    if (select) select.addEventListener("change", show);
    for (const button of buttons) button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      show();
    });
  }
  // What a point is, at once; without a script the browser shows the same after a moment.
  const tip = document.getElementById("tip");
  document.addEventListener("pointerover", (event) => {
    const title = event.target.closest && event.target.closest(".plot svg *") && event.target.querySelector("title");
    tip.hidden = !title;
    if (!title) return;
    tip.textContent = title.textContent;
    const at = event.target.getBoundingClientRect(), room = document.documentElement.clientWidth;
    tip.style.left = Math.max(4, Math.min(at.right + 8, room - tip.offsetWidth - 4)) + "px";
    tip.style.top = Math.max(4, at.top - tip.offsetHeight - 6) + "px";
  });
  // Paper cannot be unfolded. Lists of lost frames stay folded: their totals show.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll(":not(.list) > details:not([open])")];
    folded.forEach((details) => { details.open = true; });
  });
  window.addEventListener("afterprint", () => folded.forEach((details) => { details.open = false; }));
  document.documentElement.dataset.drawn = String(plots.length);
})();
