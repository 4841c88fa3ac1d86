import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ImportSampleChecker } from '../cards/import/spec-check.ts'
import { ImportThread } from '../cards/import/thread.ts'
import type { Config } from '../config.ts'
import { Passwords } from '../identity/auth/passwords.ts'
import { KeyService } from '../identity/keys/service.ts'
import { KeyStore } from '../identity/keys/store.ts'
import { MemberStore } from '../identity/teams/member-store.ts'
import { MemberService } from '../identity/teams/members.ts'
import { TeamStore } from '../identity/teams/team-store.ts'
import { TeamService } from '../identity/teams/teams.ts'
import { JobStore } from '../jobs/store.ts'
import {
  type ArchiveAdoption,
  type BlockReader,
  CheckpointSigner,
  type LogReader,
  type ModelSource,
} from '../log/index.ts'
import {
  BlockIndexReader,
  LogErasureService,
  LogExportService,
  openArchive,
  openLogReader,
  ReadingStore,
  ScoreLogStore,
  TreeStore,
} from '../log/tools.ts'
import { OutcomeStore } from '../outcomes/store.ts'
import { InvalidatedCaches } from '../platform/caches/invalidation.ts'
import { openFeed } from '../platform/caches/redis-invalidation.ts'
import { type Clock, systemClock } from '../platform/clock.ts'
import { openDataDir } from '../platform/data-dir/data-dir.ts'
import { DATABASE_DEADLINE_MS, guardStore } from '../platform/db/guard.ts'
import { openDatabase } from '../platform/db/open.ts'
import { createLog } from '../platform/log.ts'
import { openRedisSite } from '../platform/redis-cluster/site.ts'
import { ModelService } from '../registry/models/service.ts'
import { ModelStore } from '../registry/models/store.ts'

/** The services that the operator's command line works on. */
export interface CliServices {
  readonly teams: TeamService
  readonly members: MemberService
  readonly keys: KeyService
  readonly models: ModelService
  readonly logErasures: LogErasureService
  readonly logExports: LogExportService
  readonly reading: ReadingStore
  /** Takes records that were set aside. */
  readonly scoreLog: Pick<ScoreLogStore, 'append'>
  readonly logReader: Pick<LogReader, 'find'>
  /** Null without an archive of the log. */
  readonly archiveAdoption: ArchiveAdoption | null
  /** Parts that the verification of the log reads. */
  readonly verification: {
    readonly blocks: BlockReader
    readonly index: BlockIndexReader
    readonly models: ModelSource
    readonly trees: TreeStore
    readonly signer: CheckpointSigner
    readonly clock: Clock
    readonly retentionDays: number
  }
  close(): Promise<void>
}

/**
 * Opens the services for the operator's command line. Over PostgreSQL the data directory stays
 * closed, because the service can run on it, and no table is made: that would be a rollout. Only
 * one process at a time can open the embedded database: the service or a command.
 *
 * @throws LaterVersionError if a later version wrote to it
 * @throws DataDirInUseError if another process has the embedded database open
 */
export async function createCliServices(
  config: Config,
  onCrash: (error: Error) => void,
): Promise<CliServices> {
  await using opened = new AsyncDisposableStack()
  const { databaseUrl: url, acceptLaterVersion: acceptedVersion } = config
  const dataDir = url === null ? await openDataDir(config.dataDir, acceptedVersion) : null
  opened.defer(() => dataDir?.close())
  const directory = join(dataDir?.path ?? config.dataDir, 'postgres')
  const database = await openDatabase({ url, directory, acceptedVersion, migrates: false, onCrash })
  opened.defer(() => database.close())
  const { db, renew } = database
  const guarded = <Store extends object>(store: Store) =>
    guardStore(store, { deadlineMs: DATABASE_DEADLINE_MS, renew })
  const clock = systemClock
  const passwords = new Passwords()
  // Running services drop what they cache of a change. This process caches nothing for later.
  const redis = openRedisSite(config.redisUrl)
  opened.defer(() => redis?.close())
  const changes = openFeed({
    redis,
    listener: new InvalidatedCaches(),
    // Only the report of the command is printed.
    log: createLog('silent'),
  })
  opened.defer(() => changes.close())
  // The command line manages every member, that of BREAK_GLASS_EMAIL included.
  const store = guarded(new MemberStore(db))
  const members = { store, passwords, clock, breakGlassEmail: null }
  const keyStore = guarded(new KeyStore(db))
  const reading = guarded(new ReadingStore(db))
  // For files that an erasure writes anew. It is made when there is one: nobody can make it before,
  // because nobody can guess its name.
  const scratch = join(tmpdir(), `scoreline-archive-${randomBytes(16).toString('hex')}`)
  opened.defer(() => rm(scratch, { recursive: true, force: true }))
  const archive = await openArchive(config, {
    database,
    directory: scratch,
    clock,
    // Only the report of the command is printed.
    log: createLog('silent'),
  })
  opened.defer(() => archive.close())
  const log = openLogReader({ db, guarded, ...archive.forReaders })
  const ending = opened.move()
  return {
    teams: new TeamService({ store: guarded(new TeamStore(db)), passwords, clock }),
    members: new MemberService({
      ...members,
      onChange: (userId) => changes.publish('user', userId),
    }),
    keys: new KeyService({
      store: keyStore,
      clock,
      ttlMs: config.specCacheTtlMs,
      onChange: (keyHash) => changes.publish('key', keyHash),
    }),
    models: new ModelService({
      store: guarded(new ModelStore(db)),
      samples: new ImportSampleChecker(new ImportThread(), guarded(new JobStore(db))),
      clock,
      onChange: (deploymentId) => changes.publish('deployment', deploymentId),
    }),
    logErasures: new LogErasureService({
      eraser: log.eraser,
      store: reading,
      clock,
      others: guarded(new OutcomeStore(db)),
    }),
    logExports: new LogExportService({ ...log, models: log.cells, store: reading, clock }),
    reading,
    scoreLog: guarded(new ScoreLogStore(db, log.cells)),
    logReader: log.reader,
    archiveAdoption: archive.adoption,
    verification: {
      blocks: log.blocks,
      index: guarded(new BlockIndexReader(db)),
      models: log.cells,
      trees: guarded(new TreeStore(db)),
      signer: new CheckpointSigner(
        config.jwtSecret ?? dataDir?.secret('jwt-secret', 48) ?? '',
        config.formerJwtSecret,
      ),
      clock,
      retentionDays: config.scoreLogRetentionDays,
    },
    close: () => ending.disposeAsync(),
  }
}
