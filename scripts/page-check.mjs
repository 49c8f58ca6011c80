#!/usr/bin/env node
// Looks at pages of `vllm-stable-ids check --html` with axe in a real browser, light, dark and
// narrow, and says what is wrong. Usage: see CONTRIBUTING.md.
//
//     node scripts/page-check.mjs PAGE.html…      CHROMIUM=/usr/bin/chromium SHOTS=FOLDER
//
// It needs the npm packages axe-core and playwright-core where Node finds them from the current
// folder, and a Chromium.
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(resolve("package.json"));
const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic"],
});
let wrong = 0;
const complain = (where, what) => {
  wrong += 1;
  console.log(`${where}: ${what}`);
};

const looks = [
  { name: "light", colorScheme: "light", viewport: { width: 1280, height: 900 } },
  { name: "dark", colorScheme: "dark", viewport: { width: 1280, height: 900 } },
  { name: "narrow", colorScheme: "light", viewport: { width: 400, height: 800 } },
];
for (const file of process.argv.slice(2)) {
  for (const { name, ...look } of looks) {
    const where = `${file} (${name})`;
    // axe is put in from outside, which the page's own policy rightly forbids.
    const context = await browser.newContext({ ...look, bypassCSP: true });
    const page = await context.newPage();
    page.on("console", (message) => complain(where, message.text()));
    page.on("pageerror", (error) => complain(where, error.message));
    page.on("request", (request) => {
      if (!request.url().startsWith("file:")) complain(where, `it asks for ${request.url()}`);
    });
    await page.goto(pathToFileURL(resolve(file)).href);
    for (const details of (await page.locator("details").all()).slice(0, 5)) {
      await details.evaluate((element) => (element.open = true));
    }
    const marks = page.locator("a.mark");
    if (await marks.count()) {
      await marks.first().focus();
      await page.keyboard.press("End");
      const [spoken, shown] = [
        await page.evaluate(() => document.activeElement.getAttribute("aria-label")),
        await page.locator("#panel").innerText(),
      ];
      const number = /\d+/.exec(spoken)[0];
      if (!shown.startsWith(`Event ${number}`)) complain(where, `no frame is shown for ${spoken}`);
    }
    await page.addScriptTag({ path: axe });
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    for (const { id, help, nodes } of violations) {
      complain(where, `${id}: ${help} (${nodes.length}, such as ${nodes[0].html.slice(0, 120)})`);
    }
    if (process.env.SHOTS) {
      const shot = `${file.split("/").pop()}-${name}`;
      await page.screenshot({ path: resolve(process.env.SHOTS, `${shot}.png`) });
      await page.pdf({ path: resolve(process.env.SHOTS, `${shot}.pdf`), format: "A4" });
    }
    await context.close();
  }
  // Under its own policy nothing may be refused.
  const page = await browser.newPage();
  page.on("console", (message) => complain(file, message.text()));
  await page.goto(pathToFileURL(resolve(file)).href);
  await page.close();
}
await browser.close();
console.log(wrong ? `${wrong} wrong` : "nothing wrong");
process.exitCode = wrong ? 1 : 0;
