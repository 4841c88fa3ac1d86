import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../schemas/errors.ts'
import {
  OUTCOMES_MAX,
  OutcomeDefinitionBody,
  OutcomeDefinitionId,
  OutcomeDefinition as OutcomeDefinitionSchema,
  OutcomeDefinitionsQuery,
  OutcomeDefinitions as OutcomeDefinitionsSchema,
  OutcomeResults,
  OutcomesBody,
} from '../../schemas/outcomes.ts'
import { AppError } from '../errors.ts'
import {
  type Caller,
  DEPLOYERS,
  MEMBER_OR_READING_KEY,
  OUTCOME_SENDERS,
} from '../http/access/caller.ts'
import { provenCaller, userCaller } from '../http/access/request-caller.ts'
import { defineRoute, readBodyLimit } from '../http/define-route.ts'
import type { AuditLogService } from '../identity/audit/service.ts'
import type { OutcomeDefinitions } from './definitions.ts'
import type { OutcomeSender } from './fact-writer.ts'
import { countStatuses } from './item.ts'
import type { OutcomeDefinition, OutcomeResult, OutcomeService } from './service.ts'
import type { OutcomeWorker } from './worker.ts'

interface OutcomeRouteOptions {
  readonly outcomes: OutcomeService
  readonly outcomeDefinitions: OutcomeDefinitions
  readonly outcomeWorker: Pick<OutcomeWorker, 'wake'>
  readonly auditLog: Pick<AuditLogService, 'note'>
}

const BODY_BYTES_MAX = 64 * 1024

export const outcomeRoutes: FastifyPluginAsyncTypebox<OutcomeRouteOptions> = async (
  app,
  { outcomes, outcomeDefinitions, outcomeWorker, auditLog },
) => {
  app.put(
    '/v1/outcome-definitions/:id',
    defineRoute('outcome_definitions.put', DEPLOYERS, {
      bodyLimit: readBodyLimit(app, BODY_BYTES_MAX),
      params: Type.Object({ id: OutcomeDefinitionId }),
      body: OutcomeDefinitionBody,
      response: {
        200: OutcomeDefinitionSchema,
        ...errorResponses(400, 401, 403, 409, 413, 415),
      },
    }),
    async (request) => {
      const { label, window_months, bad_rule_text, maturity_months } = request.body
      const stored = await outcomeDefinitions.put(userCaller(request), {
        id: request.params.id,
        label,
        windowMonths: window_months,
        badRuleText: bad_rule_text,
        maturityMonths: maturity_months,
      })
      return definitionFields(stored)
    },
  )

  app.get(
    '/v1/outcome-definitions',
    defineRoute('outcome_definitions.list', MEMBER_OR_READING_KEY, {
      querystring: OutcomeDefinitionsQuery,
      response: { 200: OutcomeDefinitionsSchema, ...errorResponses(400, 401) },
    }),
    async (request) => {
      const found = await outcomeDefinitions.list(provenCaller(request).teamId)
      return { outcome_definitions: found.map(definitionFields) }
    },
  )

  app.post(
    '/v1/outcomes',
    defineRoute('outcomes.send', OUTCOME_SENDERS, {
      body: OutcomesBody,
      response: { 200: OutcomeResults, ...errorResponses(400, 401, 403, 413, 415) },
    }),
    async (request) => {
      const { outcomes: items } = request.body
      if (items.length > OUTCOMES_MAX) {
        const message = `the request has ${items.length} outcomes, above ${OUTCOMES_MAX}: send them in parts, or as a file`
        throw new AppError('batch_too_large', message)
      }
      const caller = provenCaller(request)
      const results = await outcomes.take(makeSender(caller), items)
      const counts = countStatuses(results)
      const change = { action: 'outcomes.send', subject: caller.teamId, after: { counts } } as const
      await auditLog.note(caller, change)
      if (counts.unmatched > 0) outcomeWorker.wake()
      return { results: results.map(resultFields), counts }
    },
  )
}

/** Whose outcomes a caller may send. */
export function makeSender(caller: Caller): OutcomeSender {
  return caller.kind === 'key'
    ? { teamId: caller.teamId, environment: caller.environment, by: caller.keyId }
    : { teamId: caller.teamId, environment: null, by: caller.userId }
}

function definitionFields(definition: OutcomeDefinition) {
  return {
    id: definition.id,
    label: definition.label,
    window_months: definition.windowMonths,
    bad_rule_text: definition.badRuleText,
    maturity_months: definition.maturityMonths,
  }
}

function resultFields({ status, applicant, matchedOf, message }: OutcomeResult, index: number) {
  return {
    index,
    status,
    ...(applicant !== null && { applicant: formatNames(applicant) }),
    ...(matchedOf !== null && { matched_of: matchedOf }),
    ...(message !== null && { message }),
  }
}

function formatNames({ requestId, recordIndex }: NonNullable<OutcomeResult['applicant']>) {
  return { request_id: requestId, record_index: recordIndex }
}
