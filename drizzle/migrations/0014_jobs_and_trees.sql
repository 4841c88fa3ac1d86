CREATE TABLE "jobs" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"team_id" text collate "C" NOT NULL,
	"kind" text NOT NULL,
	"status" text NOT NULL,
	"input" json NOT NULL,
	"result" json,
	"failure" json,
	"progress_done" bigint NOT NULL,
	"progress_total" bigint NOT NULL,
	"runner" text,
	"leased_until" timestamp (3) with time zone,
	"attempts" integer NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "log_tree_nodes" (
	"tree_id" integer NOT NULL,
	"level" smallint NOT NULL,
	"position" bigint NOT NULL,
	"hash" "bytea" NOT NULL,
	"applicants" integer,
	"first_at" timestamp (3) with time zone,
	CONSTRAINT "log_tree_nodes_identity" PRIMARY KEY("tree_id","level","position")
);
--> statement-breakpoint
CREATE TABLE "log_trees" (
	"id" integer GENERATED ALWAYS AS IDENTITY (sequence name "log_trees_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"team_id" text collate "C" PRIMARY KEY NOT NULL,
	"size" bigint NOT NULL,
	"edge" "bytea" NOT NULL,
	CONSTRAINT "log_trees_id_unique" UNIQUE("id")
);
--> statement-breakpoint
ALTER TABLE "score_blocks" ADD COLUMN "sources" "bytea";--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "jobs_open" ON "jobs" USING btree ("team_id") WHERE "jobs"."finished_at" is null;--> statement-breakpoint
CREATE INDEX "jobs_finished" ON "jobs" USING btree ("finished_at");