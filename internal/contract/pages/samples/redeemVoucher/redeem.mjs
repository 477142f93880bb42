// Redeems a voucher once, even if it sends the request often.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const shop = "https://YOUR-DEPLOYMENT/shop/YOUR-SHOP";
const pause = 10; // seconds

async function redeem(code, nick) {
  // One key for this attempt. Store it before you send it.
  const key = randomUUID();
  for (let attempt = 1; attempt <= 4; attempt++) {
    // A lost request may still be applied for some seconds.
    // A refusal that arrives sooner may be wrong.
    if (attempt > 1) await sleep(pause * 1000);
    let answer;
    try {
      const response = await fetch(`${shop}/voucher`, {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          "Idempotency-Key": key,
        },
        body: JSON.stringify({ code, nick }),
        signal: AbortSignal.timeout(10_000),
      });
      answer = await response.json();
    } catch {
      continue; // no response, or not JSON: send the same key again
    }
    if (answer.status === "redeemed") return answer;
    if (answer.status >= 400 && answer.status < 500) {
      throw new Error(`refused: ${answer.title}`);
    }
    // 429, 500 or 503: send the same key again
  }
  throw new Error(`unknown: send it again later, with ${key}`);
}

try {
  const { id, reward } = await redeem("YOUR-CODE", "YOUR-NICK");
  // Grant the reward, once for each id.
  console.log("redeemed:", id, reward);
} catch (error) {
  console.log(error.message);
  process.exitCode = 1;
}
