CREATE TABLE "score_archive" (
	"name" text collate "C" PRIMARY KEY NOT NULL,
	"archive_id" text collate "C" NOT NULL,
	"holder" text collate "C",
	"leased_until" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "score_archive_blocks" (
	"first_at" timestamp (3) with time zone NOT NULL,
	"last_at" timestamp (3) with time zone NOT NULL,
	"id_from" timestamp (3) with time zone NOT NULL,
	"id_to" timestamp (3) with time zone NOT NULL,
	"block_id" bigint NOT NULL,
	"records" integer NOT NULL,
	"applicants" integer NOT NULL,
	"deployments" integer[] NOT NULL,
	"reference_filter" "bytea",
	"codec" smallint NOT NULL,
	"raw_bytes" integer NOT NULL,
	"checksum" bigint NOT NULL,
	"file_key" text collate "C" NOT NULL,
	"data_at" bigint NOT NULL,
	"data_bytes" integer NOT NULL,
	"sources_bytes" integer,
	CONSTRAINT "score_archive_blocks_identity" PRIMARY KEY("first_at","block_id")
);
--> statement-breakpoint
CREATE TABLE "score_archive_files" (
	"key" text collate "C" PRIMARY KEY NOT NULL,
	"day" timestamp (3) with time zone NOT NULL,
	"kind" text collate "C" NOT NULL,
	"number" integer NOT NULL,
	"generation" integer NOT NULL,
	"row_count" bigint NOT NULL,
	"records" bigint NOT NULL,
	"applicants" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	"sha256" "bytea" NOT NULL,
	"row_groups" json NOT NULL,
	"state" text collate "C" NOT NULL,
	"is_listed" boolean NOT NULL,
	"archived_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "score_archive_blocks_file" ON "score_archive_blocks" USING btree ("file_key");--> statement-breakpoint
CREATE INDEX "score_archive_files_day" ON "score_archive_files" USING btree ("day");