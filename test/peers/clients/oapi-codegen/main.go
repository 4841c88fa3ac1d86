// Command program signs in, deploys, makes a key, scores, reads, with the client that oapi-codegen makes of OpenAPI 3.0.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"scoreline.example/local/client/api"
)

func client(token string) *api.ClientWithResponses {
	prove := func(_ context.Context, request *http.Request) error {
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		return nil
	}
	made, err := api.NewClientWithResponses(os.Getenv("BASE_URL"), api.WithRequestEditorFn(prove))
	if err != nil {
		panic(err)
	}
	return made
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// feature makes one of the two kinds of features.
func feature(fill func(*api.Feature) error) api.Feature {
	var made api.Feature
	if err := fill(&made); err != nil {
		panic(err)
	}
	return made
}

func main() {
	ctx := context.Background()
	login := api.LoginRequest{Email: os.Getenv("EMAIL"), Password: os.Getenv("PASSWORD")}
	owner := client(must(client("").AuthLoginWithResponse(ctx, login)).JSON200.AccessToken)

	third := 0.1
	age := api.NumericFeature{Name: "age", Type: "numeric", WoeValues: []float64{-0.41, 0.33}, Bins: []api.NumericBin{
		{Range: "(-Infinity, 25]", Points: -12}, {Range: "(25, Infinity)", Points: third + 0.2},
	}}
	purpose := api.CategoricalFeature{Name: "purpose", Type: "categorical", WoeValues: map[string]float64{"car": 0.2}, Bins: []api.CategoricalBin{
		{Value: "car", Points: 4},
	}}
	spec := api.ScorecardSpec{
		Name: "Consumer loans", Version: "1.0.0", Target: "default_12m", BasePoints: 480,
		Scaling: &api.Scaling{BaseScore: 500, BaseOdds: 20, Pdo: 20},
		Features: []api.Feature{
			feature(func(made *api.Feature) error { return made.FromNumericFeature(age) }),
			feature(func(made *api.Feature) error { return made.FromCategoricalFeature(purpose) }),
		},
	}
	order := api.DeployRequest{Spec: spec, Environment: api.Production, AutoDeploy: true}
	deployed := must(owner.ModelsDeployWithResponse(ctx, nil, order)).JSON200
	slug := deployed.Deployment.Slug

	scopes := []api.KeyScope{api.Score, api.Read}
	key := must(owner.KeysCreateWithResponse(ctx, nil, api.CreateKeyRequest{Name: "a client", Scopes: &scopes})).JSON201.Key
	server := client(key)
	request := api.ScoreRequest{AdditionalProperties: map[string]any{"age": 35, "purpose": "boat"}}
	scored := must(server.ScoringScoreWithResponse(ctx, slug, nil, request)).JSON200
	warning := must(scored.Warnings[0].AsNoBinMatchWarning())
	records := []api.BatchRecord{{"id": "a-1", "age": 20, "purpose": "car"}}
	batch := must(server.ScoringScoreBatchWithResponse(ctx, slug, nil, api.ScoreBatchRequest{Records: records})).JSON200
	stored := must(owner.ModelsGetWithResponse(ctx, deployed.ModelId)).JSON200.Spec.Features
	bins := len(must(stored[0].AsNumericFeature()).Bins) + len(must(stored[1].AsCategoricalFeature()).Bins)
	format, dialect, table, columns := api.SQL, api.Postgresql, "applicants", []string{"id", "branch"}
	choice := api.ModelsExportParams{Format: &format, Dialect: &dialect, Table: &table, Key: &columns}
	sql := string(must(owner.ModelsExportWithResponse(ctx, deployed.ModelId, &choice)).Body)
	var total int64
	for i := 0; i < 100 && total < 2; i++ {
		total = int64(must(server.StatsGetWithResponse(ctx, slug, nil)).JSON200.Summary.TotalRequests)
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Printf("score=%v\n", scored.Score)
	fmt.Printf("warning=%s %s\n", warning.Type, warning.Variable)
	fmt.Printf("batch=%v\n", batch.Results[0].Score)
	fmt.Printf("bins=%d\n", bins)
	fmt.Printf("sql=%t\n", strings.Contains(sql, "WITH scoreline_values AS"))
	fmt.Printf("total=%d\n", total)
}
