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
ALTER TABLE "score_blocks" ADD COLUMN "sources" "bytea";