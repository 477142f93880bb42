<?php
// Follows the shop's events and applies each of them.
// Run it on the shop's server. SHOP_KEY is its secret key.
const DEPLOYMENT = 'https://YOUR-DEPLOYMENT';
const PAUSE = 10; // seconds
const FILE = 'events-next'; // in production, use your database

// Applies events. Store the next path in the same transaction, and
// ignore an event whose id was applied before.
function apply(array $events, string $next): void
{
    foreach ($events as $event) {
        switch ($event['type']) {
            case 'redemption.created': // grant the reward, except a discount
            case 'redemption.undone': // take it back
            case 'order.created': // deliver
            case 'order.fulfilled':
            case 'order.cancelled':
                echo "event {$event['sequence']}: {$event['type']} ",
                    $event['data']['id'], "\n";
        } // skip other types
    }
    file_put_contents(FILE . '.new', $next);
    rename(FILE . '.new', FILE);
}

// Returns the HTTP status and the body.
function request(string $path): array
{
    $options = stream_context_create(['http' => [
        'header' => 'Authorization: Bearer ' . getenv('SHOP_KEY'),
        'timeout' => 10,
        'ignore_errors' => true, // return the body of an error too
    ]]);
    $response = @fopen(DEPLOYMENT . $path, 'r', false, $options);
    if ($response === false) {
        return [0, ''];
    }
    $line = stream_get_meta_data($response)['wrapper_data'][0];
    $status = (int) explode(' ', $line)[1]; // as in HTTP/1.1 200 OK
    return [$status, (string) stream_get_contents($response)];
}

$next = is_file(FILE) ? file_get_contents(FILE) : '/shop/YOUR-SHOP/events';
while (true) {
    [$status, $text] = request($next);
    $page = json_decode($text, true);
    if (isset($page['pollAfterSeconds'])) {
        if ($page['events'] !== []) {
            apply($page['events'], $page['next']);
        }
        $next = $page['next'];
        sleep($page['pollAfterSeconds']);
    } elseif ($status >= 400 && $status < 500 && $status !== 429) {
        echo "refused: $status $text\n";
        exit(1);
    } else {
        sleep(PAUSE); // no response, 429, 500 or 503: ask again
    }
}
