-- Cost: changes wait while the index of the audit log is built, seconds for millions of records.
ALTER TABLE "change_requests" ADD COLUMN "requester_emails" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "removed_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "audit_log_holders" ON "audit_log" USING btree ("subject") WHERE "audit_log"."action" in ('service_account.create', 'service_account.rotate', 'member.delete');