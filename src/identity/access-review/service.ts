import type { Clock } from '../../platform/clock.ts'
import { csvCell } from '../../platform/csv-cell.ts'
import { type Actor, auditRecord } from '../audit/record.ts'
import type { AccessReviewStore, AccessRow } from './store.ts'

type Column = readonly [name: string, of: (row: AccessRow) => string | null]

const COLUMNS: readonly Column[] = [
  ['kind', ({ kind }) => kind],
  ['id', ({ id }) => id],
  ['name', ({ name }) => name],
  ['role', ({ role }) => role],
  ['scopes', ({ scopes }) => scopes?.join(' ') ?? null],
  ['environment', ({ environment }) => environment],
  ['allowed_addresses', (row) => row.allowedAddresses?.join(' ') ?? null],
  ['created_by', ({ createdBy }) => createdBy],
  ['created_at', ({ createdAt }) => createdAt.toISOString()],
  ['expires_at', ({ expiresAt }) => expiresAt?.toISOString() ?? null],
  ['last_used_at', ({ lastUsedAt }) => lastUsedAt?.toISOString() ?? null],
]
const LINE_END = '\r\n'

/** Lists who and what has access to a team, for a periodic review. */
export class AccessReviewService {
  private readonly store: AccessReviewStore
  private readonly clock: Clock

  constructor(store: AccessReviewStore, clock: Clock) {
    this.store = store
    this.clock = clock
  }

  /** The review as CSV (RFC 4180); it is noted in the audit log. */
  async export(actor: Actor): Promise<string> {
    const rows = await this.store.rows(actor.teamId)
    const change = {
      action: 'access_review.export',
      subject: actor.teamId,
      after: { rows: rows.length },
    } as const
    await this.store.record(auditRecord(actor, change, this.clock.epochMs()))
    const head = COLUMNS.map(([name]) => name).join()
    const lines = rows.map((row) => COLUMNS.map(([, of]) => csvCell(of(row))).join())
    return [head, ...lines].map((line) => line + LINE_END).join('')
  }
}
