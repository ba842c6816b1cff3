// What the dashboard asks of the server. The token, where one is needed, lies in
// sessionStorage and is sent with every request.

const KEY = "sotta-token";

export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (text) => (text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY)),
};

async function send(method, path, body, signal) {
  const headers = token.get() ? { Authorization: `Bearer ${token.get()}` } : {};
  const response = await fetch(path, { method, body, headers, signal, cache: "no-store" });
  if (response.ok) return response;
  let sentence = `the server says ${response.status}`;
  try {
    sentence = (await response.json()).error;
  } catch {
    // Something between here and the server answered.
  }
  throw new Refused(response.status, sentence);
}

export const ask = async (path) => (await send("GET", path)).json();
export const bytes = async (path) => (await send("GET", path)).arrayBuffer();
export const command = async (path, options = {}) => (await send("POST", path, JSON.stringify(options))).json();
export const streams = (model) => `/v2/models/${encodeURIComponent(model)}/streams`;
export const stream = (model, name) => `${streams(model)}/${encodeURIComponent(name)}`;

// Server-sent events by fetch, for EventSource sends no token. Calls
// take(type, data) for each until the signal or the server ends it.
export async function listen(path, signal, opened, take) {
  const response = await send("GET", path, undefined, signal);
  opened();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const field = (name) => block.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      if (field("data")) take(field("event"), JSON.parse(field("data")));
    }
  }
}
