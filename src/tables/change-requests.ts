import { sql } from 'drizzle-orm'
import { check, index, integer, pgTable, text } from 'drizzle-orm/pg-core'
import { ChangeRequestState } from '../../schemas/change-requests.ts'
import { teamRef } from './auth.ts'
import { idText, jsonText, matchAllowed, moment } from './columns.ts'
import { deploymentRef } from './deployments.ts'

/**
 * Changes of deployments that wait, or waited, for a second person. Written by `src/deployments` in
 * the transaction of the request and of its decision; never deleted.
 */
export const changeRequests = pgTable(
  'change_requests',
  {
    id: idText('id').primaryKey(),
    teamId: teamRef(),
    deploymentId: deploymentRef(),
    /** The order to carry out when it is approved, see `DeploymentOrder`. */
    order: jsonText('change_order').notNull(),
    state: text('state').$type<(typeof ChangeRequestState)['static']>().notNull(),
    /** State of the deployment that the request was made for. */
    cacheVersion: integer('cache_version').notNull(),
    /** The deployment before and after, in the form of the audit log. */
    before: jsonText('before').notNull(),
    after: jsonText('after').notNull(),
    reason: text('reason'),
    /** Id of the user or service account that asked. */
    requestedBy: idText('requested_by').notNull(),
    /** Ids of everybody who could have asked with these credentials; none of them decides. */
    requesters: text('requesters').array().notNull(),
    /** Their addresses, because a member who joins again has another id. */
    requesterEmails: text('requester_emails').array().notNull().default([]),
    createdAt: moment('created_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
    decidedBy: idText('decided_by'),
    decidedAt: moment('decided_at'),
    comment: text('comment'),
    /** `cache_version` that the change led to. */
    appliedVersion: integer('applied_version'),
  },
  (table) => [
    index('change_requests_team').on(table.teamId, table.id),
    index('change_requests_deployment').on(table.deploymentId, table.id),
    index('change_requests_waiting').on(table.expiresAt).where(sql`${table.state} = 'waiting'`),
    check('change_requests_state', matchAllowed(table.state, ChangeRequestState)),
  ],
)
