(() => {
  "use strict";
  const find = id => document.getElementById(id);
  const data = JSON.parse(find("map-data").textContent);
  const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const numbers = (text, Kind) => new Kind(bytes(text).buffer);
  const labels = numbers(data.labels, Uint16Array), confidence = bytes(data.confidence);
  const rows = numbers(data.rows, Uint32Array), places = numbers(data.places, Uint16Array);
  const top = data.top && { index: numbers(data.top.index, Uint32Array), size: numbers(data.top.size, Int8Array) };
  const CIVIDIS = [[18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115], [138, 134, 120], [165, 156, 116],
    [194, 180, 107], [224, 204, 92], [240, 216, 62]];
  const shade = share => {
    const at = Math.min(share, 0.9999) * (CIVIDIS.length - 1), low = Math.floor(at);
    return `rgb(${CIVIDIS[low].map((c, i) => Math.round(c + (at - low) * (CIVIDIS[low + 1][i] - c)))})`;
  };
  const SHADES = Array.from({ length: 255 }, (_, i) => shade(i / 254));
  const canvas = find("map"), brush = canvas.getContext("2d"), box = canvas.parentElement;
  const tip = find("tip"), coloring = find("coloring"), lassoButton = find("lasso"), scale = find("scale");
  const background = new Image();
  background.onload = () => draw();
  if (data.density) background.src = data.density.uri;
  let width = 0, height = 0, zoom = 1, left = 0, above = 0;  /* screen = zoom * unit + (left, above) */
  let colors = [], nearest = -1, chosen = new Set(), active = null, path = null, asked = false;
  const touches = new Map();
  const name = i => data.names ? data.names[i] : `sample ${rows[i]}`;
  const key = i => data.names ? data.names[i] : String(rows[i]);
  const across = i => zoom * places[2 * i] / 65535 + left, down = i => zoom * places[2 * i + 1] / 65535 + above;

  function recolor() {
    const [kind, number] = coloring.value.split(":");
    const feature = kind === "feature" ? data.features[number] : kind === "confidence" ? data.sure : null;
    const values = feature && bytes(feature.values);
    const other = kind === "alternative" ? numbers(data.alternatives[number], Uint16Array) : labels;
    const palette = kind === "alternative" ? data.alternativeColors[number] : data.colors;
    colors = Array.from({ length: data.n }, (_, i) =>
      values ? values[i] === 255 ? "#8888" : SHADES[values[i]] : palette[other[i]]);
    scale.hidden = !values;
    if (feature) { scale.children[0].textContent = feature.low; scale.children[2].textContent = feature.high; }
    draw();
  }
  function fit() {
    const [x0, y0, x1, y1] = data.view, margin = 24;
    zoom = Math.min((width - 2 * margin) / Math.max(x1 - x0, 1e-6), (height - 2 * margin) / Math.max(y1 - y0, 1e-6));
    left = width / 2 - zoom * (x0 + x1) / 2;
    above = height / 2 - zoom * (y0 + y1) / 2;
    draw();
  }
  function resize() {
    const ratio = devicePixelRatio || 1, first = !width, center = [(width / 2 - left) / zoom, (height / 2 - above) / zoom];
    const before = width;
    width = canvas.clientWidth; height = canvas.clientHeight;
    canvas.width = Math.round(ratio * width); canvas.height = Math.round(ratio * height);
    brush.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (first || !before) return fit();
    zoom *= width / before;
    left = width / 2 - zoom * center[0]; above = height / 2 - zoom * center[1];
    draw();
  }
  const bright = i => (active === null || labels[i] === active) && (!chosen.size || chosen.has(i));
  function draw() {
    if (!asked) requestAnimationFrame(() => { asked = false; paint(); });
    asked = true;
  }
  function paint() {
    const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--ink");
    const paper = style.getPropertyValue("--paper"), dimmed = active !== null || chosen.size > 0;
    brush.clearRect(0, 0, width, height);
    if (data.density && background.complete)
      brush.drawImage(background, left, above, zoom * data.density.right, zoom * data.density.bottom);
    const size = data.n > 5000 ? 1.6 : data.n > 1000 ? 2.3 : 3.4;
    for (const front of dimmed ? [false, true] : [true]) {
      brush.globalAlpha = front ? 0.85 : 0.1;
      for (let i = 0; i < data.n; i++) {
        const x = across(i), y = down(i);
        if (x < -4 || y < -4 || x > width + 4 || y > height + 4 || bright(i) !== front) continue;
        brush.fillStyle = colors[i];
        if (data.n > 5000) { brush.fillRect(x - size, y - size, 2 * size, 2 * size); continue; }
        brush.beginPath(); brush.arc(x, y, size, 0, 6.3); brush.fill();
      }
    }
    brush.globalAlpha = 1;
    brush.lineJoin = "round";
    brush.font = "bold 14px system-ui, sans-serif"; brush.textAlign = "center"; brush.textBaseline = "middle";
    const taken = [];
    for (const { label, x, y, radius } of coloring.value === "cluster" ? data.numbers : []) {
      const lift = zoom * radius < 14 ? zoom * radius + size + 9 : 0;  /* above clusters that it would cover */
      const at = [zoom * x + left, zoom * y + above - lift];
      if (taken.some(([a, b]) => Math.abs(a - at[0]) < 24 && Math.abs(b - at[1]) < 16)) continue;
      taken.push(at);
      brush.lineWidth = 4; brush.strokeStyle = paper; brush.strokeText(label, ...at);
      brush.fillStyle = ink; brush.fillText(label, ...at);
    }
    brush.strokeStyle = ink; brush.lineWidth = 1.5;
    if (nearest >= 0) { brush.beginPath(); brush.arc(across(nearest), down(nearest), size + 3, 0, 6.3); brush.stroke(); }
    if (path) {
      brush.setLineDash([5, 4]); brush.beginPath();
      path.forEach(([x, y]) => brush.lineTo(x, y));
      brush.closePath(); brush.stroke(); brush.setLineDash([]);
    }
  }
  function part(tag, text, kind) {
    const made = document.createElement(tag);
    made.textContent = text;
    if (kind) made.className = kind;
    tip.append(made);
    return made;
  }
  function hover(x, y) {
    let found = -1, least = 14 * 14;
    for (let i = 0; i < data.n; i++) {
      const distance = (across(i) - x) ** 2 + (down(i) - y) ** 2;
      if (distance < least && (active === null || labels[i] === active)) { least = distance; found = i; }
    }
    if (found === nearest) return;
    nearest = found;
    tip.hidden = found < 0;
    draw();
    if (found < 0) return;
    tip.replaceChildren();
    part("strong", name(found));
    if (data.clustered) part("span", `cluster ${labels[found]}, confidence ${(confidence[found] / 255).toFixed(2)}`);
    if (data.sprite) {
      const { uri, width: w, height: h, columns } = data.sprite, factor = Math.max(1, Math.round(64 / Math.max(w, h)));
      const image = part("i", "", "thumb");
      image.style.cssText = `width:${w * factor}px;height:${h * factor}px;background-image:url("${uri}");` +
        `background-size:${w * columns * factor}px auto;` +
        `background-position:${-(found % columns) * w * factor}px ${-Math.floor(found / columns) * h * factor}px`;
    }
    for (let k = 0; top && k < data.top.each; k++) {
      const size = top.size[data.top.each * found + k] / 10;
      if (size) part("span", `${data.top.names[top.index[data.top.each * found + k]]} ${size > 0 ? "+" : "−"}${Math.abs(size).toFixed(1)} SD`, "quiet");
    }
    const px = across(found), py = down(found);
    tip.style.left = `${Math.max(4, Math.min(px + 14, width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${py + 18 + tip.offsetHeight > height ? Math.max(4, py - tip.offsetHeight - 14) : py + 18}px`;
  }
  function inside(x, y) {
    let odd = false;
    for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
      const [x0, y0] = path[i], [x1, y1] = path[j];
      if (y0 > y !== y1 > y && x < (x1 - x0) * (y - y0) / (y1 - y0) + x0) odd = !odd;
    }
    return odd;
  }
  function choose(indices) {
    chosen = new Set(indices);
    find("chosen").hidden = !chosen.size;
    find("count").textContent = chosen.size === 1 ? "1 sample selected" : `${chosen.size} samples selected`;
    find("names").value = [...chosen].sort((a, b) => rows[a] - rows[b]).map(key).join("\n");
    draw();
  }
  function zoomBy(factor, x = width / 2, y = height / 2) {
    left = x - factor * (x - left); above = y - factor * (y - above); zoom *= factor;
    draw();
  }
  const at = event => {
    const edge = canvas.getBoundingClientRect();
    return [event.clientX - edge.left, event.clientY - edge.top];
  };
  canvas.addEventListener("pointerdown", event => {
    if (event.isTrusted) canvas.setPointerCapture(event.pointerId);
    touches.set(event.pointerId, at(event));
    if (lassoButton.getAttribute("aria-pressed") === "true") path = [at(event)];
  });
  canvas.addEventListener("pointermove", event => {
    const [x, y] = at(event), before = touches.get(event.pointerId);
    if (!before) return hover(x, y);
    touches.set(event.pointerId, [x, y]);
    const other = [...touches.entries()].find(([id]) => id !== event.pointerId);
    if (path) { path.push([x, y]); draw(); }
    else if (other) zoomBy(Math.hypot(x - other[1][0], y - other[1][1]) /
      Math.max(1, Math.hypot(before[0] - other[1][0], before[1] - other[1][1])), ...other[1]);
    else { left += x - before[0]; above += y - before[1]; hover(-99, -99); draw(); }
  });
  const release = event => {
    if (path) choose(path.length > 2 ? labels.reduce((list, _, i) => {
      if (inside(across(i), down(i)) && (active === null || labels[i] === active)) list.push(i);
      return list;
    }, []) : []);
    path = null;
    touches.delete(event.pointerId);
    if (event.type === "pointerup") hover(...at(event));
    draw();
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", event => { if (event.pointerType !== "touch") hover(-99, -99); });
  canvas.addEventListener("wheel", event => {  /* the page scrolls, unless the map was clicked or Ctrl is down */
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / (event.ctrlKey ? 120 : 400)), ...at(event));
  }, { passive: false });
  canvas.addEventListener("keydown", event => {
    const move = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
    const factor = { "+": 1.25, "=": 1.25, "-": 0.8 }[event.key];
    if (move) { left += move[0]; above += move[1]; draw(); } else if (factor) zoomBy(factor);
    else if (event.key === "Escape") choose([]); else return;
    event.preventDefault();
  });
  lassoButton.addEventListener("click", () => {
    const on = lassoButton.getAttribute("aria-pressed") !== "true";
    lassoButton.setAttribute("aria-pressed", on);
    box.classList.toggle("lassoing", on);
  });
  find("closer").addEventListener("click", () => zoomBy(1.4));
  find("farther").addEventListener("click", () => zoomBy(1 / 1.4));
  find("whole").addEventListener("click", fit);
  find("clear").addEventListener("click", () => choose([]));
  find("copy").addEventListener("click", () => {
    find("names").select();
    if (navigator.clipboard) navigator.clipboard.writeText(find("names").value).catch(() => document.execCommand("copy"));
    else document.execCommand("copy");
  });
  /* Cells that a spreadsheet would run as a formula get an apostrophe; quotes are doubled. */
  const cell = text => `"${(/^[=+\-@\t\r]/.test(text) && isNaN(text) ? "'" + text : text).replaceAll('"', '""')}"`;
  find("save").addEventListener("click", () => {
    const lines = [...chosen].sort((a, b) => rows[a] - rows[b]).map(
      i => [cell(key(i)), ...(data.clustered ? [labels[i], (confidence[i] / 255).toFixed(2)] : [])].join(","));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([(data.clustered ? "sample,label,confidence\n" : "sample\n") + lines.join("\n") + "\n"], { type: "text/csv" }));
    link.download = "selected.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  for (const button of document.querySelectorAll("[data-cluster]")) button.addEventListener("click", () => {
    const cluster = Number(button.dataset.cluster);
    active = active === cluster ? null : cluster;
    for (const each of document.querySelectorAll("[data-cluster]"))
      each.setAttribute("aria-pressed", Number(each.dataset.cluster) === active);
    draw();
  });
  coloring.addEventListener("change", recolor);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  scale.children[1].style.background = `linear-gradient(to right, ${SHADES.filter((_, i) => i % 32 === 0).join()})`;
  new ResizeObserver(resize).observe(canvas);
  recolor();
})();
