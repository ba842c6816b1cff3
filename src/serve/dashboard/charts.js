// Charts of a stream's latest windows, as SVG that is as wide as its card.

const WIDTH = 300;
const HEIGHT = 112;

function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function html(name, className, text = "") {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
}

export const percent = (share) => `${Math.round(share * 100)} %`;
export const milliseconds = (ms) => (ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms).toLocaleString("en")} ms`);
const plain = (value) => (value < 1e6 ? value.toFixed(value < 10 ? 2 : 1) : value.toExponential(1));

// A number that is easy to read, and at least `value`.
function ceiling(value) {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((step) => step * unit).find((step) => step >= value);
}

function frame(label, ...children) {
  const lines = [0, 0.5, 1].map((part) => svg("line", { class: "grid", x1: 0, x2: WIDTH, y1: part * HEIGHT, y2: part * HEIGHT }));
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label }, ...lines, ...children);
}

// Windows have places from the right: the newest is at the edge.
const places = 48;
const x = (index, count) => WIDTH - ((count - 1 - index) / (places - 1)) * WIDTH;

function path(values, top) {
  return values.map((value, i) => `${i ? "L" : "M"}${x(i, values.length).toFixed(1)} ${(HEIGHT * (1 - Math.min(value / top, 1))).toFixed(1)}`).join("");
}

function card(title, value, chart, legend) {
  const head = html("div", "head");
  head.append(html("h3", "", title), html("span", "value", value));
  const foot = html("div", "legend");
  foot.append(...legend.map(([className, text]) => html("span", className, text)));
  const element = html("section", "card chart");
  element.append(head, chart, foot);
  return element;
}

function lines(title, windows, series, top, format) {
  const last = windows.at(-1);
  const value = last ? series.map((each) => format(last[each.key])).join(" · ") : "–";
  const drawn = series.flatMap((each, i) => {
    const values = windows.map((window) => window[each.key]);
    const line = svg("path", { class: i ? "line second" : "line", d: path(values, top) });
    if (i || values.length < 2) return [line];
    const area = `${path(values, top)}L${WIDTH} ${HEIGHT}L${x(0, values.length).toFixed(1)} ${HEIGHT}Z`;
    return [svg("path", { class: "area", d: area }), line];
  });
  const label = `${title} over the last ${windows.length} windows, now ${value}`;
  const names = series.length > 1 ? series.map((each, i) => [i ? "second" : "first", each.name]) : [["", series[0].name]];
  return card(title, value, frame(label, ...drawn), [...names, ["number", `0 – ${format(top)}`]]);
}

function guardTrips(windows) {
  const trips = windows.filter((window) => window.guard).length;
  const marks = windows.flatMap((window, i) =>
    window.guard ? [svg("rect", { class: "trip", x: x(i, windows.length) - 2, y: 0, width: 4, height: HEIGHT })] : []);
  const label = `Guard trips: ${trips} in the last ${windows.length} windows`;
  return card("Guard trips", String(trips), frame(label, ...marks), [["", `of the last ${windows.length} windows`]]);
}

// Shares of classes on the same sampled images, by the stream and by the source model.
function classes(source) {
  const count = source.classes.length;
  const shown = Math.min(count, 40);
  const top = ceiling(Math.max(0.01, ...source.classes, ...source.own_classes));
  const step = WIDTH / Math.max(shown, 1);
  const bar = (className, share, left) =>
    svg("rect", { class: className, x: left.toFixed(1), y: (HEIGHT * (1 - share / top)).toFixed(1), width: (step * 0.36).toFixed(1), height: ((HEIGHT * share) / top).toFixed(1) });
  const bars = Array.from({ length: shown }, (_, i) => [
    bar("bar", source.own_classes[i], i * step + step * 0.12),
    bar("bar second", source.classes[i], i * step + step * 0.52),
  ]).flat();
  const value = source.images ? `${percent(source.agreement)} alike` : "–";
  const label = `Predicted classes 0 to ${shown - 1}, beside the source model’s: ${value}, of ${source.images} images compared`;
  const drawn = card("Predicted classes", value, frame(label, ...bars), [
    ["first", "this stream"], ["second", "source model"],
    ["number", `${shown < count ? `the first ${shown} of ${count} classes, ` : ""}0 – ${percent(top)}`],
  ]);
  drawn.querySelector("svg").after(classNumbers(shown));
  return drawn;
}

// Under the bars; every fifth where there are many.
function classNumbers(count) {
  const axis = html("div", "axis");
  axis.setAttribute("aria-hidden", "true"); // the chart's label says it
  axis.append(...Array.from({ length: count }, (_, i) => html("span", "", count <= 20 || i % 5 === 0 ? String(i) : "")));
  return axis;
}

export function draw(live) {
  const windows = live.recent;
  const most = (key) => ceiling(Math.max(0, ...windows.map((window) => window[key])));
  return [
    lines("Admitted share", windows, [{ key: "admitted_share", name: "of each window’s images" }], 1, percent),
    lines("Confidence and entropy", windows, [{ key: "confidence", name: "confidence" }, { key: "entropy", name: "entropy" }], 1, percent),
    classes(live.source),
    lines("Distance from source", windows, [{ key: "distance", name: "of scales and shifts" }], most("distance"), plain),
    guardTrips(windows),
    lines("Latency", windows, [{ key: "latency_ms", name: "mean of each window’s requests" }], most("latency_ms"), milliseconds),
  ];
}
