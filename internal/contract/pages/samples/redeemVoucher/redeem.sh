#!/bin/sh
# Redeems a voucher once, however often the request has to be sent.
shop=https://YOUR-DEPLOYMENT/shop/YOUR-SHOP
body='{"code": "YOUR-CODE", "nick": "YOUR-NICK"}'
pause=10

# One key for this shopper's attempt. Store it before you send it.
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

for attempt in 1 2 3 4; do
  # A lost request may still be applied for some seconds. A refusal
  # that arrives sooner may be wrong.
  [ "$attempt" -eq 1 ] || sleep "$pause"
  response=$(curl --silent --max-time 10 --data-raw "$body" \
    -H 'Content-Type: application/json' -H "Idempotency-Key: $key" \
    "$shop/voucher")
  case $response in
  *'"status":"redeemed"'*) # grant the reward, once for each id
    echo "redeemed: $response"
    exit 0 ;;
  *'"status":4'*)
    echo "refused: $response"
    exit 1 ;;
  esac # 429, 500, 503 or no response: send the same key again
done
echo "unknown: send it again later, with the key $key"
exit 2
