import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.UUID;

/** Redeems a voucher once, even if it sends the request several times. */
public class Redeem {
    static final String SHOP = "https://YOUR-DEPLOYMENT/shop/YOUR-SHOP";
    static final int PAUSE = 10; // seconds

    public static void main(String[] args) throws InterruptedException {
        // Build the body with your JSON library.
        System.out.println(redeem("""
            {"code": "YOUR-CODE", "nick": "YOUR-NICK"}"""));
    }

    static String redeem(String body) throws InterruptedException {
        // One key for all retries. Store it before you send it.
        String key = UUID.randomUUID().toString();
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest.Builder request = HttpRequest
            .newBuilder(URI.create(SHOP + "/voucher"))
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", key)
            .timeout(Duration.ofSeconds(10))
            .POST(BodyPublishers.ofString(body));
        String secret = System.getenv("SHOP_KEY");
        if (secret != null && !secret.isEmpty()) { // the shop's own server
            request.header("Authorization", "Bearer " + secret);
        }
        String answer = "no response";
        for (int attempt = 1; attempt <= 4; attempt++) {
            if (attempt > 1) {
                // A lost request may be applied some seconds later.
                // Until then, a refusal may be wrong. So wait.
                Thread.sleep(Duration.ofSeconds(PAUSE).toMillis());
            }
            try {
                answer = client
                    .send(request.build(), BodyHandlers.ofString()).body();
            } catch (IOException lost) {
                continue; // send the same key again
            }
            // Read the response with your JSON library.
            if (answer.contains("\"status\":\"redeemed\"")) {
                // Grant the reward, once for each id.
                return "redeemed: " + answer;
            }
            if (answer.contains("\"status\":401")
                || answer.contains("\"status\":429")) {
                break; // an earlier attempt may have been applied
            }
            if (answer.contains("\"status\":4")) {
                return "refused: " + answer;
            }
            // 500 or 503: send the same key again
        }
        return "outcome unknown: send the same request again later"
            + "\nwith the key " + key
            + "\nlast response: " + answer;
    }
}
