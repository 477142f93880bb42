#!/bin/sh
# Redeems a voucher once, however often the request has to be sent.
shop=https://YOUR-DEPLOYMENT/shop/emberforge
key=$(openssl rand -hex 16) # one for this attempt of the shopper: store it before you send

# Attempts are ten seconds apart, so that none is refused while one that was lost before may still be applied.
answer=$(curl --silent --show-error --max-time 10 --retry 4 --retry-delay 10 --retry-connrefused \
  -H 'Content-Type: application/json' -H "Idempotency-Key: $key" \
  --data-raw '{"code": "welcome coins", "nick": "Alder"}' "$shop/voucher")

case $answer in
*'"status":"redeemed"'*) echo "Grant the reward, once for this id: $answer" ;;
*'"status":4'*) echo "Grant nothing: $answer" ;;
*) echo "Unknown: send it again later, with the key $key" ;;
esac
