CREATE TABLE "score_keys" (
	"key_high" bigint NOT NULL,
	"key_low" bigint NOT NULL,
	"body_hash" bigint NOT NULL,
	"request_high" bigint NOT NULL,
	"request_low" bigint NOT NULL,
	"other_id" "bytea"
) PARTITION BY LIST (("request_low" & 3));
--> statement-breakpoint
CREATE TABLE "score_keys_0" PARTITION OF "score_keys" FOR VALUES IN (0);
--> statement-breakpoint
CREATE TABLE "score_keys_1" PARTITION OF "score_keys" FOR VALUES IN (1);
--> statement-breakpoint
CREATE TABLE "score_keys_2" PARTITION OF "score_keys" FOR VALUES IN (2);
--> statement-breakpoint
CREATE INDEX "score_keys_hash" ON "score_keys" USING btree ("key_high");
--> statement-breakpoint
-- A partition has the rows that were written on one UTC day of three. That of tomorrow has those of the day before
-- yesterday. It is emptied an hour or more from midnight: then no row of it is younger than 25 hours,
-- and none is written.
-- Whoever waits for the lock makes all later ones wait: while a backup reads the table, the next call empties it.
CREATE FUNCTION "empty_score_keys"("now" timestamptz) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
	seconds bigint := floor(extract(epoch FROM "now"));
	name text := 'score_keys_' || (seconds / 86400 + 1) % 3;
BEGIN
	IF seconds % 86400 BETWEEN 3600 AND 82800 AND pg_relation_size(name::regclass) > 0 THEN
		EXECUTE format('TRUNCATE %I', name);
	END IF;
EXCEPTION WHEN lock_not_available THEN
	NULL;
END
$$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION "empty_score_keys"(timestamptz) FROM PUBLIC;