ALTER TABLE "score_archive" ADD COLUMN "owners" json;--> statement-breakpoint
ALTER TABLE "score_archive_files" ADD COLUMN "state_at" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "score_archive_files" ADD COLUMN "cleanings" smallint DEFAULT 0 NOT NULL;