<?php
// Redeems a voucher once, even if it sends the request several times.
const SHOP = 'https://YOUR-DEPLOYMENT/shop/YOUR-SHOP';
const PAUSE = 10; // seconds

function redeem(string $code, string $nick): array
{
    // One key for all retries. Store it before you send it.
    $key = bin2hex(random_bytes(16));
    $header = [
        'Content-Type: application/json',
        "Idempotency-Key: $key",
    ];
    if (getenv('SHOP_KEY')) { // the shop's own server has a secret key
        $header[] = 'Authorization: Bearer ' . getenv('SHOP_KEY');
    }
    $request = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => $header,
        'content' => json_encode(['code' => $code, 'nick' => $nick]),
        'timeout' => 10,
        'ignore_errors' => true, // return the body of an error too
    ]]);
    for ($attempt = 1; $attempt <= 4; $attempt++) {
        if ($attempt > 1) {
            // A lost request may be applied some seconds later.
            // Until then, a refusal may be wrong. So wait.
            sleep(PAUSE);
        }
        $body = @file_get_contents(SHOP . '/voucher', false, $request);
        $answer = json_decode((string) $body, true);
        $status = $answer['status'] ?? null;
        if ($status === 'redeemed') {
            return $answer;
        }
        if (in_array($status, [400, 404, 409, 413, 415, 422], true)) {
            throw new RuntimeException("refused: {$answer['title']}");
        }
        if (in_array($status, [401, 429], true)) {
            break; // an earlier attempt may have been applied
        }
        // 500 or 503: send the same key again
    }
    $last = $answer['title'] ?? 'no response';
    throw new RuntimeException(
        "outcome unknown: send the same request again later, with the key "
        . "$key (last response: $last)"
    );
}

try {
    $redemption = redeem('YOUR-CODE', 'YOUR-NICK');
    // Grant the reward, once for each id.
    echo "redeemed: {$redemption['id']} ";
    echo json_encode($redemption['reward']), "\n";
} catch (RuntimeException $failure) {
    echo $failure->getMessage(), "\n";
    exit(1);
}
