<?php
// Orders a paid checkout, and cancels the order.
// Run it on the shop's server. SHOP_KEY is its secret key.
const SHOP = 'https://YOUR-DEPLOYMENT/shop/YOUR-SHOP';
const PAUSE = 10; // seconds

// Sends a request until its outcome is certain. It takes effect once.
function send(string $path, array $body): array
{
    $request = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => [
            'Authorization: Bearer ' . getenv('SHOP_KEY'),
            'Content-Type: application/json',
        ],
        'content' => json_encode($body),
        'timeout' => 10,
        'ignore_errors' => true, // return the body of an error too
    ]]);
    for ($attempt = 1; $attempt <= 4; $attempt++) {
        if ($attempt > 1) {
            sleep(PAUSE);
        }
        $text = @file_get_contents(SHOP . $path, false, $request);
        $answer = json_decode((string) $text, true);
        $status = $answer['status'] ?? null;
        if (is_string($status)) {
            return $answer;
        }
        if (in_array($status, [401, 429], true)) {
            break; // an earlier attempt may have been applied
        }
        if (is_int($status) && $status < 500) {
            throw new RuntimeException("refused: {$answer['title']}");
        }
        // 500 or 503: send it again
    }
    $last = $answer['title'] ?? 'no response';
    throw new RuntimeException(
        "outcome unknown: send the same request again later "
        . "(last response: $last)"
    );
}

try {
    $payment = ['provider' => 'stripe', 'reference' => 'YOUR-PAYMENT'];
    $order = send('/orders', [
        'checkout' => 'YOUR-CHECKOUT',
        'payment' => $payment,
    ]);
    echo "ordered: {$order['id']}\n"; // deliver once for each id

    // If you cannot deliver: cancel the order, and refund the payment.
    send("/orders/{$order['id']}/cancel", ['reason' => 'sold out']);
    echo "cancelled: {$order['id']}\n";
} catch (RuntimeException $failure) {
    echo $failure->getMessage(), "\n";
    exit(1);
}
