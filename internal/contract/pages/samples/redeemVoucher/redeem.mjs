// Redeems a voucher once, however often the request has to be sent.
import { randomUUID } from "node:crypto";

const shop = "https://YOUR-DEPLOYMENT/shop/YOUR-SHOP";
const pause = 10; // seconds

async function redeem(code, nick) {
  // One key for this shopper's attempt. Store it before you send it.
  const key = randomUUID();
  for (let attempt = 1; attempt <= 4; attempt++) {
    // A lost request may still be applied for some seconds. A refusal
    // that arrives sooner may be wrong.
    if (attempt > 1) await new Promise((done) => setTimeout(done, pause * 1000));
    let answer;
    try {
      const response = await fetch(`${shop}/voucher`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "Idempotency-Key": key },
        body: JSON.stringify({ code, nick }),
        signal: AbortSignal.timeout(10_000),
      });
      answer = await response.json();
    } catch {
      continue; // no response, or not JSON: send the same key again
    }
    if (answer.status === "redeemed") return answer;
    if (answer.status >= 400 && answer.status < 500) throw new Error(`refused: ${answer.title}`);
    // 429, 500 or 503: send the same key again
  }
  throw new Error(`unknown: send it again later, with the key ${key}`);
}

try {
  const { id, reward } = await redeem("YOUR-CODE", "YOUR-NICK");
  console.log("redeemed:", id, reward); // grant the reward, once for each id
} catch (error) {
  console.log(error.message);
  process.exitCode = 1;
}
