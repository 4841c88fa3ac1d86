-- By hand, because drizzle-kit can't say it: the partitioning of "score_blocks" with its default partition, and how
-- its columns are stored. Makes new tables only; locks nothing that is in use.
CREATE TABLE "score_blocks" (
	"first_at" timestamp (3) with time zone NOT NULL,
	"last_at" timestamp (3) with time zone NOT NULL,
	"id_from" timestamp (3) with time zone NOT NULL,
	"id_to" timestamp (3) with time zone NOT NULL,
	"block_id" bigint NOT NULL,
	"records" integer NOT NULL,
	"applicants" integer NOT NULL,
	"deployments" integer[] NOT NULL,
	"sums" bytea NOT NULL,
	"is_summed" boolean NOT NULL,
	"superseded_at" timestamp (3) with time zone,
	"reference_filter" bytea,
	"codec" smallint NOT NULL,
	"raw_bytes" integer NOT NULL,
	"checksum" bigint NOT NULL,
	"data" bytea NOT NULL,
	CONSTRAINT "score_blocks_identity" PRIMARY KEY("first_at","block_id")
) PARTITION BY RANGE ("first_at");
--> statement-breakpoint
-- The service has compressed it: PostgreSQL must not try again.
ALTER TABLE "score_blocks" ALTER COLUMN "data" SET STORAGE EXTERNAL;--> statement-breakpoint
-- What has no partition of its own day yet; the service makes those ahead, and moves what is in here.
CREATE TABLE "score_blocks_default" PARTITION OF "score_blocks" DEFAULT;--> statement-breakpoint
CREATE TABLE "spool_cursors" (
	"spool_id" text collate "C" PRIMARY KEY NOT NULL,
	"segment" integer NOT NULL,
	"offset" bigint NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "score_blocks_unsummed" ON "score_blocks" USING btree ("first_at") WHERE not "score_blocks"."is_summed";