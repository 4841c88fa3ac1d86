import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ArchiveAdoption } from '../archive/adoption.ts'
import { openArchive } from '../archive/open.ts'
import { Passwords } from '../auth/passwords.ts'
import type { Config } from '../config.ts'
import { ImportSampleChecker } from '../import/spec-check.ts'
import { ImportThread } from '../import/thread.ts'
import { KeyService } from '../keys/service.ts'
import { PostgresKeyStore } from '../keys/store.ts'
import { ModelService } from '../models/service.ts'
import { PostgresModelStore } from '../models/store.ts'
import { PostgresOutcomeStore } from '../outcomes/store.ts'
import { InvalidatedCaches } from '../platform/caches/invalidation.ts'
import { openFeed } from '../platform/caches/open-invalidation.ts'
import { type Clock, systemClock } from '../platform/clock.ts'
import { openDataDir } from '../platform/data-dir/data-dir.ts'
import { DATABASE_DEADLINE_MS, guardStore } from '../platform/db/guard.ts'
import { openDatabase } from '../platform/db/open.ts'
import { createLog } from '../platform/log.ts'
import { openRedisSite } from '../platform/redis-cluster/site.ts'
import { LogErasureService } from '../reading/erasure/service.ts'
import { LogExportService } from '../reading/export/service.ts'
import type { ReadingStore } from '../reading/service.ts'
import { PostgresReadingStore } from '../reading/store.ts'
import { type BlockIndexReader, PostgresBlockIndex } from '../score-log/blocks/block-index.ts'
import type { BlockReader } from '../score-log/blocks/block-store.ts'
import { CheckpointSigner } from '../score-log/proof/checkpoint.ts'
import type { TreeStore } from '../score-log/proof/log-tree.ts'
import { PostgresTreeStore } from '../score-log/proof/tree-store.ts'
import { openLogReader } from '../score-log/reading/open-reader.ts'
import type { ModelSource } from '../score-log/record/model-source.ts'
import { PostgresMemberStore } from '../teams/member-store.ts'
import { MemberService } from '../teams/members.ts'
import { PostgresTeamStore } from '../teams/team-store.ts'
import { TeamService } from '../teams/teams.ts'

/** The services that the operator's command line works on. */
export interface CliServices {
  readonly teams: TeamService
  readonly members: MemberService
  readonly keys: KeyService
  readonly models: ModelService
  readonly logErasures: LogErasureService
  readonly logExports: LogExportService
  readonly reading: ReadingStore
  /** Null without an archive of the log. */
  readonly archiveAdoption: ArchiveAdoption | null
  /** What the verification of the log reads. */
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
 * closed, because the service can run on it. Only one process at a time can open the embedded
 * database: the service or a command.
 *
 * @throws DataDirInUseError if another process has the embedded database open
 */
export async function createCliServices(
  config: Config,
  onCrash: (error: Error) => void,
): Promise<CliServices> {
  await using opened = new AsyncDisposableStack()
  const dataDir = config.databaseUrl === null ? await openDataDir(config.dataDir) : null
  opened.defer(() => dataDir?.close())
  const directory = join(dataDir?.path ?? config.dataDir, 'postgres')
  const database = await openDatabase({ url: config.databaseUrl, directory, onCrash })
  opened.defer(() => database.close())
  const { db, renew } = database
  const guarded = <Store extends object>(store: Store) =>
    guardStore(store, { deadlineMs: DATABASE_DEADLINE_MS, onOverdue: renew })
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
  const members = { store: guarded(new PostgresMemberStore(db)), passwords, clock }
  const keyStore = guarded(new PostgresKeyStore(db))
  const reading = guarded(new PostgresReadingStore(db))
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
    factsOf: () => ({}),
  })
  opened.defer(() => archive.close())
  const log = openLogReader({ db, guarded, ...archive.forReaders })
  const ending = opened.move()
  return {
    teams: new TeamService({ store: guarded(new PostgresTeamStore(db)), passwords, clock }),
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
      store: guarded(new PostgresModelStore(db)),
      samples: new ImportSampleChecker(new ImportThread()),
      clock,
      onChange: (deploymentId) => changes.publish('deployment', deploymentId),
    }),
    logErasures: new LogErasureService({
      eraser: log.eraser,
      store: reading,
      clock,
      others: guarded(new PostgresOutcomeStore(db)),
    }),
    logExports: new LogExportService({ ...log, store: reading, clock }),
    reading,
    archiveAdoption: archive.adoption,
    verification: {
      blocks: log.blocks,
      index: guarded(new PostgresBlockIndex(db)),
      models: log.models,
      trees: guarded(new PostgresTreeStore(db)),
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
