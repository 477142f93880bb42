<?php
// Redeems a voucher once, even if it sends the request often.
const SHOP = 'https://YOUR-DEPLOYMENT/shop/YOUR-SHOP';
const PAUSE = 10; // seconds

function redeem(string $code, string $nick): array
{
    // One key for this attempt. Store it before you send it.
    $key = bin2hex(random_bytes(16));
    $request = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => [
            'Content-Type: application/json',
            "Idempotency-Key: $key",
        ],
        'content' => json_encode(['code' => $code, 'nick' => $nick]),
        'timeout' => 10,
        'ignore_errors' => true, // return the body of an error too
    ]]);
    for ($attempt = 1; $attempt <= 4; $attempt++) {
        if ($attempt > 1) {
            // A lost request may still be applied for some seconds.
            // A refusal that arrives sooner may be wrong.
            sleep(PAUSE);
        }
        $body = @file_get_contents(SHOP . '/voucher', false, $request);
        $answer = json_decode((string) $body, true);
        $status = $answer['status'] ?? null;
        if ($status === 'redeemed') {
            return $answer;
        }
        if (is_int($status) && $status >= 400 && $status < 500) {
            throw new RuntimeException("refused: {$answer['title']}");
        }
        // 429, 500, 503 or no response: send the same key again
    }
    throw new RuntimeException("unknown: send it again later, with $key");
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
