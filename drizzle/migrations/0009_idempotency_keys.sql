CREATE TABLE "idempotency_keys" (
	"key_hash" "bytea" PRIMARY KEY NOT NULL,
	"body_hash" "bytea" NOT NULL,
	"claim_id" text NOT NULL,
	"claimed_until" timestamp (3) with time zone NOT NULL,
	"changed_at" timestamp (3) with time zone,
	"answer" "bytea",
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
-- Sealed bytes do not compress: PostgreSQL must not try.
ALTER TABLE "idempotency_keys" ALTER COLUMN "answer" SET STORAGE EXTERNAL;--> statement-breakpoint
CREATE INDEX "idempotency_keys_expiry" ON "idempotency_keys" USING btree ("expires_at");