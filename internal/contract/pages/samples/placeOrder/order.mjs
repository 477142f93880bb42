// Orders a paid checkout, and cancels the order.
// Run it on the shop's server. SHOP_KEY is its secret key.
import { setTimeout as sleep } from "node:timers/promises";

const shop = "https://YOUR-DEPLOYMENT/shop/YOUR-SHOP";
const pause = 10; // seconds
const headers = {
  Authorization: `Bearer ${process.env.SHOP_KEY}`,
  "Content-Type": "application/json",
};

// Sends a request until its outcome is certain. It takes effect once.
async function send(path, body) {
  let answer;
  for (let attempt = 1; attempt <= 4; attempt++) {
    if (attempt > 1) await sleep(pause * 1000);
    try {
      const response = await fetch(shop + path, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(10_000),
      });
      answer = await response.json();
    } catch {
      continue; // no response, or not JSON: send it again
    }
    if (typeof answer.status === "string") return answer;
    // 401 and 429 do not tell whether an earlier attempt was applied.
    if ([401, 429].includes(answer.status)) break;
    if (answer.status < 500) throw new Error(`refused: ${answer.title}`);
  }
  const last = answer?.title ?? "no response";
  const advice = "send the same request again later";
  throw new Error(`outcome unknown: ${advice} (last response: ${last})`);
}

try {
  const payment = { provider: "stripe", reference: "YOUR-PAYMENT" };
  const order = await send("/orders", { checkout: "YOUR-CHECKOUT", payment });
  console.log("ordered:", order.id); // deliver once for each id

  // If you cannot deliver: cancel the order, and refund the payment.
  await send(`/orders/${order.id}/cancel`, { reason: "sold out" });
  console.log("cancelled:", order.id);
} catch (error) {
  console.log(error.message);
  process.exitCode = 1;
}
