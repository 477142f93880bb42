<?php
// Follows the shop's events and applies each of them.
// Run it on the shop's server. SHOP_KEY is its secret key.
const DEPLOYMENT = 'https://YOUR-DEPLOYMENT';
const PAUSE = 10; // seconds
const FILE = 'events-next'; // your database

// Applies events. Store the next path in the same transaction, and
// ignore an event whose id was applied before.
function apply(array $events, string $next): void
{
    foreach ($events as $event) {
        switch ($event['type']) {
            case 'redemption.created': // grant the reward
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

$request = stream_context_create(['http' => [
    'header' => 'Authorization: Bearer ' . getenv('SHOP_KEY'),
    'timeout' => 10,
    'ignore_errors' => true, // return the body of an error too
]]);
$next = is_file(FILE) ? file_get_contents(FILE) : '/shop/YOUR-SHOP/events';
while (true) {
    $text = @file_get_contents(DEPLOYMENT . $next, false, $request);
    $page = json_decode((string) $text, true);
    $status = $page['status'] ?? null; // of an error
    if (isset($page['pollAfterSeconds'])) {
        if ($page['events'] !== []) {
            apply($page['events'], $page['next']);
        }
        $next = $page['next'];
        sleep($page['pollAfterSeconds']);
    } elseif (is_int($status) && $status < 500 && $status !== 429) {
        echo "refused: {$page['title']}\n";
        exit(1);
    } else {
        sleep(PAUSE); // no response, 429, 500 or 503: ask again
    }
}
