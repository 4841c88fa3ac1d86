import { AppError } from '../errors.ts'
import type { Clock } from '../platform/clock.ts'
import type { Page, PageRequest } from '../platform/paging.ts'
import { Places } from '../platform/places.ts'
import { type Actor, auditRecord, type NewAuditRecord } from './record.ts'

/** A management change from the audit log. */
export type AuditRecord = Omit<NewAuditRecord, 'teamId' | 'action' | 'claim'> & {
  readonly action: string
}

export interface AuditLogFilter {
  /** Id of the changed object; absent means all objects. */
  readonly subject?: string | undefined
}

/** What the service needs from the database. */
export interface AuditLogStore {
  /** A team's records, newest first. */
  ofTeam(teamId: string, filter: AuditLogFilter, page: PageRequest): Promise<Page<AuditRecord>>
  /**
   * The next records of a team after a position, in the order of the changes.
   *
   * @param after a position, 0 for the first
   */
  following(teamId: string, after: number, limit: number): Promise<readonly PlacedRecord[]>
  /** The position of a record of the team; null if it has none with this id. */
  positionOf(teamId: string, recordId: string): Promise<number | null>
  /** Stores the record of an export, and returns its position. */
  add(record: NewAuditRecord): Promise<number>
}

/** A record with its place in the order of the changes. */
export type PlacedRecord = AuditRecord & { readonly position: number }

/** Records in one part of an export. */
const PART_RECORDS = 500
/** Exports under way in a process, each of which reads the database. */
const EXPORTS = { ofOwnerMax: 2, max: 8 }

/** Reads who changed what, when and why. `insertAuditRecord` writes the records. */
export class AuditLogService {
  private readonly store: AuditLogStore
  private readonly clock: Clock
  private readonly exporting = new Places(EXPORTS)

  constructor(store: AuditLogStore, clock: Clock) {
    this.store = store
    this.clock = clock
  }

  /** The records of a team, newest first. */
  list(teamId: string, filter: AuditLogFilter, page: PageRequest): Promise<Page<AuditRecord>> {
    return this.store.ofTeam(teamId, filter, page)
  }

  /**
   * Exports a team's records in the order of the changes, oldest first. The export's own record is
   * stored first and comes last, so the next export continues after it. Memory does not grow.
   *
   * @param after id of the last record that is known; absent: from the first
   * @throws AppError `invalid_request` for an unknown id; `unavailable` while too many
   *   exports of the team, or of all teams, are under way in this process
   */
  async *export(actor: Actor, after: string | undefined): AsyncGenerator<readonly AuditRecord[]> {
    const { teamId } = actor
    const full = this.exporting.take(teamId)
    if (full !== null) throw noPlace(full)
    try {
      let position = after === undefined ? 0 : await this.store.positionOf(teamId, after)
      if (position === null) throw unknownRecord()
      const order = { after: after ?? null }
      const change = { action: 'audit_log.export', subject: teamId, after: order } as const
      const end = await this.store.add(auditRecord(actor, change, this.clock.epochMs()))
      while (position < end) {
        const found: readonly PlacedRecord[] = await this.store.following(
          teamId,
          position,
          PART_RECORDS,
        )
        const part = found.filter((record) => record.position <= end)
        if (part.length === 0) return
        yield part
        position = part.at(-1)?.position ?? end
      }
    } finally {
      this.exporting.leave(teamId)
    }
  }
}

function noPlace(full: 'owner' | 'all'): AppError {
  const message =
    full === 'owner'
      ? `${EXPORTS.ofOwnerMax} exports of the audit log of this team are running: try again when one has ended`
      : 'too many exports of audit logs are running: try again in a minute'
  return new AppError('unavailable', message)
}

function unknownRecord(): AppError {
  const message = 'must be the id of a record of the team'
  return new AppError('invalid_request', `after ${message}`, {
    details: [{ path: 'after', message }],
  })
}
