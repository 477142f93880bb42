import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.UUID;

/** Checks out once with a discount code. */
public class CheckOut {
    static final String SHOP = "https://YOUR-DEPLOYMENT/shop/YOUR-SHOP";
    static final int PAUSE = 10; // seconds

    public static void main(String[] args) throws InterruptedException {
        System.out.println(checkOut("?code=" + encode("YOUR-CODE")
            + "&nick=" + encode("YOUR-NICK")));
    }

    static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    static String checkOut(String query) throws InterruptedException {
        // Use the same key for retries, because a lost attempt may hold
        // the code's last use.
        String key = UUID.randomUUID().toString();
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest.Builder request = HttpRequest
            .newBuilder(URI.create(SHOP + "/checkout/coins/500" + query))
            .header("Idempotency-Key", key)
            .timeout(Duration.ofSeconds(10));
        String secret = System.getenv("SHOP_KEY");
        if (secret != null && !secret.isEmpty()) { // the shop's own server
            request.header("Authorization", "Bearer " + secret);
        }
        String answer = "no response";
        for (int attempt = 1; attempt <= 4; attempt++) {
            if (attempt > 1) {
                Thread.sleep(Duration.ofSeconds(PAUSE).toMillis());
            }
            try {
                answer = client
                    .send(request.build(), BodyHandlers.ofString()).body();
            } catch (IOException lost) {
                continue; // send the same key again
            }
            // Read the response with your JSON library.
            if (answer.contains("\"status\":\"open\"")) {
                return "checked out: " + answer; // take its total
            }
            if (answer.contains("\"status\":401")
                || answer.contains("\"status\":429")) {
                break; // an earlier attempt may have been applied
            }
            if (answer.contains("\"status\":4")) {
                return "refused: " + answer; // ask the shopper
            }
            // 500 or 503: send the same key again
        }
        return "outcome unknown: send the same request again"
            + "\nwith the key " + key
            + "\nlast response: " + answer;
    }
}
