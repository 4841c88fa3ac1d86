import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jpmml.evaluator.Evaluator;
import org.jpmml.evaluator.LoadingModelEvaluatorBuilder;
import org.jpmml.evaluator.OutputField;

/** Writes the reason codes that JPMML gives to the applicants of each case. */
public class Reasons {
  static Object value(String text) {
    if (text.isEmpty()) return null;
    try {
      return Double.valueOf(text);
    } catch (NumberFormatException notANumber) {
      return text;
    }
  }

  public static void main(String[] args) throws Exception {
    for (File folder : new File(args[0]).listFiles()) {
      Evaluator evaluator = new LoadingModelEvaluatorBuilder().load(new File(folder, "card.pmml")).build();
      evaluator.verify();
      List<String> lines = Files.readAllLines(new File(folder, "rows.tsv").toPath());
      String[] names = lines.get(0).split("\t", -1);
      List<String> answers = new ArrayList<>();
      for (String line : lines.subList(1, lines.size())) {
        String[] cells = line.split("\t", -1);
        Map<String, Object> arguments = new LinkedHashMap<>();
        for (int at = 0; at < names.length; at++) arguments.put(names[at], value(cells[at]));
        Map<String, ?> result = evaluator.evaluate(arguments);
        List<String> codes = new ArrayList<>();
        for (OutputField field : evaluator.getOutputFields()) {
          Object code = field.getName().startsWith("reason_") ? result.get(field.getName()) : null;
          if (code != null) codes.add(code.toString());
        }
        answers.add(String.join("\t", codes));
      }
      Files.write(new File(folder, "jpmml.tsv").toPath(), answers);
    }
  }
}
