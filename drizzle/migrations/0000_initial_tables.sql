CREATE TABLE "audit_log" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"team_id" text collate "C" NOT NULL,
	"actor" text NOT NULL,
	"action" text NOT NULL,
	"subject" text NOT NULL,
	"before" json,
	"after" json,
	"reason" text,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "refresh_tokens" (
	"token_hash" text PRIMARY KEY NOT NULL,
	"user_id" text collate "C" NOT NULL,
	"family_id" text collate "C" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	"successor_hash" text
);
--> statement-breakpoint
CREATE TABLE "teams" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"team_id" text collate "C" NOT NULL,
	"email" text NOT NULL,
	"password_hash" text NOT NULL,
	"role" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "users_role" CHECK ("users"."role" in ('owner', 'admin', 'lead_modeler', 'modeler', 'viewer'))
);
--> statement-breakpoint
CREATE TABLE "challengers" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"deployment_id" text collate "C" NOT NULL,
	"model_id" text collate "C" NOT NULL,
	"traffic_pct" double precision NOT NULL,
	"is_active" boolean NOT NULL,
	"added_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "challengers_traffic_pct" CHECK ("challengers"."traffic_pct" >= 0 and "challengers"."traffic_pct" <= 100)
);
--> statement-breakpoint
CREATE TABLE "deployments" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"team_id" text collate "C" NOT NULL,
	"name" text NOT NULL,
	"environment" text NOT NULL,
	"is_active" boolean NOT NULL,
	"champion_model_id" text collate "C" NOT NULL,
	"previous_champion_model_id" text collate "C",
	"shadow_mode" boolean NOT NULL,
	"cache_version" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "deployments_environment" CHECK ("deployments"."environment" in ('production', 'staging'))
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"team_id" text collate "C" NOT NULL,
	"name" text NOT NULL,
	"key_hash" text NOT NULL,
	"key_prefix" text NOT NULL,
	"scopes" text[] NOT NULL,
	"environment" text,
	"rate_limit_per_minute" integer,
	"created_by" text collate "C" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "api_keys_environment" CHECK ("api_keys"."environment" in ('production', 'staging'))
);
--> statement-breakpoint
CREATE TABLE "models" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"team_id" text collate "C" NOT NULL,
	"name" text NOT NULL,
	"version" text NOT NULL,
	"spec_version" text NOT NULL,
	"environment" text NOT NULL,
	"status" text NOT NULL,
	"description" text,
	"spec" json NOT NULL,
	"deployed_by" text collate "C" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "models_environment" CHECK ("models"."environment" in ('production', 'staging')),
	CONSTRAINT "models_status" CHECK ("models"."status" in ('active', 'archived'))
);
--> statement-breakpoint
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "refresh_tokens" ADD CONSTRAINT "refresh_tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "challengers" ADD CONSTRAINT "challengers_deployment_id_deployments_id_fk" FOREIGN KEY ("deployment_id") REFERENCES "public"."deployments"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "challengers" ADD CONSTRAINT "challengers_model_id_models_id_fk" FOREIGN KEY ("model_id") REFERENCES "public"."models"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_champion_model_id_models_id_fk" FOREIGN KEY ("champion_model_id") REFERENCES "public"."models"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_previous_champion_model_id_models_id_fk" FOREIGN KEY ("previous_champion_model_id") REFERENCES "public"."models"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "models" ADD CONSTRAINT "models_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_log_team" ON "audit_log" USING btree ("team_id","id");--> statement-breakpoint
CREATE INDEX "refresh_tokens_user" ON "refresh_tokens" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "refresh_tokens_family" ON "refresh_tokens" USING btree ("family_id");--> statement-breakpoint
CREATE INDEX "refresh_tokens_expiry" ON "refresh_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "users_email" ON "users" USING btree ("email");--> statement-breakpoint
CREATE INDEX "users_team" ON "users" USING btree ("team_id");--> statement-breakpoint
CREATE INDEX "challengers_deployment" ON "challengers" USING btree ("deployment_id");--> statement-breakpoint
CREATE INDEX "challengers_model" ON "challengers" USING btree ("model_id");--> statement-breakpoint
CREATE UNIQUE INDEX "challengers_active_model" ON "challengers" USING btree ("deployment_id","model_id") WHERE "challengers"."is_active";--> statement-breakpoint
CREATE INDEX "deployments_team" ON "deployments" USING btree ("team_id","id");--> statement-breakpoint
CREATE INDEX "deployments_champion" ON "deployments" USING btree ("champion_model_id");--> statement-breakpoint
CREATE UNIQUE INDEX "api_keys_hash" ON "api_keys" USING btree ("key_hash");--> statement-breakpoint
CREATE INDEX "api_keys_team" ON "api_keys" USING btree ("team_id","id");--> statement-breakpoint
CREATE INDEX "models_team" ON "models" USING btree ("team_id","id");--> statement-breakpoint
CREATE INDEX "models_version" ON "models" USING btree ("team_id","name","version");