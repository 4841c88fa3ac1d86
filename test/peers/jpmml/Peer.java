import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jpmml.evaluator.Evaluator;
import org.jpmml.evaluator.LoadingModelEvaluatorBuilder;

/** Scores the applicants of each case with JPMML and compares the scores with those beside them. */
public class Peer {
  static Object cell(String text) {
    switch (text.charAt(0)) {
      case 'd': return Double.longBitsToDouble(Long.parseUnsignedLong(text.substring(1), 16));
      case 's': return new String(Base64.getDecoder().decode(text.substring(1)), StandardCharsets.UTF_8);
      default: return null;
    }
  }

  static long ulps(double one, double other) {
    return Math.abs(Double.doubleToLongBits(one) - Double.doubleToLongBits(other));
  }

  public static void main(String[] args) throws Exception {
    File[] cases = new File(args[0]).listFiles();
    Arrays.sort(cases);
    long rows = 0, equal = 0, equalPd = 0, worstUlps = 0, failed = 0, cards = 0, pdRows = 0;
    for (File folder : cases) {
      File pmml = new File(folder, "card.pmml");
      if (!pmml.exists()) continue;
      cards++;
      List<String> lines = Files.readAllLines(new File(folder, "rows.tsv").toPath());
      String[] names = lines.get(0).split("\t", -1);
      Evaluator evaluator;
      try {
        evaluator = new LoadingModelEvaluatorBuilder().load(pmml).build();
        evaluator.verify();
      } catch (Exception error) {
        failed++;
        System.out.println(folder.getName() + " can't be loaded: " + error);
        continue;
      }
      String score = evaluator.getOutputFields().get(0).getName();
      String pd = evaluator.getOutputFields().get(1).getName();
      for (String line : lines.subList(1, lines.size())) {
        String[] cells = line.split("\t", -1);
        Map<String, Object> arguments = new LinkedHashMap<>();
        for (int at = 2; at < cells.length; at++) arguments.put((String) cell(names[at].substring(1)), cell(cells[at]));
        rows++;
        double wanted = (Double) cell(cells[0]);
        double wantedPd = (Double) cell(cells[1]);
        try {
          Map<String, ?> result = evaluator.evaluate(arguments);
          double found = ((Number) result.get(score)).doubleValue();
          double foundPd = ((Number) result.get(pd)).doubleValue();
          if (Double.doubleToLongBits(found) == Double.doubleToLongBits(wanted)) equal++;
          else System.out.println(folder.getName() + ": " + found + " for " + wanted + " of " + arguments);
          long difference = ulps(foundPd, wantedPd);
          if (difference == 0) equalPd++;
          worstUlps = Math.max(worstUlps, difference);
          pdRows++;
        } catch (Exception error) {
          failed++;
          System.out.println(folder.getName() + ": " + error + " for " + arguments);
        }
      }
    }
    System.out.println(cards + " cards, " + rows + " applicants: " + equal + " scores equal to the bit, "
        + failed + " failures; " + equalPd + " of " + pdRows + " probabilities equal to the bit, the others off by at most "
        + worstUlps + " units in the last place");
  }
}
