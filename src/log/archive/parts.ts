import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import type { SharedClock } from '../platform/db/database-clock.ts'
import type { ObjectStore } from '../platform/object-store/object-store.ts'
import type { ArchiveBytes } from '../score-log/archive/archive-bytes.ts'
import { ArchivedBlocks } from '../score-log/archive/archived-blocks.ts'
import { PostgresModelTextStore } from '../score-log/reading/model-text-store.ts'
import { ArchiveAdoption } from './adoption.ts'
import { Archiver, type ArchiverLog } from './archiver.ts'
import { CheckStore } from './check-store.ts'
import { ArchiveChecker } from './checker.ts'
import { DayStore } from './day-store.ts'
import { FileWriter } from './file-writer.ts'
import { ArchiveIdentity } from './identity.ts'
import { IdentityStore } from './identity-store.ts'
import { ArchiveLease, PostgresLeaseStore } from './lease.ts'
import { LeftoverStore } from './leftover-store.ts'
import { ManifestStore } from './manifest-store.ts'
import { FileRewriter } from './rewriter.ts'
import { Tidier } from './tidier.ts'

export interface ArchivePartsOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly objects: ObjectStore
  /** Reads the same objects. */
  readonly files: ArchiveBytes
  /** For files that are not in the store yet. */
  readonly directory: string
  readonly clock: Clock
  readonly sharedClock: SharedClock
  readonly afterMs: number
  readonly retentionDays: number
  /** How long the object of a file stays that no reader needs. */
  readonly keepMs: number
  /** How long after a check a file is read again; 0: no file is. */
  readonly checkEveryMs: number
  readonly log: ArchiverLog & {
    /** A round of checks could not go on. */
    uncheckable(error: unknown): void
    /** An object under a name of the archive is of somebody else: it is kept. */
    foreign(key: string): void
    /** The store does not have a file that readers need. */
    missing(key: string): void
  }
}

/** What works on the archive. */
export interface ArchiveParts {
  readonly archiver: Archiver
  readonly checker: ArchiveChecker
  readonly rewriter: FileRewriter
  readonly adoption: ArchiveAdoption
}

/** Wires what works on the archive; nothing is read or written yet. */
export function archiveParts(options: ArchivePartsOptions): ArchiveParts {
  const { db, guarded, objects, files, directory, clock, log } = options
  const lease = new ArchiveLease(guarded(new PostgresLeaseStore(db)), clock)
  const days = guarded(new DayStore(db))
  const manifest = guarded(new ManifestStore(db))
  const leftovers = guarded(new LeftoverStore(db))
  const identity = new ArchiveIdentity({
    objects,
    store: guarded(new IdentityStore(db)),
    manifest,
  })
  const writer = new FileWriter({
    objects,
    manifest,
    leftovers,
    models: guarded(new PostgresModelTextStore(db)),
    directory,
    onForeign: log.foreign,
  })
  const tidier = new Tidier({
    objects,
    lease,
    manifest,
    leftovers,
    keepMs: options.keepMs,
    onForeign: log.foreign,
    onMissing: (key) => {
      files.noteLost(key, 'missing')
      log.missing(key)
    },
  })
  const shared = { lease, identity, days, manifest, leftovers, writer, tidier }
  const { afterMs, retentionDays } = options
  return {
    archiver: new Archiver({
      ...shared,
      sweep: () => objects.sweep(),
      clock,
      sharedClock: options.sharedClock,
      afterMs,
      retentionDays,
      log,
    }),
    checker: new ArchiveChecker({
      objects,
      store: guarded(new CheckStore(db)),
      lease,
      everyMs: options.checkEveryMs,
      onLost: (key, reason) => files.noteLost(key, reason),
      onFailed: log.uncheckable,
    }),
    adoption: new ArchiveAdoption({ lease, identity, clock }),
    rewriter: new FileRewriter({ ...shared, blocks: new ArchivedBlocks(db, files) }),
  }
}
