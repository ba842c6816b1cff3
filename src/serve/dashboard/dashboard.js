// The page: a list of streams on the left, one stream on the right. The address
// behind '#' says which: #/MODEL/STREAM.

import { ask, bytes, command, listen, Refused, stream as streamPath, streams as streamsPath, token } from "./api.js";
import { draw, percent } from "./charts.js";
import { drawImage, readMemory } from "./memory.js";

const PAGE = 50;
const REFRESH = 2000; // milliseconds
const GRAVE = ["cannot be loaded", "not saved or updated", "frozen", "guard tripped"];

const at = (id) => document.getElementById(id);
const number = (value) => value.toLocaleString("en");
const state = { model: "", stream: "", offset: 0, live: null, ended: new AbortController() };

function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

// ---- Who is asking

let asking = null; // while the dialog is open

function login(reason) {
  asking ??= new Promise((done) => {
    at("login-text").textContent = reason;
    at("login-token").value = "";
    at("login").returnValue = "no";
    at("login").showModal();
    at("login").addEventListener("close", () => {
      asking = null;
      const used = at("login").returnValue === "yes";
      if (used) token.set(at("login-token").value.trim());
      done(used);
    }, { once: true });
  });
  return asking;
}

// Does `work`, and again with a token if the server wants one.
async function withToken(work) {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 401) throw error;
      const reason = token.get() ? "The server does not know this token." : "The server wants a token.";
      if (!(await login(reason))) throw error;
    }
  }
}

function say(id, text, is = "") {
  if (at(id).textContent !== text) at(id).textContent = text;
  at(id).dataset.is = is;
}

// ---- The list

function row(each) {
  const grave = GRAVE.includes(each.trouble);
  const known = each.live.windows > 0;
  const cell = (share, unit) => make("span", { className: "cell", textContent: known ? percent(share) : "–" },
    make("span", { className: "unseen", textContent: ` ${unit} ` }));
  const link = make("a", { href: `#/${encodeURIComponent(state.model)}/${encodeURIComponent(each.name)}` },
    make("span", { className: "name", textContent: each.name, title: each.name }),
    cell(each.live.admitted_share, "admitted"), cell(each.live.confidence, "confidence"));
  if (each.trouble) {
    const why = make("span", { className: "why", textContent: each.trouble });
    if (grave) why.dataset.grave = "";
    link.append(why);
  }
  if (each.name === state.stream) link.setAttribute("aria-current", "true");
  return make("li", {}, link);
}

function show(page) {
  const focused = document.activeElement?.closest("#list a")?.getAttribute("href");
  at("list").replaceChildren(...page.streams.map(row));
  [...at("list").querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
  const last = state.offset + page.streams.length;
  at("range").textContent = page.total ? `${number(state.offset + 1)} – ${number(last)} of ${number(page.total)}` : "";
  at("previous").disabled = state.offset === 0;
  at("next").disabled = last >= page.total;
  at("empty").hidden = page.total > 0;
  at("empty").textContent = at("search").value ? "No stream has this in its name." : "No streams yet: the first request of one makes it.";
}

async function refresh() {
  const query = new URLSearchParams({ order: "trouble", limit: PAGE, offset: state.offset });
  if (at("search").value) query.set("contains", at("search").value);
  const model = state.model;
  try {
    const page = await withToken(() => ask(`${streamsPath(model)}?${query}`));
    if (model !== state.model) return;
    if (state.offset > 0 && page.streams.length === 0) state.offset = 0;
    show(page);
    const ready = await fetch("/v2/health/ready");
    say("server", ready.ok ? "ready" : (await ready.json()).error, ready.ok ? "good" : "bad");
  } catch (error) {
    say("server", error instanceof Refused ? error.message : "the server does not answer", "bad");
  }
}

// ---- One stream

function fact(name, value) {
  return make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value }));
}

let drawing = false;

// Several events within one frame are drawn once.
function redraw() {
  if (drawing || !state.live) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    if (state.live) at("charts").replaceChildren(...draw(state.live));
  });
}

function showStatus(status) {
  const { live } = status;
  const known = new Map(state.live?.recent.map((window) => [window.number, window]));
  for (const window of live.recent) known.set(window.number, window);
  state.live = { ...live, recent: [...known.values()].sort((a, b) => a.number - b.number).slice(-48) };
  at("facts").replaceChildren(
    fact("images", number(status.images)), fact("updates", number(status.updates)), fact("pending", number(status.pending)),
    fact("guard trips", number(status.guard_trips)), fact("requests", number(status.next_seq)), fact("snapshot", status.snapshot || "–"));
  const trouble = [status.frozen && `Frozen: ${status.frozen}. It answers and learns nothing.`, status.notice].filter(Boolean).join(" ");
  at("trouble").hidden = !trouble;
  at("trouble").textContent = trouble;
  at("trouble").toggleAttribute("data-grave", Boolean(status.frozen) && status.frozen !== "by request");
  at("freeze").textContent = status.frozen === "by request" ? "Thaw" : "Freeze";
  redraw();
}

async function fetchStatus() {
  const { model, stream } = state;
  if (!stream) return;
  try {
    const status = await withToken(() => ask(streamPath(model, stream)));
    if (model === state.model && stream === state.stream) showStatus(status);
  } catch (error) {
    if (stream === state.stream) say("live", error.message, "bad");
  }
}

let fetching = false;

function fetchSoon() {
  if (fetching) return;
  fetching = true;
  setTimeout(() => {
    fetching = false;
    fetchStatus();
  }, 250);
}

function note(type, data) {
  const time = make("time", { textContent: new Date().toLocaleTimeString("en-GB") });
  const text = type === "lagged" ? `${data.lost} events were lost: this page reads too slowly` : [type, data.detail].filter(Boolean).join(": ");
  at("log").prepend(make("li", {}, time, make("span", { textContent: text })));
  while (at("log").children.length > 20) at("log").lastChild.remove();
  at("quiet").hidden = true;
}

function take(type, data) {
  if (type === "window" && state.live) {
    const recent = state.live.recent.filter((window) => window.number !== data.number);
    state.live.recent = [...recent, data].sort((a, b) => a.number - b.number).slice(-48);
    redraw();
  } else if (type !== "window") {
    note(type, data);
  }
  fetchSoon();
}

async function follow(signal) {
  const path = `${streamPath(state.model, state.stream)}/events`;
  while (!signal.aborted) {
    try {
      await withToken(() => listen(path, signal, () => {
        say("live", "live", "good");
        fetchStatus();
      }, take));
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused && error.status === 404) return say("live", error.message, "bad");
      if (error instanceof Refused) say("live", error.message, "bad");
    }
    if (signal.aborted) return;
    say("live", "not live, trying again", "bad");
    await new Promise((done) => setTimeout(done, REFRESH));
  }
}

function open(model, stream) {
  state.ended.abort();
  state.ended = new AbortController();
  state.stream = stream;
  state.live = null;
  document.body.dataset.view = stream ? "stream" : "list";
  at("stream").hidden = !stream;
  at("nothing").hidden = Boolean(stream);
  for (const link of at("list").querySelectorAll("a"))
    link.toggleAttribute("aria-current", link.getAttribute("href") === location.hash);
  document.title = stream ? `${stream} · sotta` : "sotta · streams";
  if (!stream) return;
  at("stream-title").textContent = stream;
  for (const id of ["charts", "facts", "sheet", "log"]) at(id).replaceChildren();
  at("trouble").hidden = true;
  at("quiet").hidden = false;
  at("done").textContent = "";
  say("live", "connecting");
  at("stream").focus({ preventScroll: true });
  follow(state.ended.signal);
}

// ---- Commands

const questions = {
  freeze: ["Freeze this stream?", "It goes on answering, and learns nothing until it is thawed."],
  thaw: ["Thaw this stream?", "It learns again from the images that come."],
  snapshot: ["Keep a snapshot?", "The state as it is now can be rolled back to; the last 16 are kept."],
  rollback: ["Roll back?", "The stream goes back to an earlier state. What it has learnt since is no longer used."],
  reset: ["Reset this stream?", "It goes back to the model as it was loaded. What it has learnt is no longer used."],
};

// "12: 340 updates, 21,760 requests, 18/11/2026, 10:31:02, kept by request"
function describe(each) {
  const facts = [
    each.updates !== undefined && `${number(each.updates)} updates`,
    each.next_seq !== undefined && `${number(each.next_seq)} requests`,
    each.saved_ms !== undefined && new Date(each.saved_ms).toLocaleString("en-GB"),
    each.kept && "kept by request"].filter(Boolean);
  return [each.number, facts.join(", ")].filter(Boolean).join(": ");
}

// Of snapshots, the newest first: one before the present state, if there is one.
function earlier(snapshots, status) {
  return snapshots.find((each) => each.updates < status.updates)
    ?? snapshots.find((each) => each.updates !== undefined && each.updates !== status.updates)
    ?? snapshots.find((each) => each.number !== status.snapshot) ?? snapshots[0];
}

function confirm(name, snapshots = [], chosen = undefined) {
  const [title, text] = questions[name];
  at("ask-title").textContent = title;
  at("ask-text").textContent = text;
  at("ask-yes").textContent = title.replace(/( this stream)?\?$/, "").replace("Keep a snapshot", "Keep it");
  at("ask-yes").className = name === "reset" || name === "rollback" ? "grave" : "";
  at("ask-choice").hidden = name !== "rollback";
  at("ask-select").replaceChildren(...snapshots.map((each) =>
    make("option", { value: each.number, textContent: describe(each), selected: each === chosen })));
  at("ask").returnValue = "no";
  at("ask").showModal();
  return new Promise((done) => at("ask").addEventListener("close", () => done(at("ask").returnValue === "yes"), { once: true }));
}

async function control(name) {
  const path = streamPath(state.model, state.stream);
  at("done").textContent = ""; // of the command before
  try {
    let options = {};
    if (name === "rollback") {
      const { snapshots } = await withToken(() => ask(`${path}/snapshots`));
      if (snapshots.length === 0) {
        at("done").textContent = "There is no snapshot to go back to.";
        return;
      }
      const status = await withToken(() => ask(path));
      if (!(await confirm(name, snapshots.reverse(), earlier(snapshots, status)))) return;
      options = { to: Number(at("ask-select").value) };
    } else if (!(await confirm(name))) {
      return;
    }
    await withToken(() => command(`${path}/${name}`, options));
    at("done").textContent = name === "rollback" ? `Done: rolled back to snapshot ${options.to}.` : `Done: ${name}.`;
  } catch (error) {
    at("done").textContent = `Not done: ${error.message}`;
  }
  fetchStatus();
  refresh();
}

async function showMemory() {
  try {
    const images = readMemory(await withToken(() => bytes(`${streamPath(state.model, state.stream)}/state`)));
    at("sheet").replaceChildren(...images.map((image) => {
      const canvas = make("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `image ${image.sample} of the stream, predicted as class ${image.label}`);
      drawImage(image, canvas);
      return make("li", {}, canvas, make("span", { textContent: image.label }));
    }));
    at("done").textContent = images.length ? "" : "The memory is empty.";
  } catch (error) {
    at("done").textContent = `Not shown: ${error.message}`;
  }
}

// ---- Start

function route() {
  const [, model, stream] = location.hash.split("/").map(decodeURIComponent);
  if (model && [...at("model").options].some((option) => option.value === model)) {
    state.model = model;
    at("model").value = model;
  }
  open(state.model, stream ?? "");
}

async function start() {
  const index = await withToken(async () => {
    const headers = token.get() ? { Authorization: `Bearer ${token.get()}` } : {};
    const response = await fetch("/v2/repository/index", { method: "POST", headers });
    if (!response.ok) throw new Refused(response.status, (await response.json()).error);
    return response.json();
  });
  const models = index.filter((model) => model.state === "READY").map((model) => model.name);
  at("model").replaceChildren(...models.map((name) => make("option", { value: name, textContent: name })));
  state.model = models[0] ?? "";
  route();
  await refresh();
  setInterval(() => document.hidden || at("login").open || refresh(), REFRESH);
}

function turn(pages) {
  state.offset = Math.max(0, state.offset + pages * PAGE);
  refresh();
}

at("model").addEventListener("change", () => {
  state.model = at("model").value;
  state.offset = 0;
  location.hash = "";
  refresh();
});
at("search").addEventListener("input", () => {
  state.offset = 0;
  refresh();
});
at("previous").addEventListener("click", () => turn(-1));
at("next").addEventListener("click", () => turn(1));
at("freeze").addEventListener("click", () => control(at("freeze").textContent.toLowerCase()));
for (const name of ["snapshot", "rollback", "reset"]) at(name).addEventListener("click", () => control(name));
at("memory").addEventListener("click", showMemory);
at("token").addEventListener("click", async () => {
  if (await login("Kept in this tab until it is closed.")) location.reload();
});
at("login-no").addEventListener("click", () => at("login").close("no")); // Enter is for the other button
addEventListener("hashchange", route);
addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, dialog")) {
    event.preventDefault();
    at("search").focus();
  }
  const link = event.target.closest?.("#list a");
  const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  if (link && step) {
    event.preventDefault();
    link.parentElement[step]?.querySelector("a").focus();
  }
});
start().catch((error) => say("server", error.message, "bad"));
