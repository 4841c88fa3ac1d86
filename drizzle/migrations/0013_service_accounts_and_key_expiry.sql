CREATE TABLE "service_accounts" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"team_id" text collate "C" NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"token_hash" text NOT NULL,
	"token_prefix" text NOT NULL,
	"previous_token_hash" text,
	"previous_until" timestamp (3) with time zone,
	"created_by" text collate "C" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "service_accounts_role" CHECK ("service_accounts"."role" in ('owner', 'admin', 'lead_modeler', 'modeler', 'viewer'))
);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "last_sign_in_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "expires_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "allowed_addresses" text[];--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "previous_key_hash" text;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "previous_until" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "service_accounts" ADD CONSTRAINT "service_accounts_team_id_teams_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."teams"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "service_accounts_hash" ON "service_accounts" USING btree ("token_hash");--> statement-breakpoint
CREATE INDEX "service_accounts_previous_hash" ON "service_accounts" USING btree ("previous_token_hash");--> statement-breakpoint
CREATE INDEX "service_accounts_team" ON "service_accounts" USING btree ("team_id","id");--> statement-breakpoint
CREATE INDEX "api_keys_previous_hash" ON "api_keys" USING btree ("previous_key_hash");