import { AppError } from '../../errors.ts'
import { auditRecord, type NewAuditRecord, OPERATOR } from '../../identity/audit/record.ts'
import type { Clock } from '../../platform/clock.ts'
import { randomBase62 } from '../../platform/ids.ts'
import {
  bytesSource,
  type ObjectStore,
  ObjectStoreError,
} from '../../platform/object-store/object-store.ts'
import { readObject } from '../../platform/object-store/read-object.ts'
import { IDENTITY_KEY } from './archive-bytes.ts'
import type { IdentityStore, OwnIdentity } from './identity-store.ts'
import { type ArchiveLease, type HeldLease, ROUND } from './lease.ts'

/** `_archive.json`: whose archive a store holds. */
interface FoundIdentity {
  readonly version: number
  readonly archive: string
  /** Token of the round that wrote it. */
  readonly owner: string
  /** Token of the round before it; empty in the first round of all. */
  readonly previous: string
}

/** Version of the file. */
const VERSION = 1

interface ArchiveIdentityOptions {
  readonly objects: ObjectStore
  readonly store: IdentityStore
  readonly manifest: { hasFiles(): Promise<boolean> }
}

/** The store of objects is not the archive of this database. */
export class ForeignArchiveError extends Error {}

/** The archive is that of this database, and a copy of it has worked there last. */
class CopiedArchiveError extends ForeignArchiveError {}

const IDENTITY_BYTES_MAX = 1_024
const TOKEN_CHARS = 16
const TRIES_MAX = 3
const OTHER =
  'SCORE_LOG_ARCHIVE holds the archive of another database: choose another directory or prefix'
const NOT_MOUNTED =
  'SCORE_LOG_ARCHIVE does not hold the archive: is its volume mounted, and its name right?'
const OTHER_VERSION =
  'SCORE_LOG_ARCHIVE holds an archive of another version of Scoreline: start the version that wrote it'
const COPY =
  'another copy of this database works on SCORE_LOG_ARCHIVE, or this one was restored: see "A restored backup" in docs/archive.md'

/**
 * Makes sure that a store of objects is the archive of this database, and of no copy of it.
 *
 * Each round leaves a new token in the store, which the database has noted before. A copy of the
 * database, such as a restored backup, does not know the tokens that came after it. It is refused
 * before it can delete or write a file.
 */
export class ArchiveIdentity {
  private readonly options: ArchiveIdentityOptions

  constructor(options: ArchiveIdentityOptions) {
    this.options = options
  }

  /**
   * To be called before each change that can't be taken back: a volume can go while a round runs.
   *
   * @throws ForeignArchiveError, ObjectStoreError
   */
  async check(): Promise<void> {
    const own = await this.options.store.identity()
    const found = await this.found()
    if (found === null) throw new ForeignArchiveError(NOT_MOUNTED)
    compare(own, found)
  }

  /**
   * Checks the store at the begin of a round, and leaves the next token there. The first round of
   * all makes the store an archive.
   *
   * @throws ForeignArchiveError, ObjectStoreError
   */
  async confirm(lease: HeldLease): Promise<void> {
    const { objects, store, manifest } = this.options
    const own = await store.identity()
    const found = await this.found()
    if (found !== null) compare(own, found)
    else if (await manifest.hasFiles()) throw new ForeignArchiveError(NOT_MOUNTED)
    const owner = randomBase62(TOKEN_CHARS)
    await store.addOwner(lease, own, owner)
    const next: FoundIdentity = {
      version: VERSION,
      archive: own.archiveId,
      owner,
      previous: own.owners.at(-1) ?? '',
    }
    const source = bytesSource(Buffer.from(`${JSON.stringify(next)}\n`))
    lease.check()
    if (found === null) await objects.put(IDENTITY_KEY, source)
    else await objects.replace(IDENTITY_KEY, source)
  }

  /**
   * Tells whether a copy of this database has worked on the archive last.
   *
   * @throws ForeignArchiveError, ObjectStoreError
   */
  async isOfCopy(): Promise<boolean> {
    try {
      await this.check()
      return false
    } catch (error) {
      if (error instanceof CopiedArchiveError) return true
      throw error
    }
  }

  /**
   * Takes the archive from a copy of this database, which is refused from then on.
   *
   * @param makeRecords records for the audit logs, of the id of the archive
   * @throws ForeignArchiveError, ObjectStoreError
   */
  async adopt(
    lease: HeldLease,
    makeRecords: (archiveId: string) => readonly NewAuditRecord[],
  ): Promise<void> {
    const { store } = this.options
    const own = await store.identity()
    const { owner = '' } = (await this.found()) ?? {}
    lease.check()
    await store.addOwner(lease, own, owner, makeRecords(own.archiveId))
    await this.confirm(lease)
    // Twice: whoever knows the token before the last one does not count as a copy, see `compare`.
    await this.confirm(lease)
  }

  private async found(): Promise<FoundIdentity | null> {
    for (let tries = 1; ; tries++) {
      try {
        const bytes = await readObject(this.options.objects, IDENTITY_KEY, IDENTITY_BYTES_MAX)
        return identityIn(bytes.toString())
      } catch (error) {
        if (!(error instanceof ObjectStoreError)) throw error
        if (error.failure === 'missing') return null
        // A round leaves its token at this moment.
        if (error.failure !== 'changed' || tries === TRIES_MAX) throw error
      }
    }
  }
}

/** @throws ForeignArchiveError if it is something else, or of another version */
function identityIn(text: string): FoundIdentity {
  let found: Partial<FoundIdentity> | null = null
  try {
    found = JSON.parse(text)
  } catch {
    // The same as any other text.
  }
  if (typeof found?.archive !== 'string') throw new ForeignArchiveError(OTHER)
  if (found.version !== VERSION) throw new ForeignArchiveError(OTHER_VERSION)
  const { version, archive, owner = '', previous = '' } = found
  return { version, archive, owner, previous }
}

/**
 * A failover can lose the note of the last token: then the one before it is the database's last.
 *
 * @throws ForeignArchiveError
 */
function compare({ archiveId, owners }: OwnIdentity, { archive, owner, previous }: FoundIdentity) {
  if (archive !== archiveId) throw new ForeignArchiveError(OTHER)
  if (owners.includes(owner)) return
  const last = owners.at(-1) ?? ''
  if (last !== previous) throw new CopiedArchiveError(COPY)
}

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
