#!/bin/sh
# Undoes a redemption whose reward cannot be granted.
# Run it on the shop's server. SHOP_KEY is its secret key.
shop=https://YOUR-DEPLOYMENT/shop/YOUR-SHOP
pause=10

# Sends a request until its outcome is certain. It takes effect once.
send() {
  for attempt in 1 2 3 4; do
    [ "$attempt" -eq 1 ] || sleep "$pause"
    response=$(echo "Authorization: Bearer $SHOP_KEY" |
      curl --silent --max-time 10 -H @- \
      -H 'Content-Type: application/json' --data-raw "$2" "$shop$1")
    case $response in
    *'"status":"'*) return ;;
    *'"status":401'* | *'"status":429'*) break ;;
    *'"status":4'*)
      echo "refused: $response"
      exit 1 ;;
    esac # 500, 503, no response: send it again
  done
  echo "outcome unknown: send the same request again later"
  echo "last response: $response"
  exit 2
}

send /redemptions/YOUR-REDEMPTION/undo \
  '{"code": "YOUR-CODE", "reason": "the server is gone"}'
echo "undone: $response"
