import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

/**
 * Undoes a redemption whose reward cannot be granted.
 * Run it on the shop's server. SHOP_KEY is its secret key.
 */
public class Undo {
    static final String SHOP = "https://YOUR-DEPLOYMENT/shop/YOUR-SHOP";
    static final int PAUSE = 10; // seconds
    static final HttpClient CLIENT = HttpClient.newHttpClient();

    public static void main(String[] args) throws InterruptedException {
        // Build bodies and read responses with your JSON library.
        System.out.println("undone: "
            + send("/redemptions/YOUR-REDEMPTION/undo", """
            {"code": "YOUR-CODE", "reason": "the server is gone"}"""));
    }

    // Sends a request until its outcome is certain. It takes effect once.
    static String send(String path, String body) throws InterruptedException {
        HttpRequest request = HttpRequest
            .newBuilder(URI.create(SHOP + path))
            .header("Authorization", "Bearer " + System.getenv("SHOP_KEY"))
            .header("Content-Type", "application/json")
            .timeout(Duration.ofSeconds(10))
            .POST(BodyPublishers.ofString(body))
            .build();
        String answer = "no response";
        for (int attempt = 1; attempt <= 4; attempt++) {
            if (attempt > 1) {
                Thread.sleep(Duration.ofSeconds(PAUSE).toMillis());
            }
            try {
                answer = CLIENT
                    .send(request, BodyHandlers.ofString()).body();
            } catch (IOException lost) {
                continue; // send it again
            }
            if (answer.contains("\"status\":\"")) {
                return answer;
            }
            if (answer.contains("\"status\":401")
                || answer.contains("\"status\":429")) {
                break; // an earlier attempt may have been applied
            }
            if (answer.contains("\"status\":4")) {
                System.out.println("refused: " + answer);
                System.exit(1);
            }
            // 500 or 503: send it again
        }
        System.out.println(
            "outcome unknown: send the same request again later");
        System.out.println("last response: " + answer);
        System.exit(2);
        return answer;
    }
}
