// Rates a page with Lighthouse, on a phone and on a laptop, and fails if a score is below 95 of 100. `make lighthouse` calls it with the
// folder of Lighthouse's node_modules and the page's address.

const [folder, address] = process.argv.slice(2);
const { default: lighthouse, desktopConfig } = await import(`${folder}/lighthouse/core/index.js`);
const { launch } = await import(`${folder}/chrome-launcher/dist/index.js`);
const chrome = await launch({
  chromePath: process.env.CHROMIUM || undefined,
  chromeFlags: ["--headless=new", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
});
const flags = { port: chrome.port, logLevel: "error", onlyCategories: ["performance", "accessibility", "best-practices"] };
try {
  for (const [device, config] of [["phone", undefined], ["laptop", desktopConfig]]) {
    const { lhr } = await lighthouse(address, flags, config);
    if (lhr.runtimeError) throw new Error(lhr.runtimeError.message);
    for (const { title, score, auditRefs } of Object.values(lhr.categories)) {
      console.log(device.padEnd(8), title.padEnd(16), Math.round(score * 100));
      if (score >= 0.95) continue;
      process.exitCode = 1;
      for (const { id, weight } of auditRefs) {
        const { score, title, displayValue = "" } = lhr.audits[id];
        if (weight > 0 && score !== null && score < 1) console.log(`         ${title}: ${displayValue}`);
      }
    }
  }
} finally {
  chrome.kill();
}
