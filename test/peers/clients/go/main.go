// Command program signs in, deploys, makes a key, scores, reads, with the client that openapi-generator makes.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	api "scoreline.example/local/client"
)

func client(token string) *api.APIClient {
	config := api.NewConfiguration()
	config.Servers = api.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	if token != "" {
		config.AddDefaultHeader("Authorization", "Bearer "+token)
	}
	return api.NewAPIClient(config)
}

func must[T any](value T, _ any, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	login := *api.NewLoginRequest(os.Getenv("EMAIL"), os.Getenv("PASSWORD"))
	tokens := must(client("").SessionsAPI.AuthLogin(ctx).LoginRequest(login).Execute())
	owner := client(tokens.AccessToken)

	third := 0.1
	age := api.NewNumericFeature("age", "numeric", []api.NumericBin{
		*api.NewNumericBin("(-Infinity, 25]", -12),
		*api.NewNumericBin("(25, Infinity)", third+0.2),
	})
	age.WoeValues = []float64{-0.41, 0.33}
	purpose := api.NewCategoricalFeature("purpose", "categorical", []api.CategoricalBin{
		*api.NewCategoricalBin("car", 4),
	})
	purpose.WoeValues = map[string]float64{"car": 0.2}
	features := []api.Feature{{NumericFeature: age}, {CategoricalFeature: purpose}}
	scaling := *api.NewScaling(500, 20, 20)
	spec := *api.NewScorecardSpec("Consumer loans", "1.0.0", "default_12m", 480, features)
	spec.SetScaling(scaling)
	order := *api.NewDeployRequest(spec, api.PRODUCTION, true)
	deployed := must(owner.ModelsAPI.ModelsDeploy(ctx).DeployRequest(order).Execute())
	slug := deployed.Deployment.Get().Slug

	keyOrder := *api.NewCreateKeyRequest("a client")
	keyOrder.Scopes = []api.KeyScope{api.SCORE, api.READ}
	key := must(owner.APIKeysAPI.KeysCreate(ctx).CreateKeyRequest(keyOrder).Execute())
	server := client(key.Key)
	request := *api.NewScoreRequest()
	request.AdditionalProperties = map[string]interface{}{"age": 35, "purpose": "boat"}
	scored := must(server.ScoringAPI.ScoringScore(ctx, slug).ScoreRequest(request).Execute())
	warning := scored.Warnings[0].NoBinMatchWarning
	records := []map[string]interface{}{{"id": "a-1", "age": 20, "purpose": "car"}}
	batchOrder := *api.NewScoreBatchRequest(records)
	batch := must(server.ScoringAPI.ScoringScoreBatch(ctx, slug).ScoreBatchRequest(batchOrder).Execute())
	stored := must(owner.ModelsAPI.ModelsGet(ctx, deployed.ModelId).Execute()).Spec.Features
	bins := len(stored[0].NumericFeature.Bins) + len(stored[1].CategoricalFeature.Bins)
	file := must(owner.ModelsAPI.ModelsExport(ctx, deployed.ModelId).Format(api.SQL).
		Dialect(api.POSTGRESQL).Table("applicants").Key([]string{"id", "branch"}).Execute())
	sql, err := io.ReadAll(file)
	if err != nil {
		panic(err)
	}
	var total int64
	for i := 0; i < 100 && total < 2; i++ {
		stats := must(server.DeploymentsAPI.StatsGet(ctx, slug).Recent(5).Execute())
		total = stats.Summary.TotalRequests
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Printf("score=%v\n", scored.Score)
	fmt.Printf("warning=%s %s\n", warning.Type, warning.Variable)
	fmt.Printf("batch=%v\n", batch.Results[0].Score)
	fmt.Printf("bins=%d\n", bins)
	fmt.Printf("sql=%t\n", strings.Contains(string(sql), "WITH scoreline_values AS"))
	fmt.Printf("total=%d\n", total)
}
