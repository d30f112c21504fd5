"use strict";
// The theme.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

  function show() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Change to ${isDark() ? "light" : "dark"} colours`);
    dispatchEvent(new Event("primal-theme"));
  }
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("primal-theme", root.dataset.theme);
    } catch {
      // Some browsers keep nothing for local files; the page then starts as the system does.
    }
    show();
  });
  system.addEventListener("change", show);
  show();
})();

// The ledger: by verdict and by words.
(() => {
  const rows = [...document.querySelectorAll(".ledger > tbody > tr")];
  const groups = [...document.querySelectorAll(".group-of-claims")];
  const plain = (text) => text.toLowerCase().replaceAll("\u03c3", "sigma").replaceAll("-", " ");
  const texts = rows.map((row) => plain(row.textContent));
  const buttons = [...document.querySelectorAll("[data-filter]")];
  const search = document.getElementById("search");
  const unfold = document.getElementById("unfold");
  let kind = "";

  function show() {
    const words = plain(search.value).split(/\s+/).filter(Boolean);
    const chosen = Boolean(kind || words.length);
    let count = 0;
    rows.forEach((row, i) => {
      const fits = (!kind || row.dataset.kind === kind) && words.every((word) => texts[i].includes(word));
      row.hidden = !fits;
      count += fits;
    });
    const all = unfold.getAttribute("aria-pressed") === "true";
    for (const group of groups) {
      const left = group.querySelector(".ledger > tbody > tr:not([hidden])");
      group.hidden = !left;
      group.open = Boolean(left) && (chosen || all);
    }
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.filter === kind));
    }
    document.getElementById("shown").textContent = `${count} of ${rows.length} claims${chosen ? "" : ", by part of the paper"}`;
    document.getElementById("none").hidden = count > 0;
  }
  for (const button of buttons) {
    button.addEventListener("click", () => {
      kind = kind === button.dataset.filter ? "" : button.dataset.filter;
      show();
    });
  }
  search.addEventListener("input", show);
  unfold.addEventListener("click", () => {
    const all = unfold.getAttribute("aria-pressed") !== "true";
    unfold.setAttribute("aria-pressed", String(all));
    show();
  });
  document.getElementById("reset").addEventListener("click", () => {
    kind = "";
    search.value = "";
    show();
    search.focus();
  });
  // What a link leads to is shown, whatever hides it.
  function reveal() {
    const name = decodeURIComponent(location.hash.slice(1));
    const target = name && document.getElementById(name);  // Firefox complains of an empty name
    if (!target) return;
    if (target.hidden) document.getElementById("reset").click();
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    link.addEventListener("click", () => { if (link.hash === location.hash) reveal(); });
  }
  show();
  reveal();
})();

// Figures as files: the page holds them, so it makes them.
for (const button of document.querySelectorAll("[data-file]")) {
  button.addEventListener("click", () => {
    const svg = button.closest("figure").querySelector("svg").cloneNode(true);
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    svg.style.colorScheme = "light";
    const url = URL.createObjectURL(new Blob([svg.outerHTML], { type: "image/svg+xml" }));
    const link = Object.assign(document.createElement("a"), { href: url, download: button.dataset.file });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });
}

// Figures, enlarged: wheel, pinch, drag, keys and buttons.
(() => {
  const dialog = document.getElementById("zoom");
  const stage = document.getElementById("stage");
  const label = document.getElementById("zoom-label");
  const fingers = new Map();
  let scale = 1, left = 0, top = 0;

  function place() {
    stage.style.setProperty("--view", `translate(${left}px, ${top}px) scale(${scale})`);
    stage.dataset.scale = scale.toFixed(3);
  }
  function fit() {
    scale = 1;
    left = top = 0;
    place();
  }
  // Larger about a point of the window that stays where it is.
  function zoom(factor, x, y) {
    const box = stage.getBoundingClientRect();
    const px = (x ?? box.left + box.width / 2) - box.left;
    const py = (y ?? box.top + box.height / 2) - box.top;
    const next = Math.min(20, Math.max(0.5, scale * factor));
    left = px - ((px - left) * next) / scale;
    top = py - ((py - top) * next) / scale;
    scale = next;
    place();
  }
  function move(dx, dy) {
    left += dx;
    top += dy;
    place();
  }

  for (const button of document.querySelectorAll("button.zoom")) {
    button.addEventListener("click", () => {
      stage.replaceChildren(button.querySelector("svg").cloneNode(true));
      label.textContent = button.getAttribute("aria-label").replace("Enlarge: ", "");
      fit();
      dialog.showModal();
    });
  }
  dialog.addEventListener("close", () => {
    stage.replaceChildren();
    fingers.clear();
  });
  for (const button of dialog.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      const what = button.dataset.zoom;
      if (what === "close") dialog.close();
      else if (what === "reset") fit();
      else zoom(what === "in" ? 1.4 : 1 / 1.4);
    });
  }
  dialog.addEventListener("keydown", (event) => {
    const step = 60;
    const keys = {
      "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: fit,
      ArrowLeft: () => move(step, 0), ArrowRight: () => move(-step, 0),
      ArrowUp: () => move(0, step), ArrowDown: () => move(0, -step),
    };
    if (event.ctrlKey || event.metaKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), event.clientX, event.clientY);
  }, { passive: false });
  stage.addEventListener("pointerdown", (event) => {
    stage.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
  });
  stage.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const other = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
    if (other) {
      const apart = (finger) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY);
      const middle = [(event.clientX + other.clientX) / 2, (event.clientY + other.clientY) / 2];
      zoom(apart(event) / Math.max(1, apart(before)), ...middle);
    } else {
      move(event.clientX - before.clientX, event.clientY - before.clientY);
    }
    fingers.set(event.pointerId, event);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    stage.addEventListener(name, (event) => fingers.delete(event.pointerId));
  }
})();
