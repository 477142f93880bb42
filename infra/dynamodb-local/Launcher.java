import java.io.File;
import java.lang.reflect.Field;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.main.ServerRunner;
import software.amazon.dynamodb.services.local.server.DynamoDBProxyServer;

/**
 * Runs DynamoDB Local, with its own arguments, on a free port of 127.0.0.1. DynamoDB Local's own main class listens on every
 * address of the machine, and has no flag to change that. The launcher prints the port, and exits when its standard input
 * ends, so it cannot outlive the program that started it.
 */
final class Launcher {
  private Launcher() {}

  public static void main(String[] args) {
    // Registered first, so deleted last: by then the native library that is unpacked there has been deleted.
    new File(System.getProperty("java.io.tmpdir")).deleteOnExit();
    try {
      run(args);
      System.exit(0);
    } catch (Throwable e) {
      e.printStackTrace();
      System.exit(1); // other threads would keep the process alive
    }
  }

  private static void run(String[] args) throws Exception {
    DynamoDBProxyServer dynamoDB = ServerRunner.createServerFromCommandLineArgs(args);
    Field server = DynamoDBProxyServer.class.getDeclaredField("server");
    server.setAccessible(true);
    ServerConnector connector = (ServerConnector) ((Server) server.get(dynamoDB)).getConnectors()[0];
    connector.setHost("127.0.0.1");
    connector.setPort(0);
    dynamoDB.safeStart();
    System.out.println("listening on port " + connector.getLocalPort());
    System.in.read();
  }
}
