ALTER TABLE "outcome_imports" ADD COLUMN "seen_at" timestamp (3) with time zone;
--> statement-breakpoint
-- An outcome that can be altered makes no report of last year again. The triggers take no lock beyond that on their tables; those for each row cost a microsecond or so where an applicant changes or leaves, and nothing where outcomes are added.
CREATE FUNCTION "outcomes_refuse_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'outcomes are only added' USING ERRCODE = 'restrict_violation';
END
$$;
--> statement-breakpoint
CREATE FUNCTION "outcomes_keep_row"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT 1 FROM "outcome_applicants" WHERE "id" = OLD."applicant_id") THEN
		RAISE EXCEPTION 'an outcome leaves with its applicant' USING ERRCODE = 'restrict_violation';
	END IF;
	RETURN OLD;
END
$$;
--> statement-breakpoint
CREATE FUNCTION "outcome_applicants_keep_row"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		IF OLD."keep_until" >= now() THEN
			RAISE EXCEPTION 'the applicant is kept until %', OLD."keep_until" USING ERRCODE = 'restrict_violation';
		END IF;
		RETURN OLD;
	END IF;
	IF NEW."keep_until" < OLD."keep_until"
		OR (NEW."reference_hash" IS NOT NULL AND NEW."reference_hash" IS DISTINCT FROM OLD."reference_hash")
		OR (to_jsonb(NEW) - 'keep_until' - 'reference_hash') IS DISTINCT FROM (to_jsonb(OLD) - 'keep_until' - 'reference_hash')
	THEN
		RAISE EXCEPTION 'an applicant with outcomes keeps the scores of the log' USING ERRCODE = 'restrict_violation';
	END IF;
	RETURN NEW;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "outcomes_append_only" BEFORE UPDATE OR TRUNCATE ON "outcomes"
	FOR EACH STATEMENT EXECUTE FUNCTION "outcomes_refuse_change"();
--> statement-breakpoint
CREATE TRIGGER "outcomes_kept" BEFORE DELETE ON "outcomes"
	FOR EACH ROW EXECUTE FUNCTION "outcomes_keep_row"();
--> statement-breakpoint
CREATE TRIGGER "outcome_applicants_append_only" BEFORE TRUNCATE ON "outcome_applicants"
	FOR EACH STATEMENT EXECUTE FUNCTION "outcomes_refuse_change"();
--> statement-breakpoint
CREATE TRIGGER "outcome_applicants_kept" BEFORE UPDATE OR DELETE ON "outcome_applicants"
	FOR EACH ROW EXECUTE FUNCTION "outcome_applicants_keep_row"();
