import java.math.BigDecimal;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.ApiKeysApi;
import org.openapitools.client.api.DeploymentsApi;
import org.openapitools.client.api.ModelsApi;
import org.openapitools.client.api.ScoringApi;
import org.openapitools.client.api.SessionsApi;
import org.openapitools.client.model.*;

/** Signs in, deploys, makes a key, scores, reads: the same with okhttp-gson and with native. */
public class Program {
  public static void main(String[] args) throws Exception {
    String email = System.getenv("EMAIL"), password = System.getenv("PASSWORD");
    var tokens =
        new SessionsApi(Connection.to(null))
            .authLogin(new LoginRequest().email(email).password(password));
    ApiClient owner = Connection.to(tokens.getAccessToken());

    var age =
        new NumericFeature()
            .name("age")
            .type(NumericFeature.TypeEnum.NUMERIC)
            .addBinsItem(new NumericBin().range("(-Infinity, 25]").points(-12.0))
            .addBinsItem(new NumericBin().range("(25, Infinity)").points(0.1 + 0.2))
            .woeValues(List.of(-0.41, 0.33));
    var purpose =
        new CategoricalFeature()
            .name("purpose")
            .type(CategoricalFeature.TypeEnum.CATEGORICAL)
            .addBinsItem(new CategoricalBin().value("car").points(4.0))
            .woeValues(Map.of("car", 0.2));
    var spec =
        new ScorecardSpec()
            .name("Consumer loans")
            .version("1.0.0")
            .target("default_12m")
            .basePoints(480.0)
            .addFeaturesItem(new Feature(age))
            .addFeaturesItem(new Feature(purpose))
            .scaling(new Scaling().baseScore(500.0).baseOdds(20.0).pdo(20.0))
            // okhttp-gson leaves out null, which the service reads as a forgotten bound.
            .addRiskGradesItem(new RiskGrade().grade("A").minScore(490.0).maxScore(1e6));
    var models = new ModelsApi(owner);
    var deployed =
        models.modelsDeploy(
            new DeployRequest().spec(spec).environment(Environment.PRODUCTION).autoDeploy(true),
            UUID.randomUUID().toString());
    String slug = deployed.getDeployment().getSlug();

    var key =
        new ApiKeysApi(owner)
            .keysCreate(
                new CreateKeyRequest()
                    .name("generated client")
                    .addScopesItem(KeyScope.SCORE)
                    .addScopesItem(KeyScope.READ),
                UUID.randomUUID().toString());
    ApiClient server = Connection.to(key.getKey());
    var scoring = new ScoringApi(server);
    var request = new ScoreRequest();
    request.putAdditionalProperty("age", 35);
    request.putAdditionalProperty("purpose", "boat");
    // Asked twice with one key, the applicant is logged once: `total` below counts them.
    String attempt = UUID.randomUUID().toString();
    var scored = scoring.scoringScore(slug, request, null, null, "A-1", "A-1", attempt);
    var again = scoring.scoringScore(slug, request, null, null, "A-1", "A-1", attempt);
    if (!again.getRequestId().equals(scored.getRequestId())) throw new IllegalStateException();
    var warning = scored.getWarnings().get(0).getNoBinMatchWarning();
    Map<String, Object> record = Map.of("id", "a-1", "age", 20, "purpose", "car");
    var batch =
        scoring.scoringScoreBatch(
            slug, new ScoreBatchRequest().records(List.of(record)), null, null);
    var stored = models.modelsGet(deployed.getModelId()).getSpec().getFeatures();
    int bins =
        stored.get(0).getNumericFeature().getBins().size()
            + stored.get(1).getCategoricalFeature().getBins().size();
    var sql =
        models.modelsExport(
            deployed.getModelId(),
            ExportFormat.SQL,
            SqlDialect.POSTGRESQL,
            "applicants",
            List.of("id", "branch"),
            null,
            null,
            null,
            null);
    long total = 0;
    for (int i = 0; i < 100 && total < 2; i++) {
      total = new DeploymentsApi(server).statsGet(slug, 5, null, null).getSummary().getTotalRequests();
      Thread.sleep(100);
    }
    var lines = new ArrayList<String>();
    lines.add("score=" + scored.getScore());
    lines.add("warning=" + warning.getType().getValue() + " " + warning.getVariable());
    lines.add("batch=" + plain(batch.getResults().get(0).getScore()));
    lines.add("bins=" + bins);
    lines.add("sql=" + Files.readString(sql.toPath()).contains("WITH scoreline_values AS"));
    lines.add("total=" + total);
    lines.forEach(System.out::println);
  }

  private static String plain(double value) {
    return new BigDecimal(value).stripTrailingZeros().toPlainString();
  }
}
