#!/bin/sh
# Checks out once with a discount code, even if it sends the request
# several times.
shop=https://YOUR-DEPLOYMENT/shop/YOUR-SHOP
pause=10

# Use the same key for retries, because a lost attempt may hold the
# code's last use.
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

for attempt in 1 2 3 4; do
  [ "$attempt" -eq 1 ] || sleep "$pause"
  # The shop's own server sends its secret key.
  response=$(echo "${SHOP_KEY:+Authorization: Bearer $SHOP_KEY}" |
    curl --silent --max-time 10 -H @- --get \
    -H "Idempotency-Key: $key" --data-urlencode 'code=YOUR-CODE' \
    --data-urlencode 'nick=YOUR-NICK' "$shop/checkout/coins/500")
  case $response in
  *'"status":"open"'*) # show its total, and take the payment
    echo "checked out: $response"
    exit 0 ;;
  # 401 and 429 do not tell whether an earlier attempt was applied.
  *'"status":401'* | *'"status":429'*) break ;;
  *'"status":4'*) # ask before you sell without the code
    echo "refused: $response"
    exit 1 ;;
  esac # 500, 503, no response: send the same key again
done
echo "outcome unknown: send the same request again"
echo "with the key $key"
echo "last response: $response"
exit 2
