#!/bin/sh
# Redeems a voucher once, even if it sends the request several times.
shop=https://YOUR-DEPLOYMENT/shop/YOUR-SHOP
body='{"code": "YOUR-CODE", "nick": "YOUR-NICK"}'
pause=10

# One key for all retries. Store it before you send it.
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

for attempt in 1 2 3 4; do
  # A lost request may be applied some seconds later.
  # Until then, a refusal may be wrong. So wait.
  [ "$attempt" -eq 1 ] || sleep "$pause"
  # The shop's own server sends its secret key.
  response=$(echo "${SHOP_KEY:+Authorization: Bearer $SHOP_KEY}" |
    curl --silent --max-time 10 -H @- \
    -H 'Content-Type: application/json' \
    -H "Idempotency-Key: $key" \
    --data-raw "$body" "$shop/voucher")
  case $response in
  *'"status":"redeemed"'*) # grant the reward, once for each id
    echo "redeemed: $response"
    exit 0 ;;
  # 401 and 429 do not tell whether an earlier attempt was applied.
  *'"status":401'* | *'"status":429'*) break ;;
  *'"status":4'*)
    echo "refused: $response"
    exit 1 ;;
  esac # 500, 503, no response: send the same key again
done
echo "outcome unknown: send the same request again later"
echo "with the key $key"
echo "last response: $response"
exit 2
