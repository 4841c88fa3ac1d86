ALTER TABLE "score_archive_blocks" ADD COLUMN "counts" "bytea";--> statement-breakpoint
ALTER TABLE "score_blocks" ADD COLUMN "counts" "bytea";