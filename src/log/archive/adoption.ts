import { AppError } from '../../errors.ts'
import { auditRecord, OPERATOR } from '../../identity/audit/record.ts'
import type { Clock } from '../../platform/clock.ts'
import { ObjectStoreError } from '../../platform/object-store/object-store.ts'
import { type ArchiveIdentity, ForeignArchiveError } from './identity.ts'
import { type ArchiveLease, ROUND } from './lease.ts'

interface ArchiveAdoptionOptions {
  readonly lease: ArchiveLease
  readonly identity: ArchiveIdentity
  readonly clock: Pick<Clock, 'epochMs'>
}

/** Gives the archive to this database, after it was restored from a backup. */
export class ArchiveAdoption {
  private readonly options: ArchiveAdoptionOptions

  constructor(options: ArchiveAdoptionOptions) {
    this.options = options
  }

  /**
   * Takes the archive from another copy of this database, and records it in the audit log of each
   * team. The other copy can only read it from then on.
   *
   * @param isConfirmed whether the other copy was stopped
   * @returns false, without a change, if this database has the archive already
   * @throws AppError `invalid_request` if it is not confirmed, or the archive is of another
   *   database; `unavailable`
   */
  async adopt(teamIds: readonly string[], isConfirmed: boolean): Promise<boolean> {
    const { lease, identity, clock } = this.options
    try {
      const isAdopted = await lease.hold(ROUND, async (held) => {
        if (!(await identity.isOfCopy())) return false
        if (!isConfirmed) throw new AppError('invalid_request', UNCONFIRMED)
        await identity.adopt(held, (archiveId) =>
          teamIds.map((teamId) => {
            const change = { action: 'log.adopt_archive', subject: archiveId } as const
            return auditRecord({ userId: OPERATOR, teamId }, change, clock.epochMs())
          }),
        )
        return true
      })
      if (isAdopted === null) throw new AppError('unavailable', BUSY)
      return isAdopted
    } catch (error) {
      if (error instanceof ForeignArchiveError) {
        throw new AppError('invalid_request', error.message, { cause: error })
      }
      if (!(error instanceof ObjectStoreError)) throw error
      const message = `the archive can't be read or written: ${error.message}`
      throw new AppError('unavailable', message, { cause: error })
    }
  }
}

const BUSY = 'a process works on the archive at this moment: try again in a minute'
const UNCONFIRMED =
  'another copy of this database has worked on the archive last: stop it, or unset its SCORE_LOG_ARCHIVE, and repeat the command with --others-are-stopped'
