// The pages of `sotta report` in Chromium: sorting, what a cell tells, figures by method, a phone's
// width, and axe-core's rules. Run by report_page_test.sh:
//   node report_page.mjs MODULES FOLDER RESULTS [FOLDER_FOR_SCREENSHOTS]
// FOLDER has pages/ of made-up studies and sides/, a comparison; RESULTS is docs/results.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";

const [modules, folder, results, shots] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

async function open(file, { scheme = "light", width = 1280, height = 900 } = {}) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height } });
  context.setDefaultTimeout(60000);
  const page = await context.newPage();
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.complaints.push(message.text()));
  page.on("request", (request) => request.url().startsWith("file:") || page.complaints.push(request.url()));
  await page.goto(`file://${file}`);
  return page;
}

async function close(page) {
  assert.deepEqual(page.complaints, []);
  await page.context().close();
}

async function shoot(page, name, fullPage = true) {
  if (shots) await page.screenshot({ path: `${shots}/${name}.png`, fullPage });
}

async function expectAccessible(page, what) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run().then((r) => r.violations.map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html)])));
  assert.deepEqual(found, [], what);
}

// Nothing but tables, which scroll by themselves, is wider than the screen.
async function expectNoSidewaysScroll(page, what) {
  const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(wide <= screen, `${what}: ${wide} pixels on a screen of ${screen}`);
}

const made = `${folder}/pages/made-up/report.html`;
const averages = (page) => page.locator("table").first();
const firstColumn = (table) => table.locator("tbody th").allTextContents();

async function checkSorting() {
  const page = await open(made);
  const table = averages(page);
  const before = await firstColumn(table);
  const numbers = async () => (await table.locator("tbody tr").evaluateAll((rows) => rows.map((row) => parseFloat(row.cells[1].textContent))))
    .filter((number) => !Number.isNaN(number));
  const button = table.locator("thead th button").nth(1);
  await button.click();
  assert.deepEqual(await numbers(), (await numbers()).sort((a, b) => b - a));
  assert.equal(await table.locator("thead th").nth(1).getAttribute("aria-sort"), "descending");
  await button.click();
  assert.deepEqual(await numbers(), (await numbers()).sort((a, b) => a - b));
  await button.click();
  assert.deepEqual(await firstColumn(table), before);
  await table.locator("thead th button").first().click();
  assert.deepEqual(await firstColumn(table), [...before].sort((a, b) => a.toLowerCase().localeCompare(b.toLowerCase(), "en", { numeric: true })));
  await close(page);
}

async function checkTelling() {
  const page = await open(made);
  const tip = page.locator("#tip");
  const cell = averages(page).locator("tbody td.told").first();
  assert.ok(await tip.isHidden());
  await cell.hover();
  assert.match(await tip.textContent(), /Seeds: 0: [0-9.]+, 1: [0-9.]+/);
  assert.match(await tip.locator("code").textContent(), /^sotta bench --dataset cifar10 --model 'cifar10_resnet18_s\{seed\}\.safetensors' --method source .*--scenario benign/);
  await page.mouse.move(0, 0);
  assert.ok(await tip.isHidden());
  await cell.click();  // stays
  await page.mouse.move(0, 0);
  assert.ok(await tip.isVisible());
  await expectAccessible(page, "with a cell's command");
  await shoot(page, "report-cell", false);
  await page.keyboard.press("Escape");
  assert.ok(await tip.isHidden());
  await cell.focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await tip.locator("code").textContent(), /--scenario near/);
  await page.keyboard.press("ArrowDown");
  assert.match(await tip.locator("code").textContent(), /--method bn_stats .*--scenario near/);
  await close(page);
}

async function checkChoosing() {
  const page = await open(made);
  const group = page.locator("div.choice").first();
  const shown = () => group.locator("figure:visible").evaluateAll((figures) => figures.map((figure) => figure.dataset.choice));
  assert.equal((await shown()).length, 1);
  const other = group.locator(".choices button").first();
  const name = await other.textContent();
  await other.click();
  assert.deepEqual(await shown(), [name]);
  assert.equal(await other.getAttribute("aria-pressed"), "true");
  await close(page);
}

// Whoever has no scripts sees every figure and every number.
async function checkWithoutScripts() {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`file://${made}`);
  assert.equal(await page.locator("figure:visible").count(), await page.locator("figure").count());
  assert.equal(await page.locator("th button").count(), 0);
  await context.close();
}

// The picture of an index is its beginning.
async function checkLooks(file, name) {
  const whole = name !== "index";
  for (const [what, look] of Object.entries({ light: { height: 1240 }, dark: { scheme: "dark" }, phone: { width: 390, height: 844 },
    "phone-dark": { width: 390, height: 1480, scheme: "dark" } })) {
    if (!shots && (what === "dark" || what === "phone")) continue;
    const page = await open(file, look);
    await expectAccessible(page, `${name}, ${what}`);
    await expectNoSidewaysScroll(page, `${name}, ${what}`);
    await shoot(page, `report-${name}-${what}`, whole);
    await close(page);
  }
}

await checkSorting();
await checkTelling();
await checkChoosing();
await checkWithoutScripts();
await checkLooks(made, "made-up");
await checkLooks(`${folder}/sides/report.html`, "sides");
await checkLooks(`${results}/index.html`, "index");
await checkLooks(`${results}/cifar10-c/report.html`, "cifar10-c");
await browser.close();
