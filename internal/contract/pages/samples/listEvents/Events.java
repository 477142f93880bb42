import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Follows the shop's events and applies each of them.
 * Run it on the shop's server. SHOP_KEY is its secret key.
 */
public class Events {
    static final String DEPLOYMENT = "https://YOUR-DEPLOYMENT";
    static final int PAUSE = 10; // seconds
    static final Path FILE = Path.of("events-next"); // in production, use your database
    // Read responses with your JSON library instead.
    static final Pattern PAGE = Pattern.compile("\"events\":\\[(.*)\\],"
        + "\"next\":\"([^\"]*)\",\"pollAfterSeconds\":([0-9]+)");

    public static void main(String[] args)
        throws IOException, InterruptedException {
        String next = "/shop/YOUR-SHOP/events";
        if (Files.exists(FILE)) {
            next = Files.readString(FILE);
        }
        HttpClient client = HttpClient.newHttpClient();
        while (true) {
            long seconds = PAUSE;
            String answer = request(client, next);
            Matcher page = PAGE.matcher(answer);
            if (page.find()) {
                next = page.group(2);
                seconds = Long.parseLong(page.group(3));
                if (!page.group(1).isEmpty()) {
                    apply(page.group(1), next);
                }
            } else if (answer.startsWith("4")
                && !answer.startsWith("429")) {
                System.out.println("refused: " + answer);
                System.exit(1);
            } // no response, 429, 500 or 503: ask again
            Thread.sleep(Duration.ofSeconds(seconds).toMillis());
        }
    }

    // Applies events. Store the next path in the same transaction, and
    // ignore an event whose id was applied before.
    static void apply(String events, String next) throws IOException {
        System.out.println("events: " + events);
        Path unfinished = Path.of(FILE + ".new");
        Files.writeString(unfinished, next);
        Files.move(unfinished, FILE, StandardCopyOption.REPLACE_EXISTING);
    }

    // Returns the HTTP status and the body.
    static String request(HttpClient client, String path)
        throws InterruptedException {
        try {
            var response = client.send(HttpRequest
                .newBuilder(URI.create(DEPLOYMENT + path))
                .header("Authorization",
                    "Bearer " + System.getenv("SHOP_KEY"))
                .timeout(Duration.ofSeconds(10))
                .build(), BodyHandlers.ofString());
            return response.statusCode() + " " + response.body();
        } catch (IOException lost) {
            return "";
        }
    }
}
