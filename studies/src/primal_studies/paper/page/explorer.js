"use strict";
// The explorer: draws what the library's own module, plane.js and lattice.js compute.
(() => {
  const SMALLEST = 0.001, LARGEST = 2, STEPS = 1000, REACH = 20, MOST_DRAWN = 400;
  const shapes = JSON.parse(document.getElementById("explorer-shapes").textContent);
  const element = (id) => document.getElementById(id);
  const slider = element("sigma-slider"), typed = element("sigma-value");
  const canvas = element("panel-input");
  const choice = { shape: "spiral", basis: "paper", noise: 0, bits: 32 };
  let sigma = 1, outputs = 128, waiting = false, own = [];

  // A fixed sequence of normal numbers, so that a picture stays when a slider moves.
  function normals(n) {
    let state = 42;
    const uniform = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return (state + 0.5) / 2 ** 32;
    };
    return Array.from({ length: n }, () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()));
  }
  const noise = normals(2 * MOST_DRAWN);

  const clean = () => (choice.shape === "own" ? own : shapes[choice.shape]);
  const points = () => clean().map((x, i) => x.map((v, j) => v + choice.noise * noise[2 * i + j]));

  // From violet to green, at a lightness that shows on white and on black.
  const colour = (i, n) => `oklch(${60 + (10 * i) / n}% 0.16 ${300 - (170 * i) / n})`;

  function principal(z, n, D) {
    const mean = new Float64Array(D);
    for (let i = 0; i < n; i++) for (let j = 0; j < D; j++) mean[j] += z[i * D + j] / n;
    const covariance = new Float64Array(D * D);
    const row = new Float64Array(D);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < D; j++) row[j] = z[i * D + j] - mean[j];
      for (let a = 0; a < D; a++) {
        for (let b = 0; b <= a; b++) covariance[a * D + b] += row[a] * row[b];
      }
    }
    for (let a = 0; a < D; a++) for (let b = 0; b < a; b++) covariance[b * D + a] = covariance[a * D + b];
    const axes = [];
    for (let which = 0; which < 2; which++) {
      let axis = Float64Array.from({ length: D }, (_, j) => Math.cos(1 + j * (which + 1)));
      for (let step = 0; step < 80; step++) {
        const next = new Float64Array(D);
        for (let a = 0; a < D; a++) for (let b = 0; b < D; b++) next[a] += covariance[a * D + b] * axis[b];
        for (const done of axes) {
          let along = 0;
          for (let j = 0; j < D; j++) along += done[j] * next[j];
          for (let j = 0; j < D; j++) next[j] -= along * done[j];
        }
        const length = Math.hypot(...next) || 1;
        axis = next.map((v) => v / length);
      }
      axes.push(axis);
    }
    const projected = [];
    for (let i = 0; i < n; i++) {
      projected.push(axes.map((axis) => {
        let sum = 0;
        for (let j = 0; j < D; j++) sum += (z[i * D + j] - mean[j]) * axis[j];
        return sum;
      }));
    }
    return projected;
  }

  function draw(panel, shown, reach, behind) {
    const side = panel.clientWidth;
    if (!side) return;
    const dense = window.devicePixelRatio || 1;
    panel.width = panel.height = Math.round(side * dense);
    const context = panel.getContext("2d");
    context.scale(dense, dense);
    const scale = (0.5 * side - 8) / reach;
    const dot = ([x, y], size) => {
      context.beginPath();
      context.arc(0.5 * side + scale * x, 0.5 * side - scale * y, size, 0, 2 * Math.PI);
      context.fill();
    };
    context.fillStyle = getComputedStyle(panel).color;
    for (const point of behind ?? []) dot(point, 0.9);
    shown.forEach((point, i) => {
      if (!Number.isFinite(point[0])) return;
      context.fillStyle = colour(i, shown.length);
      dot(point, 1.7);
    });
  }

  const extent = (shown) => Math.max(1e-9, ...shown.map(([x, y]) => Math.max(Math.abs(x), Math.abs(y))));
  const digits = (v) => (v !== 0 && (Math.abs(v) < 1e-3 || Math.abs(v) >= 1e5) ? v.toExponential(1) : v.toPrecision(4));
  const error = (found, x) => {
    let sum = 0;
    found.forEach((point, i) => { sum += ((point[0] || 0) - x[i][0]) ** 2 + ((point[1] || 0) - x[i][1]) ** 2; });
    return sum / (2 * x.length);
  };

  function show() {
    waiting = false;
    const x = points();
    element("draw-hint").hidden = choice.shape !== "own" || own.length > 1;
    if (x.length < 2) {
      draw(canvas, x, REACH);
      return;
    }
    const map = new primal.DynamicPrime({
      d: 2, D: outputs, sigma,
      frequencies: choice.basis === "paper" ? undefined
        : shapes.kronecker.slice(0, outputs / 2).flatMap((w) => w.map((v) => sigma * v)),
    });
    const turns = map.turns(x.flat());
    const step = 2 ** (32 - choice.bits);
    // To the nearest: the one way to round a phase.
    if (step > 1) turns.forEach((turn, i) => { turns[i] = (Math.floor(turn / step + 0.5) * step) >>> 0; });
    const z = map.features(turns);
    const linear = plane.decode(map, z);
    const blur = Math.max(2 ** -24, 0.3 * step / 2 ** 32);
    const ours = lattice.decode(plane.pairs(map), turns, x.length, REACH, blur);
    const regime = plane.regime(map, x);
    const latent = principal(z, x.length, outputs);
    draw(canvas, x, REACH);
    draw(element("panel-latent"), latent, extent(latent) * 1.04);
    draw(element("panel-decoded"), linear, REACH, x);
    draw(element("panel-lattice"), ours.points, REACH, x);
    element("fact-regime").textContent = regime.kind;
    element("fact-regime").dataset.kind = regime.kind;
    element("fact-bound").textContent = digits(regime.bound);
    element("fact-largest").textContent = digits(extent(x));
    element("fact-wrapped").textContent = `${(100 * regime.fractionWrapped).toFixed(1)} %`;
    element("fact-mse").textContent = digits(error(linear, x));
    element("fact-lattice").textContent = digits(error(ours.points, x));
    const { one, several, none } = ours.status;
    element("fact-status").textContent = [[one, "only answer"], [several, "one of several"], [none, "no answer"]]
      .filter(([count]) => count).map(([count, what]) => `${what}: ${count}`).join(", ");
  }

  // Many events in one frame make one picture.
  function soon() {
    if (!waiting) {
      waiting = true;
      requestAnimationFrame(show);
    }
  }

  function setSigma(value, from) {
    sigma = value;
    if (from !== slider) {
      const share = Math.log(sigma / SMALLEST) / Math.log(LARGEST / SMALLEST);
      slider.value = Math.round(STEPS * Math.min(1, Math.max(0, share)));
    }
    if (from !== typed) typed.value = String(sigma);
    typed.removeAttribute("aria-invalid");
    slider.setAttribute("aria-valuetext", `sigma ${sigma}`);
    soon();
  }

  slider.addEventListener("input", () => {
    const value = SMALLEST * (LARGEST / SMALLEST) ** (slider.value / STEPS);
    setSigma(Number(value.toPrecision(3)), slider);
  });
  typed.addEventListener("input", () => {
    const value = Number(typed.value);
    if (value >= 1e-6 && value <= 100) setSigma(value, typed);
    else typed.setAttribute("aria-invalid", "true");
  });
  for (const button of document.querySelectorAll("[data-sigma]")) {
    button.addEventListener("click", () => setSigma(Number(button.dataset.sigma)));
  }
  for (const button of document.querySelectorAll("[data-outputs]")) {
    button.addEventListener("click", () => {
      outputs = Number(button.dataset.outputs);
      for (const other of document.querySelectorAll("[data-outputs]")) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      soon();
    });
  }
  for (const select of document.querySelectorAll("[data-choice]")) {
    select.addEventListener("change", () => {
      const value = select.value;
      choice[select.dataset.choice] = Number.isNaN(Number(value)) ? value : Number(value);
      soon();
    });
  }

  // A drawing: points under the pointer, in the units of the other shapes.
  let drawing = false;
  function add(event) {
    const box = canvas.getBoundingClientRect();
    const scale = (0.5 * box.width - 8) / REACH;
    const x = (event.clientX - box.left - 0.5 * box.width) / scale;
    const y = (0.5 * box.height - (event.clientY - box.top)) / scale;
    if (own.length < MOST_DRAWN && Math.max(Math.abs(x), Math.abs(y)) < REACH) own.push([x, y]);
    soon();
  }
  canvas.addEventListener("pointerdown", (event) => {
    if (choice.shape !== "own") return;
    canvas.setPointerCapture(event.pointerId);
    own = [];
    drawing = true;
    add(event);
  });
  canvas.addEventListener("pointermove", (event) => { if (drawing) add(event); });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { drawing = false; });

  addEventListener("resize", soon);
  addEventListener("primal-theme", soon);
  setSigma(sigma);
})();
