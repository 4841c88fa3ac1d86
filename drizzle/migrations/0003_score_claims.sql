CREATE TABLE "score_claim_leases" (
	"process_id" text PRIMARY KEY NOT NULL,
	"mode" text NOT NULL,
	"mark" text NOT NULL,
	"until" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "score_claims" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"place" text DEFAULT replace(gen_random_uuid()::text, '-', '') NOT NULL,
	"mode" text DEFAULT 'slow' NOT NULL,
	"mark" text DEFAULT '' NOT NULL,
	"redis_run" text DEFAULT '' NOT NULL,
	"loader" text DEFAULT '' NOT NULL,
	"slow_until" timestamp (3) with time zone NOT NULL,
	"fast_at" timestamp (3) with time zone,
	CONSTRAINT "score_claims_one" CHECK ("score_claims"."id" = 1),
	CONSTRAINT "score_claims_mode" CHECK ("score_claims"."mode" in ('slow', 'both', 'fast'))
);
--> statement-breakpoint
-- A version before this one may still run beside it if there is a key with which to score.
INSERT INTO "score_claims" ("slow_until")
SELECT CASE WHEN EXISTS (SELECT FROM "api_keys") THEN now() + interval '10 minutes' ELSE now() END;
--> statement-breakpoint
-- A process that takes no part in the agreement, such as one of an earlier version, claims keys in
-- this table alone. Then all others do, and it executes no score whose key the log has.
CREATE FUNCTION "note_outside_claim"() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
	UPDATE "score_claims" SET "mode" = 'slow',
		"fast_at" = CASE WHEN "mode" = 'fast' THEN clock_timestamp() ELSE "fast_at" END,
		"slow_until" = clock_timestamp() + interval '10 minutes'
	WHERE "mode" <> 'slow' OR "slow_until" < clock_timestamp() + interval '9 minutes';
	IF EXISTS (
		SELECT FROM "score_keys"
		WHERE "key_high" = ('x' || encode(substr(NEW."key_hash", 1, 8), 'hex'))::bit(64)::bigint
			AND "key_low" = ('x' || encode(substr(NEW."key_hash", 9, 8), 'hex'))::bit(64)::bigint
	) THEN
		RETURN NULL;
	END IF;
	RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER "idempotency_keys_outside" BEFORE INSERT OR UPDATE OF "claim_id" ON "idempotency_keys"
FOR EACH ROW WHEN (NEW."claim_id" NOT LIKE 'p-%') EXECUTE FUNCTION "note_outside_claim"();
