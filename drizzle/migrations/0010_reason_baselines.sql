CREATE TABLE "reason_baselines" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"team_id" text collate "C" NOT NULL,
	"deployment_id" text collate "C" NOT NULL,
	"model_id" text collate "C" NOT NULL,
	"method" text NOT NULL,
	"cutoff" double precision,
	"band_points" double precision,
	"starts_at" timestamp (3) with time zone,
	"ends_at" timestamp (3) with time zone NOT NULL,
	"min_population" integer NOT NULL,
	"n" integer NOT NULL,
	"dedupe" text NOT NULL,
	"means" json NOT NULL,
	"mean_total" double precision NOT NULL,
	"created_by" text collate "C" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "reason_baselines_in_force" (
	"deployment_id" text collate "C" NOT NULL,
	"model_id" text collate "C" NOT NULL,
	"baseline_id" text collate "C" NOT NULL,
	CONSTRAINT "reason_baselines_in_force_deployment_id_model_id_pk" PRIMARY KEY("deployment_id","model_id")
);
--> statement-breakpoint
ALTER TABLE "reason_baselines" ADD CONSTRAINT "reason_baselines_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reason_baselines" ADD CONSTRAINT "reason_baselines_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reason_baselines" ADD CONSTRAINT "reason_baselines_model_id_models_id_fk" FOREIGN KEY ("model_id") REFERENCES "public"."models"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reason_baselines_in_force" ADD CONSTRAINT "reason_baselines_in_force_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reason_baselines_in_force" ADD CONSTRAINT "reason_baselines_in_force_model_id_models_id_fk" FOREIGN KEY ("model_id") REFERENCES "public"."models"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reason_baselines_in_force" ADD CONSTRAINT "reason_baselines_in_force_baseline_id_reason_baselines_id_fk" FOREIGN KEY ("baseline_id") REFERENCES "public"."reason_baselines"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "reason_baselines_deployment" ON "reason_baselines" USING btree ("deployment_id","id");