// Checks out once with a discount code, even if it sends the request
// several times.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const shop = "https://YOUR-DEPLOYMENT/shop/YOUR-SHOP";
const pause = 10; // seconds

async function checkOut(code, nick) {
  // Use the same key for retries, because a lost attempt may hold the
  // code's last use.
  const headers = { "Idempotency-Key": randomUUID() };
  // The shop's own server sends its secret key. A browser never does.
  const secret = process.env.SHOP_KEY;
  if (secret) headers.Authorization = `Bearer ${secret}`;
  const query = new URLSearchParams({ code, nick });
  let answer;
  for (let attempt = 1; attempt <= 4; attempt++) {
    if (attempt > 1) await sleep(pause * 1000);
    try {
      const response = await fetch(`${shop}/checkout/coins/500?${query}`, {
        headers,
        signal: AbortSignal.timeout(10_000),
      });
      answer = await response.json();
    } catch {
      continue; // no response, or not JSON: send the same key again
    }
    if (answer.status === "open") return answer;
    // 401 and 429 do not tell whether an earlier attempt was applied.
    if ([401, 429].includes(answer.status)) break;
    if (answer.status < 500) throw new Error(`refused: ${answer.title}`);
  }
  const last = answer?.title ?? "no response";
  const advice = "send the request again with the same key";
  throw new Error(`outcome unknown: ${advice} (last response: ${last})`);
}

try {
  const { id, total } = await checkOut("YOUR-CODE", "YOUR-NICK");
  console.log("checked out:", id, total.display); // take this payment
} catch (error) {
  console.log(error.message); // ask before you sell without the code
  process.exitCode = 1;
}
