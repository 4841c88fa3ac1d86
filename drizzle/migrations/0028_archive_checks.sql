ALTER TABLE "score_archive_files" ADD COLUMN "checked_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "score_archive_files" ADD COLUMN "fault" text collate "C";