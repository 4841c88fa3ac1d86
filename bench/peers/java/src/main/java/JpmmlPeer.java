import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undertow.Undertow;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.RoutingHandler;
import io.undertow.util.Headers;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jpmml.evaluator.Evaluator;
import org.jpmml.evaluator.LoadingModelEvaluatorBuilder;
import org.jpmml.evaluator.visitors.ModelEvaluatorVisitorBattery;

/**
 * Scores by JPMML-Evaluator, in process and behind Undertow; see ../README.md for what it is asked on its standard
 * input. Arguments: the card as PMML, and the applicants as a JSON array.
 */
public class JpmmlPeer {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long CHUNK_NS = 1_000_000;

  private final Evaluator evaluator;
  private final String scoreName;
  private final String pdName;
  private final List<Map<String, Object>> applicants;

  @SuppressWarnings("unchecked")
  private JpmmlPeer(File pmml, File applicants) throws Exception {
    // The visitors parse values and index tables once, as the README of the library recommends for speed: it is then several times as fast.
    evaluator = new LoadingModelEvaluatorBuilder()
        .setVisitors(new ModelEvaluatorVisitorBattery(false))
        .load(pmml)
        .build();
    evaluator.verify();
    scoreName = evaluator.getOutputFields().get(0).getName();
    pdName = evaluator.getOutputFields().get(1).getName();
    this.applicants = JSON.readValue(applicants, List.class);
  }

  private Map<String, Object> score(Map<String, ?> applicant) {
    Map<String, ?> result = evaluator.evaluate(applicant);
    Map<String, Object> answer = new LinkedHashMap<>(4);
    answer.put("score", result.get(scoreName));
    answer.put("pd", result.get(pdName));
    return answer;
  }

  private List<Map<String, Object>> scoreAll(List<Map<String, Object>> records) {
    List<Map<String, Object>> results = new ArrayList<>(records.size());
    for (Map<String, Object> record : records) results.add(score(record));
    return results;
  }

  /** Scores for so many milliseconds. */
  private Map<String, Object> run(double ms) {
    long start = System.nanoTime(), end = start + (long) (ms * 1e6), now = start;
    long scored = 0;
    int chunk = 1, at = 0;
    while (now < end) {
      for (int n = 0; n < chunk; n++) {
        score(applicants.get(at));
        if (++at == applicants.size()) at = 0;
      }
      scored += chunk;
      long then = System.nanoTime();
      if (then - now < CHUNK_NS) chunk *= 2;
      now = then;
    }
    return Map.of("applicants", scored, "ms", (now - start) / 1e6);
  }

  @SuppressWarnings("unchecked")
  private Map<String, Object> serve() {
    RoutingHandler routes = new RoutingHandler()
        .post("/single", exchange -> reply(exchange, body -> score((Map<String, ?>) body)))
        .post("/batch", exchange -> reply(exchange,
            body -> Map.of("results", scoreAll((List<Map<String, Object>>) ((Map<String, ?>) body).get("records")))));
    Undertow server = Undertow.builder().addHttpListener(0, "127.0.0.1").setHandler(routes).build();
    server.start();
    InetSocketAddress address = (InetSocketAddress) server.getListenerInfo().get(0).getAddress();
    return Map.of("url", "http://127.0.0.1:" + address.getPort());
  }

  private interface Answer {
    Object to(Object body);
  }

  /** On the thread that reads: a score takes less than passing the request to another. */
  private static void reply(HttpServerExchange exchange, Answer answer) {
    exchange.getRequestReceiver().receiveFullBytes((read, bytes) -> {
      try {
        byte[] text = JSON.writeValueAsBytes(answer.to(JSON.readValue(bytes, Map.class)));
        read.getResponseHeaders().put(Headers.CONTENT_TYPE, "application/json");
        read.getResponseSender().send(java.nio.ByteBuffer.wrap(text));
      } catch (Exception error) {
        read.setStatusCode(500);
        read.getResponseSender().send(String.valueOf(error));
      }
    });
  }

  public static void main(String[] args) throws Exception {
    JpmmlPeer peer = new JpmmlPeer(new File(args[0]), new File(args[1]));
    peer.score(peer.applicants.get(0));
    tell(Map.of("ready", true));
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
    for (String line = orders.readLine(); line != null; line = orders.readLine()) {
      JsonNode order = JSON.readTree(line);
      switch (order.get("do").asText()) {
        case "results": tell(Map.of("results", peer.scoreAll(peer.applicants))); break;
        case "run": tell(peer.run(order.get("ms").asDouble())); break;
        case "serve": tell(peer.serve()); break;
        default: throw new IllegalArgumentException(line);
      }
    }
    System.exit(0);
  }

  private static void tell(Object what) throws Exception {
    System.out.println(JSON.writeValueAsString(what));
  }
}
