-- By hand, because drizzle-kit can't say it: the partitioning of "score_log" with its default partition, and
-- the fill factor of "score_rollups". Makes new tables only; locks nothing that is in use.
CREATE TABLE "score_log" (
	"scored_at" timestamp (3) with time zone NOT NULL,
	"request_id" text collate "C" NOT NULL,
	"team_id" text collate "C" NOT NULL,
	"deployment_id" text collate "C" NOT NULL,
	"key_id" text collate "C" NOT NULL,
	"cache_version" integer NOT NULL,
	"bucket" integer,
	"latency_ms" double precision NOT NULL,
	"is_batch" boolean NOT NULL,
	"served_model_id" text collate "C" NOT NULL,
	"served_scores" double precision[] NOT NULL,
	"served_pds" double precision[] NOT NULL,
	"served_grades" json NOT NULL,
	"results" json NOT NULL,
	CONSTRAINT "score_log_identity" PRIMARY KEY("scored_at","request_id")
) PARTITION BY RANGE ("scored_at");
--> statement-breakpoint
-- What has no partition of its own day yet; the service makes those ahead, and moves what is in here.
CREATE TABLE "score_log_default" PARTITION OF "score_log" DEFAULT;
--> statement-breakpoint
CREATE TABLE "score_rollups" (
	"deployment_id" text collate "C" NOT NULL,
	"span" text NOT NULL,
	"starts_at" timestamp (3) with time zone NOT NULL,
	"writer" text collate "C" NOT NULL,
	"request_count" double precision NOT NULL,
	"result_count" double precision NOT NULL,
	"score_avg" double precision NOT NULL,
	"score_min" double precision NOT NULL,
	"score_max" double precision NOT NULL,
	"pd_avg" double precision NOT NULL,
	"latency_avg_ms" double precision NOT NULL,
	"last_request_at" timestamp (3) with time zone NOT NULL,
	"score_buckets" json NOT NULL,
	"latency_buckets" json NOT NULL,
	CONSTRAINT "score_rollups_identity" PRIMARY KEY("deployment_id","span","starts_at","writer"),
	CONSTRAINT "score_rollups_span" CHECK ("score_rollups"."span" in ('minute', 'hour', 'day'))
);
--> statement-breakpoint
CREATE INDEX "score_log_deployment" ON "score_log" USING btree ("deployment_id","scored_at");--> statement-breakpoint
CREATE INDEX "score_rollups_starts_at" ON "score_rollups" USING btree ("starts_at");--> statement-breakpoint
-- A row is written anew with each batch of its minute, hour or day: room for that on its own page.
ALTER TABLE "score_rollups" SET (fillfactor = 60);
