CREATE TABLE "log_erasures" (
	"number" bigserial PRIMARY KEY NOT NULL,
	"team_id" text collate "C" NOT NULL,
	"reference_hash" text NOT NULL,
	"covers_until" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "log_erasures_reference" UNIQUE("team_id","reference_hash")
);
