// Redeems a voucher once, even if it sends the request several times.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const shop = "https://YOUR-DEPLOYMENT/shop/YOUR-SHOP";
const pause = 10; // seconds

const headers = { "Content-Type": "application/json" };
// The shop's own server sends its secret key. A browser never does.
const secret = process.env.SHOP_KEY;
if (secret) headers.Authorization = `Bearer ${secret}`;

async function redeem(code, nick) {
  // One key for all retries. Store it before you send it.
  const key = randomUUID();
  let answer;
  for (let attempt = 1; attempt <= 4; attempt++) {
    // A lost request may be applied some seconds later.
    // Until then, a refusal may be wrong. So wait.
    if (attempt > 1) await sleep(pause * 1000);
    try {
      const response = await fetch(`${shop}/voucher`, {
        method: "POST",
        headers: { ...headers, "Idempotency-Key": key },
        body: JSON.stringify({ code, nick }),
        signal: AbortSignal.timeout(10_000),
      });
      answer = await response.json();
    } catch {
      continue; // no response, or not JSON: send the same key again
    }
    if (answer.status === "redeemed") return answer;
    if ([400, 404, 409, 413, 415, 422].includes(answer.status)) {
      throw new Error(`refused: ${answer.title}`);
    }
    // 401 and 429 do not tell whether an earlier attempt was applied.
    if ([401, 429].includes(answer.status)) break;
    // 500 or 503: send the same key again
  }
  const last = answer?.title ?? "no response";
  const advice = `send the same request again later, with the key ${key}`;
  throw new Error(`outcome unknown: ${advice} (last response: ${last})`);
}

try {
  const { id, reward } = await redeem("YOUR-CODE", "YOUR-NICK");
  // Grant the reward, once for each id.
  console.log("redeemed:", id, reward);
} catch (error) {
  console.log(error.message);
  process.exitCode = 1;
}
