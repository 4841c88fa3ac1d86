import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { AuditExportQuery, AuditLog, AuditLogQuery } from '../../../schemas/auditlog.ts'
import { errorResponses } from '../../../schemas/errors.ts'
import { AppError } from '../../errors.ts'
import { MANAGER_OR_AUDITOR } from '../../http/access/caller.ts'
import { userCaller } from '../../http/access/request-caller.ts'
import { defineRoute } from '../../http/define-route.ts'
import { fileHeaders, sendList } from '../../http/reply.ts'
import { sendChunks } from '../../http/text-stream.ts'
import { csvCell } from '../../platform/csv-cell.ts'
import {
  type ListRequest,
  listPortions,
  type PageReader,
  type PageRequest,
  PORTION_ITEMS,
} from '../../platform/paging.ts'
import type { AuditRecord } from './reader.ts'
import type { AuditLogService } from './service.ts'

export const auditLogRoutes: FastifyPluginAsyncTypebox<{
  readonly auditLog: AuditLogService
}> = async (app, { auditLog }) => {
  app.get(
    '/v1/audit-log',
    defineRoute('audit_log.list', MANAGER_OR_AUDITOR, {
      querystring: AuditLogQuery,
      response: { 200: AuditLog, ...errorResponses(400, 401, 403) },
    }),
    (request, reply) => {
      const { teamId } = userCaller(request)
      const { actor, action, subject, from, to, kind = 'changes', ...wanted } = request.query
      const filter = {
        actor,
        action,
        subject,
        kind,
        fromMs: readMoment('from', from) ?? Number.NEGATIVE_INFINITY,
        toMs: readMoment('to', to) ?? Number.POSITIVE_INFINITY,
      }
      const read = (page: PageRequest) => auditLog.list(teamId, filter, page)
      if (!wantsCsv(request)) {
        return sendList(reply, wanted, {
          read,
          answer: (items) => ({ records: items.map(listedRecord) }),
        })
      }
      return sendChunks(reply, formatCsv(auditLog, teamId, read, wanted), {
        what: 'the audit log',
        headers: fileHeaders(CSV, 'audit-log.csv'),
      })
    },
  )

  app.get(
    '/v1/audit-log/export',
    defineRoute('audit_log.export', MANAGER_OR_AUDITOR, {
      querystring: AuditExportQuery,
      response: { 200: Type.String(), ...errorResponses(400, 401, 403) },
    }),
    (request, reply) => {
      const lines = formatLines(auditLog.export(userCaller(request), request.query.after))
      return sendChunks(reply, lines, {
        what: 'an export',
        headers: fileHeaders('application/x-ndjson; charset=utf-8', 'audit-log.ndjson'),
      })
    },
  )
}

/** @throws AppError `invalid_request` */
function readMoment(name: string, text: string | undefined): number | null {
  const epochMs = text === undefined ? null : Date.parse(text)
  if (!Number.isNaN(epochMs)) return epochMs
  throw new AppError('invalid_request', `${name} is not a moment that a clock shows`)
}

const CSV = 'text/csv; charset=utf-8'
const LINE_END = '\r\n'

function wantsCsv({ headers }: FastifyRequest): boolean {
  return /^\s*text\/csv\b/i.test(headers.accept ?? '')
}

const COLUMNS: readonly (readonly [
  name: string,
  of: (record: AuditRecord, emails: ReadonlyMap<string, string>) => string | null,
])[] = [
  ['id', ({ id }) => id],
  ['created_at', ({ createdAt }) => createdAt.toISOString()],
  ['actor', ({ actor }) => actor],
  ['actor_email', ({ actor }, emails) => emails.get(actor) ?? null],
  ['action', ({ action }) => action],
  ['subject', ({ subject }) => subject],
  ['subject_email', ({ subject }, emails) => emails.get(subject) ?? null],
  ['reason', ({ reason }) => reason],
  ['before', ({ before }) => before && JSON.stringify(before)],
  ['after', ({ after }) => after && JSON.stringify(after)],
]

/** CSV by RFC 4180, with the addresses of people beside their ids: a page, or everything. */
async function* formatCsv(
  auditLog: AuditLogService,
  teamId: string,
  read: PageReader<AuditRecord>,
  { limit, cursor }: ListRequest,
): AsyncGenerator<string> {
  yield COLUMNS.map(([name]) => name).join() + LINE_END
  const first = await read({ limit: limit ?? PORTION_ITEMS, cursor })
  const parts = async function* () {
    yield first.items
    if (limit === undefined && first.nextCursor !== null)
      yield* listPortions(read, first.nextCursor)
  }
  for await (const items of parts()) {
    const ids = items.flatMap(({ actor, subject }) => [actor, subject])
    const emails = await auditLog.emails(teamId, ids)
    const rows = items.map((item) => COLUMNS.map(([, of]) => csvCell(of(item, emails))).join())
    yield rows.map((row) => row + LINE_END).join('')
  }
}

/** NDJSON: one record a line, in the form of the list. */
async function* formatLines(parts: AsyncIterable<readonly AuditRecord[]>): AsyncGenerator<string> {
  for await (const records of parts) {
    yield records.map((record) => `${JSON.stringify(exportedRecord(record))}\n`).join('')
  }
}

function exportedRecord(record: AuditRecord) {
  const { id, actor, action, subject, before, after, reason, createdAt } = record
  return {
    id,
    actor,
    action,
    subject,
    before,
    after,
    reason,
    created_at: createdAt.toISOString(),
  }
}

function listedRecord({ createdAt, ...record }: AuditRecord) {
  return { ...record, created_at: createdAt.toISOString() }
}
