// Follows the shop's events and applies each of them.
// Run it on the shop's server. SHOP_KEY is its secret key.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const deployment = "https://YOUR-DEPLOYMENT";
const pause = 10; // seconds
const file = "events-next"; // in production, use your database
const headers = { Authorization: `Bearer ${process.env.SHOP_KEY}` };

// Applies events. Store the next path in the same transaction, and
// ignore an event whose id was applied before.
function apply(events, next) {
  for (const { sequence, type, data } of events) {
    switch (type) {
      case "redemption.created": // grant the reward, except a discount
      case "redemption.undone": // take it back
      case "order.created": // deliver
      case "order.fulfilled":
      case "order.cancelled":
        console.log(`event ${sequence}: ${type} ${data.id}`);
    } // skip other types
  }
  writeFileSync(`${file}.new`, next);
  renameSync(`${file}.new`, file);
}

async function request(path) {
  try {
    const response = await fetch(deployment + path, {
      headers,
      signal: AbortSignal.timeout(10_000),
    });
    return { status: response.status, text: await response.text() };
  } catch {
    return { status: 0 }; // no response
  }
}

let next = "/shop/YOUR-SHOP/events";
if (existsSync(file)) next = readFileSync(file, "utf8");
for (;;) {
  const { status, text } = await request(next);
  if (status === 200) {
    const page = JSON.parse(text);
    if (page.events.length > 0) apply(page.events, page.next);
    next = page.next;
    await sleep(page.pollAfterSeconds * 1000);
  } else if (status >= 400 && status < 500 && status !== 429) {
    console.log(`refused: ${status} ${text}`);
    process.exit(1);
  } else {
    await sleep(pause * 1000); // then ask again
  }
}
