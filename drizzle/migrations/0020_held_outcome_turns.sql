-- Cost: outcomes wait while the indexes are built, some seconds for ten million applicants.
DROP INDEX "held_outcomes_next_try";--> statement-breakpoint
DROP INDEX "outcome_applicants_reference";--> statement-breakpoint
ALTER TABLE "held_outcomes" ADD COLUMN "tried_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "held_outcomes_turn" ON "held_outcomes" USING btree ("team_id","next_try_at");--> statement-breakpoint
CREATE INDEX "held_outcomes_reference" ON "held_outcomes" USING btree ("team_id","reference_hash");--> statement-breakpoint
CREATE INDEX "outcome_applicants_team_reference" ON "outcome_applicants" USING btree ("team_id","reference_hash");