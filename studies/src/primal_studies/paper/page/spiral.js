"use strict";
// The view that moves sigma: draws what turns.js computes.
(() => {
  const SMALLEST = 0.001, LARGEST = 2, STEPS = 1000;
  const points = JSON.parse(document.getElementById("spiral-points").textContent);
  const integers = primal.integerPoints(points);
  const largest = Math.max(...points.flat().map(Math.abs));
  const element = (id) => document.getElementById(id);
  const slider = element("sigma-slider");
  const typed = element("sigma-value");
  let sigma = 0.007;
  let outputs = 4;
  let waiting = false;

  // From violet to green, at a lightness that shows on white and on black.
  const colours = points.map((_, i) => {
    const share = i / (points.length - 1);
    return `oklch(${60 + 10 * share}% 0.16 ${300 - 170 * share})`;
  });

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

  function draw(canvas, shown, reach, behind) {
    const side = canvas.clientWidth;
    if (!side) return;
    const dense = window.devicePixelRatio || 1;
    canvas.width = canvas.height = Math.round(side * dense);
    const context = canvas.getContext("2d");
    context.scale(dense, dense);
    const scale = (0.5 * side - 10) / reach;
    const dot = ([x, y], size) => {
      context.beginPath();
      context.arc(0.5 * side + scale * x, 0.5 * side - scale * y, size, 0, 2 * Math.PI);
      context.fill();
    };
    context.fillStyle = getComputedStyle(canvas).color;
    for (const point of behind ?? []) dot(point, 0.8);
    shown.forEach((point, i) => {
      context.fillStyle = colours[i];
      dot(point, 1.7);
    });
  }

  const extent = (shown) => Math.max(...shown.map(([x, y]) => Math.max(Math.abs(x), Math.abs(y))));
  const digits = (v) => (v !== 0 && (Math.abs(v) < 1e-3 || Math.abs(v) >= 1e5) ? v.toExponential(1) : v.toPrecision(4));

  function show() {
    waiting = false;
    const trip = primal.roundTrip(points, integers, outputs, sigma);
    const latent = principal(trip.z, points.length, outputs);
    const reach = Math.max(largest, extent(trip.decoded)) * 1.04;
    draw(element("panel-input"), points, largest * 1.04);
    draw(element("panel-latent"), latent, extent(latent) * 1.04);
    draw(element("panel-decoded"), trip.decoded, reach, points);
    element("decoded-range").textContent = `(within ±${digits(reach)}; input in grey)`;
    element("fact-regime").textContent = trip.kind;
    element("fact-regime").dataset.kind = trip.kind;
    element("fact-bound").textContent = digits(trip.bound);
    element("fact-largest").textContent = digits(largest);
    element("fact-wrapped").textContent = `${(100 * trip.fractionWrapped).toFixed(1)} %`;
    element("fact-mse").textContent = digits(trip.mse);
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
    if (value >= 1e-6 && value <= 1e6) setSigma(value, typed);
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
  addEventListener("resize", soon);
  addEventListener("primal-theme", soon);
  setSigma(sigma);
})();
