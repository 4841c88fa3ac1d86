-- Cost: waits for a round of upkeep that runs (a minute at most), then moves the sums of about a minute of blocks.
-- By hand: the lock, taken first so that nothing waits behind this, and the move of the sums that wait, so that none is counted twice or by nobody.
SELECT pg_advisory_xact_lock(hashtextextended('score_blocks', 0));--> statement-breakpoint
CREATE TABLE "idempotency_usage" (
	"team_id" text collate "C" NOT NULL,
	"hour" timestamp (3) with time zone NOT NULL,
	"answers" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	CONSTRAINT "idempotency_usage_identity" PRIMARY KEY("team_id","hour")
);
--> statement-breakpoint
CREATE TABLE "score_sums" (
	"first_at" timestamp (3) with time zone NOT NULL,
	"block_id" bigint NOT NULL,
	"deployments" integer[] NOT NULL,
	"sums" "bytea" NOT NULL,
	CONSTRAINT "score_sums_identity" PRIMARY KEY("first_at","block_id")
);
--> statement-breakpoint
ALTER TABLE "log_trees" ADD COLUMN "facts" "bytea";--> statement-breakpoint
ALTER TABLE "log_trees" ADD COLUMN "facts_size" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "log_trees" ADD COLUMN "untraced_until" timestamp (3) with time zone;--> statement-breakpoint
INSERT INTO "score_sums" ("first_at", "block_id", "deployments", "sums")
	SELECT "first_at", "block_id", "deployments", "sums" FROM "score_blocks" WHERE NOT "is_summed";--> statement-breakpoint
UPDATE "score_blocks" SET "is_summed" = true, "sums" = '' WHERE NOT "is_summed";
