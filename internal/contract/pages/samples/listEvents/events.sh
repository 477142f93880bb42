#!/bin/sh
# Follows the shop's events and applies each of them.
# Run it on the shop's server. SHOP_KEY is its secret key.
deployment=https://YOUR-DEPLOYMENT
pause=10
file=events-next # in production, use your database

# Applies events. Store the next path in the same transaction, and
# ignore an event whose id was applied before.
apply() {
  printf 'events: %s\n' "$1"
  echo "$2" >"$file.new" && mv "$file.new" "$file"
}

# Prints the part of the response that the pattern's group matches.
part() {
  printf '%s\n' "$response" | sed "s/.*$1.*/\1/"
}

next=/shop/YOUR-SHOP/events
[ ! -f "$file" ] || next=$(cat "$file")
while :; do
  response=$(echo "Authorization: Bearer $SHOP_KEY" |
    curl --silent --max-time 10 --write-out ' %{http_code}' -H @- \
      "$deployment$next")
  seconds=$pause
  case $response in
  *'"pollAfterSeconds":'*'} 200') # Use jq if you have it.
    events=$(part '"events":\[\(.*\)\],"next":')
    next=$(part '"next":"\([^"]*\)"')
    seconds=$(part '"pollAfterSeconds":\([0-9]*\)')
    [ -z "$events" ] || apply "$events" "$next" ;;
  *' 429') ;; # ask again
  *' 4'??)
    printf 'refused: %s\n' "$response"
    exit 1 ;;
  esac # 500, 503, no response: ask again
  sleep "$seconds"
done
