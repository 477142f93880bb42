#!/bin/sh
# Redeems a voucher once, however often the request has to be sent.
shop=https://YOUR-DEPLOYMENT/shop/emberforge
key=$(openssl rand -hex 16) # one for this attempt of the shopper: store it before you send

answer=$(curl --silent --show-error --max-time 10 --retry 4 --retry-connrefused "$shop/voucher" \
  -H 'Content-Type: application/json' -H "Idempotency-Key: $key" \
  --data-raw '{"code": "welcome coins", "nick": "Alder"}')

case $answer in
*'"status":"redeemed"'*) echo "Grant the reward, once for this id: $answer" ;;
*'"type":"urn:problem:shopfront:voucher-not-found"'*) echo "Grant nothing: there is no such voucher, or not for this nick" ;;
*) echo "Unknown: run this again with the key $key" ;;
esac
