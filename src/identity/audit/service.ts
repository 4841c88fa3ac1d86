import { AppError } from '../../errors.ts'
import type { Caller } from '../../http/access/caller.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Page, PageRequest } from '../../platform/paging.ts'
import { TeamLimiter } from '../../platform/team-limiter.ts'
import type { AuditLogFilter, AuditLogStore, AuditRecord, PlacedRecord } from './reader.ts'
import { type Actor, auditRecord } from './record.ts'

const PART_RECORDS = 500
/** Exports under way in a process, each of which reads the database. */
const EXPORTS = { teamMax: 2, max: 8 }

/** Reads who changed what, when and why. `insertAuditRecord` writes the records. */
export class AuditLogService {
  private readonly store: Pick<AuditLogStore, keyof AuditLogStore>
  private readonly clock: Clock
  private readonly exports = new TeamLimiter(EXPORTS)

  constructor(store: Pick<AuditLogStore, keyof AuditLogStore>, clock: Clock) {
    this.store = store
    this.clock = clock
  }

  /** The records of a team, newest first. */
  list(teamId: string, filter: AuditLogFilter, page: PageRequest): Promise<Page<AuditRecord>> {
    return this.store.ofTeam(teamId, filter, page)
  }

  /** Addresses of those of the actors who are, or were, members of the team. */
  emails(teamId: string, actors: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.store.emails(teamId, [...new Set(actors)])
  }

  /** Records what leaves no trace elsewhere: an export, or the reading of single applicants. */
  async note(caller: Caller, change: Parameters<typeof auditRecord>[1]): Promise<void> {
    const userId = caller.kind === 'key' ? caller.keyId : caller.userId
    const { teamId } = caller
    await this.store.add(auditRecord({ userId, teamId }, change, this.clock.epochMs()))
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
    const release = this.exports.reserve(teamId, teamExports)
    try {
      let position = after === undefined ? 0 : await this.store.findPosition(teamId, after)
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
      release()
    }
  }
}

function teamExports(): AppError {
  const message = `${EXPORTS.teamMax} exports of the audit log of this team are running: try again when one has ended`
  return new AppError('unavailable', message)
}

function unknownRecord(): AppError {
  const message = 'must be the id of a record of the team'
  return new AppError('invalid_request', `after ${message}`, {
    details: [{ path: 'after', message }],
  })
}
