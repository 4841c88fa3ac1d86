import type { SharedClock } from '../../platform/db/database-clock.ts'
import type { Deps } from '../../platform/deps.ts'
import type { ObjectStore } from '../../platform/object-store/object-store.ts'
import { ModelTextStore } from '../reading/model-text-store.ts'
import type { ArchiveBytes } from './archive-bytes.ts'
import { ArchivedBlocks } from './archived-blocks.ts'
import { Archiver, type ArchiverLog } from './archiver.ts'
import { CheckStore } from './check-store.ts'
import { ArchiveChecker } from './checker.ts'
import { DayStore } from './day-store.ts'
import { FileWriter } from './file-writer.ts'
import { ArchiveAdoption, ArchiveIdentity } from './identity.ts'
import { IdentityStore } from './identity-store.ts'
import { ArchiveLease, LeaseStore } from './lease.ts'
import { LeftoverStore } from './leftover-store.ts'
import { ManifestStore } from './manifest-store.ts'
import { FileRewriter } from './rewriter.ts'
import { Tidier } from './tidier.ts'

export interface ArchivePartsOptions extends Pick<Deps, 'db' | 'guarded' | 'clock'> {
  readonly objects: ObjectStore
  /** Reads the same objects. */
  readonly files: ArchiveBytes
  /** For files that are not in the store yet. */
  readonly directory: string
  readonly sharedClock: SharedClock
  readonly afterMs: number
  readonly retentionDays: number
  /** Time for which the object of a file stays that no reader needs. */
  readonly keepMs: number
  /** Time after a check at which a file is read again; 0: no file is. */
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

export interface ArchiveParts {
  readonly archiver: Archiver
  readonly checker: ArchiveChecker
  readonly rewriter: FileRewriter
  readonly adoption: ArchiveAdoption
}

/** Wires what works on the archive; nothing is read or written yet. */
export function archiveParts(options: ArchivePartsOptions): ArchiveParts {
  const { db, guarded, objects, files, directory, clock, log } = options
  const lease = new ArchiveLease(guarded(new LeaseStore(db)), clock)
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
    models: guarded(new ModelTextStore(db)),
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
