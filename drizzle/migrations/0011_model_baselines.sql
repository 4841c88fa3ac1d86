CREATE TABLE "model_baselines" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"team_id" text collate "C" NOT NULL,
	"model_id" text collate "C" NOT NULL,
	"origin" text NOT NULL,
	"n" double precision NOT NULL,
	"mean_score" double precision,
	"counts" json NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "model_baselines_origin" CHECK ("model_baselines"."origin" in ('period', 'counts'))
);
--> statement-breakpoint
ALTER TABLE "model_baselines" ADD CONSTRAINT "model_baselines_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "model_baselines" ADD CONSTRAINT "model_baselines_model_id_models_id_fk" FOREIGN KEY ("model_id") REFERENCES "public"."models"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "model_baselines_model" ON "model_baselines" USING btree ("model_id","id");