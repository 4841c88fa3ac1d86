-- The index on the audit log blocks changes to teams while it is built, about a second for a million
-- records; the new check reads model_baselines once, which has a row for each development sample.
CREATE TABLE "stability_alarms" (
	"deployment_id" text collate "C" PRIMARY KEY NOT NULL,
	"team_id" text collate "C" NOT NULL,
	"is_on" boolean NOT NULL,
	"watch" double precision NOT NULL,
	"act" double precision NOT NULL,
	"n_min" integer NOT NULL,
	"days" integer NOT NULL,
	"verdict" text,
	"n" double precision,
	"psi" double precision,
	"moved" json NOT NULL,
	"evaluated_at" timestamp (3) with time zone,
	"changed_at" timestamp (3) with time zone,
	"due_at" timestamp (3) with time zone NOT NULL,
	"runner" text,
	"leased_until" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "stability_verdicts" (
	"deployment_id" text collate "C" NOT NULL,
	"changed_at" timestamp (3) with time zone NOT NULL,
	"before" text,
	"after" text,
	"n" double precision NOT NULL,
	"psi" double precision,
	"moved" json NOT NULL,
	CONSTRAINT "stability_verdicts_deployment_id_changed_at_pk" PRIMARY KEY("deployment_id","changed_at")
);
--> statement-breakpoint
ALTER TABLE "model_baselines" DROP CONSTRAINT "model_baselines_origin";--> statement-breakpoint
ALTER TABLE "stability_alarms" ADD CONSTRAINT "stability_alarms_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "stability_alarms" ADD CONSTRAINT "stability_alarms_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "stability_verdicts" ADD CONSTRAINT "stability_verdicts_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "stability_alarms_due" ON "stability_alarms" USING btree ("due_at") WHERE "stability_alarms"."is_on";--> statement-breakpoint
CREATE INDEX "audit_log_deployment" ON "audit_log" USING btree ("subject","created_at") WHERE "audit_log"."action" like 'deployment.%';--> statement-breakpoint
ALTER TABLE "model_baselines" ADD CONSTRAINT "model_baselines_origin" CHECK ("model_baselines"."origin" in ('import', 'period', 'counts'));