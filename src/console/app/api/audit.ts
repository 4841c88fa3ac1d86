import type { operations } from '../../../../clients/typescript/src/openapi.ts'
import { api, readData } from './client.ts'
import type { Schemas } from './types.ts'

type Query = NonNullable<operations['audit_log.list']['parameters']['query']>

/** Records of the audit log, newest first; the same path gives CSV to whoever asks for that. */
export async function readRecords(query: Query, signal: AbortSignal): Promise<Schemas['AuditLog']> {
  const answer = await readData(api.GET('/v1/audit-log', { params: { query }, signal }))
  return answer as Schemas['AuditLog']
}
