#!/bin/sh
# Redeems a voucher once, however often the request has to be sent.
shop=https://YOUR-DEPLOYMENT/shop/emberforge
key=$(openssl rand -hex 16) # one for this attempt of the shopper: store it before you send

for attempt in 1 2 3 4; do
  answer=$(curl --silent --show-error --max-time 10 \
    -H 'Content-Type: application/json' -H "Idempotency-Key: $key" \
    --data-raw '{"code": "welcome coins", "nick": "Alder"}' "$shop/voucher")
  case $answer in
  *'"status":"redeemed"'*) echo "Grant the reward, once for this id: $answer" && exit ;;
  *'"status":4'*) echo "Grant nothing: $answer" && exit ;;
  esac
  sleep 10 # sooner, what was lost may still be applied, and a refusal be wrong
done
echo "Unknown: send it again later, with the key $key"
