CREATE TABLE "batches" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"team_id" text collate "C" NOT NULL,
	"created_by" text collate "C" NOT NULL,
	"deployment_id" text collate "C" NOT NULL,
	"environment" text NOT NULL,
	"state" json NOT NULL,
	"options" json NOT NULL,
	"input_key" text NOT NULL,
	"input_bytes" bigint NOT NULL,
	"input_version" text NOT NULL,
	"is_upload" boolean NOT NULL,
	"is_input_removed" boolean DEFAULT false NOT NULL,
	"folder" text NOT NULL,
	"place" text NOT NULL,
	"offset" bigint DEFAULT 0 NOT NULL,
	"lines" bigint DEFAULT 0 NOT NULL,
	"chunks" integer DEFAULT 0 NOT NULL,
	"scored" bigint DEFAULT 0 NOT NULL,
	"errors" bigint DEFAULT 0 NOT NULL,
	"warned" bigint DEFAULT 0 NOT NULL,
	"error_chunks" integer[] DEFAULT '{}' NOT NULL,
	"result_bytes" bigint DEFAULT 0 NOT NULL,
	"unknown_columns" json DEFAULT '[]'::json NOT NULL,
	"request_id" text,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "place" text;--> statement-breakpoint
ALTER TABLE "batches" ADD CONSTRAINT "batches_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "batches_team" ON "batches" USING btree ("team_id","id");