// Draws the plots from the JSON beside them, in the colours of the theme, and obeys their controls.
// Computes no figure and asks the network for nothing.
(() => {
  "use strict";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  // The text of an A4 page in CSS pixels, less the frame of a figure.
  const PRINT_WIDTH = 640;
  let printing = false;
  // Okabe and Ito's colours, darkened or lightened until they stand out from the paper.
  const themes = {
    light: {
      ink: "#1b1e23", muted: "#767d88", grid: "#e6e8eb", paper: "#ffffff",
      device: ["#0072b2", "#d55e00", "#009e73", "#b0508a", "#56b4e9", "#c79100"],
      size: ["#440154", "#3b528b", "#21918c", "#4fb856", "#d2b200"],
    },
    dark: {
      ink: "#e4e7eb", muted: "#98a1ad", grid: "#2e343c", paper: "#1b1f24",
      device: ["#56b4e9", "#f28a45", "#2fc79e", "#e29bc5", "#8ecdf5", "#e6b93c"],
      size: ["#9a86ee", "#5aa2e8", "#35c4b5", "#92dc6a", "#fde74a"],
    },
  };
  const theme = () => themes[dark.matches && !printing ? "dark" : "light"];
  const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const between = (colours, share) => {
    const at = share * (colours.length - 1), low = Math.min(Math.floor(at), colours.length - 2);
    const from = channels(colours[low]), to = channels(colours[low + 1]);
    return "rgb(" + from.map((value, i) => Math.round(value + (to[i] - value) * (at - low))).join(",") + ")";
  };
  const colour = (name) => {
    const [kind, index, more] = name.slice(1).split(":"), shades = theme();
    if (kind === "device") {
      const hex = shades.device[index % shades.device.length];
      return more === undefined ? hex : "rgba(" + channels(hex).join(",") + "," + more + ")";
    }
    if (kind === "size") return between(shades.size, more > 1 ? index / (more - 1) : 0);
    return shades[kind];
  };
  const resolved = (value) => {
    if (typeof value === "string") return /^@(device|size|ink|muted|grid|paper)\b/.test(value) ? colour(value) : value;
    if (Array.isArray(value)) return value.map(resolved);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(item)]));
    }
    return value;
  };
  const config = { displaylogo: false, responsive: true, showSendToCloud: false, displayModeBar: "hover", plotlyServerURL: "",
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"], toImageButtonOptions: { format: "svg" } };

  const plots = [...document.querySelectorAll(".plot")].map((element) => {
    const name = element.id.slice("plot-".length);
    const content = JSON.parse(document.getElementById("data-" + name).textContent);
    const controls = document.querySelector('.controls[data-for="' + name + '"]');
    const plot = { element, content, controls, choice: content.choices[0] };

    plot.layout = () => {
      const shades = theme();
      const axes = Object.fromEntries(Object.entries(resolved(content.axes)).map(([axis, given]) => [axis, {
        gridcolor: shades.grid, linecolor: shades.muted, zeroline: false, ticks: "outside", ticklen: 4,
        tickcolor: shades.grid, automargin: true, showline: axis.startsWith("x"), separatethousands: true, exponentformat: "none", ...given,
      }]));
      return { ...axes, height: content.height, ...(printing ? { width: PRINT_WIDTH } : {}), margin: { l: 72, r: 48, t: 16, b: 56 }, hovermode: "closest",
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", separators: ".\u202f",
        font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: shades.ink },
        hoverlabel: { align: "left", bgcolor: shades.paper, bordercolor: shades.muted, font: { color: shades.ink } },
        modebar: { orientation: "v", bgcolor: "rgba(0,0,0,0)", color: shades.grid, activecolor: shades.muted },
        legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 13 } } };
    };
    plot.traces = () => content.traces.map((trace) => ({ type: "scatter", ...resolved(trace),
      visible: !trace.meta.length || trace.meta.includes(plot.choice) }));
    plot.draw = () => Plotly.react(element, plot.traces(), plot.layout(), config);

    const select = controls.querySelector("[data-choice]");
    if (select) {
      // A browser that goes back keeps the form: begin with what it shows.
      select.selectedIndex = 0;
      select.addEventListener("change", () => { plot.choice = select.value; plot.draw(); });
    }
    for (const button of controls.querySelectorAll("[data-scale]")) {
      const axis = content.axes[button.dataset.scale];
      const press = () => button.setAttribute("aria-pressed", String(axis.type === "log"));
      button.addEventListener("click", () => { axis.type = axis.type === "log" ? "linear" : "log"; press(); plot.draw(); });
      press();
    }
    for (const button of controls.querySelectorAll("[data-zoom]")) {
      const fixed = Object.fromEntries(button.dataset.zoom.split(" ").map((axis) => [axis, content.axes[axis].range]));
      button.addEventListener("click", () => {
        const fit = button.getAttribute("aria-pressed") !== "true";
        for (const [axis, range] of Object.entries(fixed)) {
          content.axes[axis].range = fit ? undefined : range;
          content.axes[axis].autorange = fit;
        }
        button.setAttribute("aria-pressed", String(fit));
        plot.draw();
      });
    }
    return plot;
  });
  const drawAll = () => Promise.all(plots.map((plot) => plot.draw()));
  drawAll().then(() => { document.documentElement.dataset.drawn = String(plots.length); });
  dark.addEventListener("change", drawAll);
  // Paper cannot be unfolded, and has one colour. Lists of lost frames stay folded: their totals show.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll(":not(.list) > details:not([open])")];
    folded.forEach((details) => { details.open = true; });
    printing = true;
    drawAll();
  });
  window.addEventListener("afterprint", () => {
    folded.forEach((details) => { details.open = false; });
    printing = false;
    drawAll();
  });
})();
