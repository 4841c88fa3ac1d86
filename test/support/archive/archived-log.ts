import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { sql } from 'drizzle-orm'
import { onTestFinished } from 'vitest'
import { type ArchiveBytes, StoredArchiveBytes } from '../../../src/log/archive/archive-bytes.ts'
import { openArchive } from '../../../src/log/archive/open.ts'
import { type ArchiveParts, archiveParts } from '../../../src/log/archive/parts.ts'
import { ScoreLogStore } from '../../../src/log/drain/store.ts'
import { type OpenLogReader, openLogReader } from '../../../src/log/reading/open-reader.ts'
import type { LoggedRequest } from '../../../src/log/record/logged-request.ts'
import { readRecordV4 } from '../../../src/log/record/record-v4.ts'
import { LogTables } from '../../../src/log/retention/partitions.ts'
import type { DatabaseHandle } from '../../../src/platform/db/client.ts'
import type { SharedClock } from '../../../src/platform/db/database-clock.ts'
import type { MetricRegistry } from '../../../src/platform/metrics/registry.ts'
import type { ObjectStore } from '../../../src/platform/object-store/object-store.ts'
import { openObjectStore } from '../../../src/platform/object-store/open-object-store.ts'
import { sampleApplicants, sampleSpec } from '../cards/cards.ts'
import { type PayloadOrder, recordPayload, testModel } from '../score-log/record-payloads.ts'
import { dataRoot } from '../start/data-root.ts'
import type { Backend } from '../start/databases.ts'
import { databaseForTest } from '../start/seeded-database.ts'

export const DAY_MS = 86_400_000
/** A day that was closed long ago. */
export const DAY = Date.parse('2026-10-05T00:00:00Z')
export const NOW = DAY + 10 * DAY_MS
export const CARD = testModel(sampleSpec(), 'mod_1')
export const ALL_DAYS = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
export const SCAN = { teamId: 'team_1', deploymentId: null, ...ALL_DAYS }

const APPLICANTS = sampleApplicants().map(({ applicant }) => applicant)
const SOURCE = { compiled: async () => new Map([['mod_1', CARD.model]]) }

/** A single request, scored so long after the start of the day. */
export function logged(at: number, order: Partial<PayloadOrder> = {}) {
  const applicant = APPLICANTS[at % APPLICANTS.length] ?? {}
  const rows = [{ id: null, results: [CARD.makeResult(applicant)] }]
  const payload = recordPayload({ models: [CARD], rows, scoredAtMs: DAY + at, ...order })
  return readRecordV4(payload)
}

/** A batch, with record ids of each kind. */
export function batch(at: number, ids: readonly (string | number | null)[]) {
  const rows = ids.map((id, index) => ({
    id,
    results: [CARD.makeResult(APPLICANTS[index % APPLICANTS.length] ?? {})],
  }))
  return logged(at, { rows, isBatch: true })
}

export type Logged = ReturnType<typeof logged>
type WithDatabase = Pick<DatabaseHandle, 'db'>

/** Makes the team and the model of these records. */
export async function insertModel({ db }: WithDatabase): Promise<void> {
  await db.execute(sql`insert into teams (id, name, created_at) values ('team_1', 'a team', now())`)
  await db.execute(sql`insert into models (id, team_id, name, version, spec_version, environment,
      status, spec, deployed_by, created_at, updated_at)
    values ('mod_1', 'team_1', 'a card', '1', '1', 'production', 'active',
      ${JSON.stringify(sampleSpec())}::text::json, 'user_1', now(), now())`)
}

/** Stores records as blocks of ten, with the places of their leaves in the tree. */
export async function store({ db }: WithDatabase, records: readonly Logged[]): Promise<void> {
  const blocks = new ScoreLogStore(db, SOURCE)
  for (let at = 0; at < records.length; at += 10) await blocks.append(records.slice(at, at + 10))
}

export function makeDay({ db }: WithDatabase, dayMs: number): Promise<unknown> {
  return new LogTables(db).makePartitions([dayMs])
}

export interface ArchiveRest {
  /** By default the directory. */
  readonly url?: string
  readonly endpoint?: string
  readonly retentionDays?: number
  /** By default none. */
  readonly keepMs?: number
  readonly metrics?: MetricRegistry
  /** Bounds the calls of readers; by default nothing does. */
  readonly guarded?: <Store extends object>(store: Store) => Store
}

/** What a process does otherwise than it should. */
export interface ArchiveFaults extends Pick<ArchiveRest, 'keepMs'> {
  /** Its store of objects. */
  readonly objects?: (objects: ObjectStore) => ObjectStore
  /** Its stores in the database. */
  readonly guarded?: <Store extends object>(store: Store) => Store
}

/** An archive in a directory of its own, on a database with a log. */
export class ArchivedLog {
  /** Where the store of objects is. */
  readonly directory: string
  readonly handle: DatabaseHandle
  private readonly root: string
  nowMs = NOW
  readonly clock = { epochMs: () => this.nowMs, monotonicMs: () => performance.now() }
  sharedClock: SharedClock = { nowMs: async () => this.nowMs }
  readonly lines: { readonly message: string; readonly facts: Record<string, unknown> }[] = []

  /** @param root by default a new one */
  constructor(handle: DatabaseHandle, root = mkdtempSync(join(dataRoot(), 'archive-'))) {
    this.handle = handle
    this.root = root
    this.directory = join(this.root, 'store')
    mkdirSync(this.directory, { recursive: true })
  }

  /** A log for the test that runs, with the model of its records; with records, from `DAY`. */
  static async forTest(backend: Backend, records?: readonly Logged[]): Promise<ArchivedLog> {
    const log = new ArchivedLog(await databaseForTest(backend))
    onTestFinished(() => log.remove())
    await insertModel(log.handle)
    if (records !== undefined) {
      await makeDay(log.handle, DAY)
      await store(log.handle, records)
    }
    return log
  }

  /** As if the archive had got its files a day and an hour earlier. */
  ageFiles(): Promise<unknown> {
    return this.handle.db.execute(
      sql`update score_archive_files set archived_at = archived_at - interval '25 hours'`,
    )
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true })
  }

  open(rest: ArchiveRest = {}) {
    const note = (facts: object, message: string) => {
      this.lines.push({ message, facts: facts as Record<string, unknown> })
    }
    return openArchive(
      {
        scoreLogArchive: rest.url ?? pathToFileURL(this.directory).href,
        scoreLogArchiveAfterMs: 3 * DAY_MS,
        scoreLogArchiveCheckDays: 30,
        scoreLogRetentionDays: rest.retentionDays ?? 761,
        spoolKeepMs: rest.keepMs ?? 0,
        awsEndpointUrl: rest.endpoint ?? null,
        awsRegion: 'us-east-1',
        usesPathStyle: true,
      },
      {
        database: this.handle,
        directory: join(this.root, 'work'),
        clock: this.clock,
        sharedClock: this.sharedClock,
        log: { info: note, warn: note, error: note },
        ...(rest.metrics && { metrics: rest.metrics }),
      },
    )
  }

  /** A process on the same archive that has faults. */
  async faulty({
    objects,
    guarded,
    keepMs,
  }: ArchiveFaults = {}): Promise<ArchiveParts & { readonly files: ArchiveBytes }> {
    const s3 = { endpoint: null, region: 'us-east-1', usesPathStyle: true }
    const opened = await openObjectStore(pathToFileURL(this.directory).href, s3)
    const store = objects?.(opened) ?? opened
    const note = (message: string) => (facts: unknown) => {
      this.lines.push({ message, facts: facts as Record<string, unknown> })
    }
    const files = new StoredArchiveBytes(store)
    const parts = archiveParts({
      db: this.handle.db,
      guarded: guarded ?? ((one) => one),
      objects: store,
      files,
      directory: join(this.root, 'work'),
      clock: this.clock,
      sharedClock: this.sharedClock,
      afterMs: 3 * DAY_MS,
      retentionDays: 761,
      keepMs: keepMs ?? 0,
      checkEveryMs: 30 * DAY_MS,
      log: {
        uncheckable: note('uncheckable'),
        archived: note('archived'),
        failed: note('failed'),
        busy: note('busy'),
        foreign: note('foreign'),
        missing: note('missing'),
      },
    })
    return { ...parts, files }
  }

  /** Time passes for the files of the archive. */
  async age(hours: number): Promise<void> {
    await this.handle.db.execute(sql`update score_archive_files
      set state_at = state_at - ${`${hours} hours`}::interval`)
  }

  /** The leases of processes that stand still run out. */
  async endLeases(): Promise<void> {
    await this.handle.db.execute(
      sql`update score_archive set leased_until = now() - interval '1 second'`,
    )
  }

  /** One round. @returns whether nothing failed */
  async round(rest: ArchiveRest = {}) {
    const archive = await this.open(rest)
    const isDone = await archive.archiver?.run()
    await archive.close()
    return isDone
  }

  /** What readers see, with the archive or without. */
  async reading<T>(
    work: (log: OpenLogReader) => Promise<T>,
    hasArchive = true,
    rest: ArchiveRest = {},
  ): Promise<T> {
    const archive = await this.open(rest)
    const guarded = rest.guarded ?? (<Store extends object>(one: Store) => one)
    try {
      return await work(
        openLogReader({
          db: this.handle.db,
          guarded,
          ...(hasArchive && archive.forReaders),
        }),
      )
    } finally {
      await archive.close()
    }
  }

  /** Names of the files of a day. */
  files(day = '2026-10-05'): string[] {
    try {
      return readdirSync(join(this.directory, `dt=${day}`)).sort()
    } catch {
      return []
    }
  }
}

/** All requests of the log, as readers restore them. */
export async function listRequests({ reader }: OpenLogReader): Promise<LoggedRequest[]> {
  const requests: LoggedRequest[] = []
  for await (const portion of reader.scan(SCAN)) requests.push(...portion)
  return requests
}
