// The dashboard of `sotta serve` in Chromium: live figures, commands, tokens, 10,000 streams, and
// axe-core's rules. Run by serve_dashboard_checks.py:
//   node serve_dashboard.mjs MODULES URL URL_OF_MANY URL_WITH_TOKENS TOKEN [FOLDER_FOR_SCREENSHOTS]
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";

const [modules, url, many, guarded, token, shots] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const WINDOW = 16, SIDE = 28;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

// Without a word of complaint in the console, such as of the content policy.
async function open(address, { scheme = "light", width = 1280, height = 900 } = {}) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height } });
  context.setDefaultTimeout(60000);
  const page = await context.newPage();
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.complaints.push(message.text()));
  await page.goto(`${address}`);
  return page;
}

async function close(page) {
  assert.deepEqual(page.complaints.filter((text) => !text.includes("401")), []);
  await page.context().close();
}

async function shoot(page, name) {
  if (shots) await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
}

async function expectAccessible(page, what) {
  // By the debugger, which the page's content policy does not bind.
  const session = await page.context().newCDPSession(page);
  const evaluate = async (expression) => (await session.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true })).result.value;
  await evaluate(axe);
  const found = JSON.parse(await evaluate("axe.run().then(r => JSON.stringify(r.violations.map(v => [v.id, v.nodes.map(n => n.html)])))"));
  assert.deepEqual(found, [], what);
}

async function infer(stream, windows) {
  for (let i = 0; i < windows; ++i) {
    const pixels = Uint8Array.from({ length: WINDOW * SIDE * SIDE }, (_, k) => (k * 31 + (k >> 5) * 17 * i) % 256);
    const json = JSON.stringify({ parameters: { sequence_id: stream }, inputs: [{ name: "images", datatype: "UINT8",
      shape: [WINDOW, 1, SIDE, SIDE], parameters: { binary_data_size: pixels.length } }] });
    const answer = await fetch(`${url}/v2/models/fashion/infer`, { method: "POST", body: new Blob([json, pixels]),
      headers: { "Inference-Header-Content-Length": String(json.length) } });
    assert.equal(answer.status, 200);
  }
}

const status = async (stream) => (await fetch(`${url}/v2/models/fashion/streams/${stream}`)).json();
const fact = (page, name) => page.locator("#facts div", { hasText: name }).locator("dd");

async function confirm(page, button, choose) {
  await page.click(button);
  await page.waitForSelector("#ask[open]");
  if (choose) {
    assert.match(await page.locator("#ask-select option:checked").textContent(), /updates, .* requests/);
    await page.selectOption("#ask-select", choose);
  }
  await page.click("#ask-yes");
  await page.waitForFunction(() => document.getElementById("done").textContent.startsWith("Done"));
}

async function figuresMoveWhileImagesCome() {
  await infer("camera-7", 2);
  const page = await open(`${url}/dashboard`);
  await page.click("#list a");
  await page.waitForSelector('svg[aria-label*="over the last 2 windows"]');
  await page.waitForFunction(() => document.getElementById("live").textContent === "live");
  await infer("camera-7", 3);
  await page.waitForSelector('svg[aria-label*="over the last 5 windows"]');
  await page.waitForFunction(() => document.querySelector("#facts").textContent.includes("updates5"));
  assert.equal(await page.locator(".axis").textContent(), "0123456789", "numbers of classes");
  await shoot(page, "desktop");
  await expectAccessible(page, "light");
  await close(page);
}

async function commandsAskFirstAndARollbackGoesBack() {
  const page = await open(`${url}/dashboard#/fashion/camera-7`);
  await fact(page, "updates").waitFor();
  await confirm(page, "#snapshot");
  const { snapshot, live } = await status("camera-7");
  await infer("camera-7", 2);
  await page.click("#reset"); // and think better of it
  await page.click('#ask button[value="no"]');
  await confirm(page, "#rollback", String(snapshot));
  assert.equal((await status("camera-7")).live.distance, live.distance);
  await page.waitForSelector(`#log li:has-text("rollback: ${snapshot}")`);
  assert.equal(await page.locator('#log li:has-text("reset")').count(), 0);
  await confirm(page, "#freeze");
  await page.waitForSelector('#trouble:has-text("Frozen: by request")');
  await page.waitForSelector('#list a:has-text("camera-7") .why:has-text("frozen")');
  await confirm(page, "#freeze"); // which says Thaw now
  assert.equal((await status("camera-7")).frozen, "");
  await page.click("#memory");
  await page.waitForSelector("#sheet canvas");
  await expectAccessible(page, "with its memory");
  await close(page);
}

async function tenThousandStreamsAreSortedSearchedAndPaged() {
  const page = await open(`${many}/dashboard`);
  await page.waitForFunction(() => document.getElementById("range").textContent === "1 – 50 of 10,000");
  const first = await page.locator("#list .name").first().textContent();
  assert.equal(first, "camera-05000"); // the one that is frozen
  const below = await page.evaluate(() =>
    document.documentElement.scrollHeight - scrollY - document.querySelector("footer").getBoundingClientRect().bottom);
  assert.ok(below <= 1, `${below} pixels of nothing below the footer`);
  await shoot(page, "many");
  await expectAccessible(page, "a page of many");
  await page.click("#next");
  await page.waitForFunction(() => document.getElementById("range").textContent === "51 – 100 of 10,000");
  await page.fill("#search", "09999");
  await page.waitForFunction(() => document.getElementById("range").textContent === "1 – 1 of 1");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector('#stream-title:has-text("camera-09999")');
  const took = [];
  for (let i = 0; i < 5; ++i) {
    const begin = performance.now();
    await (await fetch(`${many}/v2/models/fashion/streams?order=trouble&limit=50`)).text();
    took.push(performance.now() - begin);
  }
  console.log(`a page of 10,000 streams: ${Math.min(...took).toFixed(1)} ms`);
  await close(page);
}

async function aWrongTokenIsAskedForAgain() {
  const page = await open(`${guarded}/dashboard`);
  await page.waitForSelector("#login[open]");
  await expectAccessible(page, "the question for a token");
  await page.fill("#login-token", "wrong");
  await page.click('#login button[value="yes"]');
  await page.waitForSelector('#login-text:has-text("does not know this token")');
  await page.fill("#login-token", token);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("server").textContent === "ready");
  await close(page);
}

async function darkAndNarrow() {
  for (const [name, options] of [["dark", { scheme: "dark" }], ["phone", { width: 390, height: 844 }]]) {
    const page = await open(`${url}/dashboard`, options);
    await page.waitForSelector("#list a");
    await shoot(page, `${name}-list`);
    await page.click("#list a");
    await page.waitForSelector("#charts svg");
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wider <= 0, `${name} is ${wider} px wider than the window`);
    await shoot(page, `${name}-stream`);
    await expectAccessible(page, name);
    await close(page);
  }
}

try {
  await figuresMoveWhileImagesCome();
  await commandsAskFirstAndARollbackGoesBack();
  await tenThousandStreamsAreSortedSearchedAndPaged();
  await aWrongTokenIsAskedForAgain();
  await darkAndNarrow();
} finally {
  await browser.close();
}
