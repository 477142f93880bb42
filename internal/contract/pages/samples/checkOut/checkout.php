<?php
// Checks out once with a discount code, even if it sends the request
// several times.
const SHOP = 'https://YOUR-DEPLOYMENT/shop/YOUR-SHOP';
const PAUSE = 10; // seconds

function checkOut(string $code, string $nick): array
{
    // Use the same key for retries, because a lost attempt may hold the
    // code's last use.
    $header = ['Idempotency-Key: ' . bin2hex(random_bytes(16))];
    if (getenv('SHOP_KEY')) { // the shop's own server has a secret key
        $header[] = 'Authorization: Bearer ' . getenv('SHOP_KEY');
    }
    $request = stream_context_create(['http' => [
        'header' => $header,
        'timeout' => 10,
        'ignore_errors' => true, // return the body of an error too
    ]]);
    $query = http_build_query(['code' => $code, 'nick' => $nick]);
    for ($attempt = 1; $attempt <= 4; $attempt++) {
        if ($attempt > 1) {
            sleep(PAUSE);
        }
        $url = SHOP . "/checkout/coins/500?$query";
        $body = @file_get_contents($url, false, $request);
        $answer = json_decode((string) $body, true);
        $status = $answer['status'] ?? null;
        if ($status === 'open') {
            return $answer;
        }
        if (in_array($status, [401, 429], true)) {
            break; // an earlier attempt may have been applied
        }
        if (is_int($status) && $status < 500) {
            throw new RuntimeException("refused: {$answer['title']}");
        }
        // 500 or 503: send the same key again
    }
    $last = $answer['title'] ?? 'no response';
    throw new RuntimeException(
        "outcome unknown: send the request again with the same key "
        . "(last response: $last)"
    );
}

try {
    $checkout = checkOut('YOUR-CODE', 'YOUR-NICK');
    // Take this payment.
    echo "checked out: {$checkout['id']} ";
    echo $checkout['total']['display'], "\n";
} catch (RuntimeException $failure) {
    // Ask before you sell without the code.
    echo $failure->getMessage(), "\n";
    exit(1);
}
