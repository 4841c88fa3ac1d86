import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../../errors.ts'
import type { Deps } from '../../platform/deps.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import type { EventLoopWatch } from '../../platform/event-loop.ts'
import { randomBase62 } from '../../platform/ids.ts'
import {
  bytesSource,
  type ObjectStore,
  ObjectStoreError,
} from '../../platform/object-store/object-store.ts'
import { openObjectStore } from '../../platform/object-store/open-object-store.ts'
import { readObject } from '../../platform/object-store/read-object.ts'
import {
  type ObjectStoreConfig,
  parseObjectLocation,
  readS3Settings,
} from '../../platform/object-store/settings.ts'
import type { ServingStore } from '../../scoring/model-cache.ts'
import type { OpenJobs } from '../open.ts'
import { BATCH_JOB } from './batch.ts'
import { DiskRoom, localDisk } from './disk-room.ts'
import { BatchFiles } from './files.ts'
import { BatchRunner } from './run.ts'
import { BatchService } from './service.ts'
import type { BatchConfig } from './settings.ts'
import { BatchStore } from './store.ts'
import { TeamFolderStore } from './team-folder-store.ts'
import { BatchUpkeep } from './upkeep.ts'
import { Uploads } from './uploads.ts'

interface BatchesOptions {
  readonly jobs: OpenJobs
  readonly config: BatchConfig & ObjectStoreConfig & { readonly spoolKeepMs: number }
  /** The data directory. */
  readonly path: string
  readonly serving: ServingStore
  /** Tells whether requests wait for this process. */
  readonly loop: Pick<EventLoopWatch, 'isLate'>
}

/** Files that are scored, and the work on them. */
export interface OpenBatches {
  readonly service: BatchService
  readonly upkeep: { readonly failures: number }
  /** Readings of stored parts that failed because the part is damaged, by what they are of. */
  readonly damages: Readonly<Record<string, number>>
  /** Ends the work; the jobs must have ended. */
  close(): Promise<void>
}

const RETRY_MS = 10_000

/** Wires batches, and begins to run their jobs as soon as their store answers. */
export function openBatches(
  { db, guarded, clock, log }: Deps,
  options: BatchesOptions,
): OpenBatches {
  const { config, path, serving, jobs } = options
  const { batchRecordsMax: recordsMax, batchTeamBytesMax: teamBytesMax } = config
  const opened = openStore(config, path)
  // Each use reports it.
  opened.catch(() => undefined)
  const room = async () => (await available(opened)).room
  const objects = opened.then((store) => store.objects)
  objects.catch(() => undefined)
  const place = new StorePlace(objects).name
  const files = new BatchFiles(objects, place, (damage) =>
    log.error(damage, 'a stored part of a batch is damaged'),
  )
  const received = new Uploads(join(path, 'uploads'), room)
  const store = guarded(new BatchStore(db))
  const onFailed = (error: unknown, batchId: string | null) =>
    log.warn(
      { ...(batchId !== null && { batchId }), err: errorFacts(error) },
      'files of batches could not be looked after',
    )
  const runner = new BatchRunner({
    store,
    files,
    models: serving,
    clock,
    room,
    recordsMax,
    teamBytesMax,
    isBusy: () => options.loop.isLate,
  })
  const upkeep = new BatchUpkeep({
    store,
    files,
    received,
    place,
    keptMs: config.batchKeptMs,
    // As long as a spool is: a failover can lose the end of the job, which then runs again.
    inputKeptMs: config.spoolKeepMs,
    onFailed,
  })
  let isClosed = false
  let retry: NodeJS.Timeout | undefined
  const begin = async () => {
    try {
      const name = await place()
      if (isClosed) return
      jobs.start({ [BATCH_JOB]: runner.run }, name)
      upkeep.periodic.start()
    } catch (error) {
      upkeep.failures++
      onFailed(error, null)
      if (!isClosed) retry = setTimeout(() => void begin(), RETRY_MS).unref()
    }
  }
  void begin()
  const service = new BatchService({
    store,
    files,
    received,
    room,
    jobs: jobs.service,
    deployments: serving,
    place,
    clock,
    bytesMax: config.batchBytesMax,
    teamBytesMax,
    onAdded: () => jobs.wake(),
  })
  return {
    service,
    upkeep,
    damages: files.damages,
    close: async () => {
      isClosed = true
      clearTimeout(retry)
      await upkeep.periodic.close()
      await files.close()
    },
  }
}

interface OpenStore {
  readonly objects: ObjectStore
  /** Room on the disks of the store, if it is a directory, and of uploads. */
  readonly room: DiskRoom
}

/** The directory by default is made; one that is configured must be there. */
async function openStore(config: BatchesOptions['config'], dataDir: string): Promise<OpenStore> {
  const own = localDisk(dataDir)
  const reserveBytes = config.batchFreeBytesMin
  const location = config.batchStore === null ? null : parseObjectLocation(config.batchStore)
  if (config.batchStore !== null && location?.kind !== 'directory') {
    const objects = await openObjectStore(config.batchStore, readS3Settings(config))
    return { objects, room: new DiskRoom([own], reserveBytes) }
  }
  const directory = join(dataDir, 'batches')
  if (location === null) await mkdir(directory, { recursive: true, mode: 0o700 })
  const root = location?.kind === 'directory' ? location.path : directory
  const objects = new TeamFolderStore(root)
  return { objects, room: new DiskRoom([() => objects.freeBytes(), own], reserveBytes) }
}

async function available<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    throw new AppError('unavailable', 'the store of batches is away, try again later', { cause })
  }
}

const KEY = '_place'
const CHARS = 20

/**
 * The name of a store, which is in the store itself: replicas that share one find the same name,
 * and a job goes only to a replica that has its files.
 *
 * A volume can go away while the process runs, and then another disk is at its path. It does not
 * have the name: whoever is about to write, to remove or to miss something asks for it before.
 */
export class StorePlace {
  private readonly store: Promise<ObjectStore>
  private found = ''

  constructor(store: Promise<ObjectStore>) {
    this.store = store
  }

  /**
   * The name, read each time. The first call gives one to a store that has none.
   *
   * @throws AppError `unavailable`, also if the store is not that of the first call
   */
  readonly name = async (): Promise<string> => {
    try {
      const store = await this.store
      if (this.found === '') this.found = await formatName(store)
      else if ((await readName(store)) !== this.found) {
        const message = 'the store has not the name that it had: its volume is not mounted'
        throw new ObjectStoreError('away', message)
      }
      return this.found
    } catch (cause) {
      throw new AppError('unavailable', 'the store of batches is away, try again later', { cause })
    }
  }
}

async function formatName(store: ObjectStore): Promise<string> {
  if ((await store.head(KEY)) === null) {
    await store.put(KEY, bytesSource(Buffer.from(randomBase62(CHARS)))).catch((error: unknown) => {
      // Another replica was first.
      if (!(error instanceof ObjectStoreError) || error.failure !== 'conflict') throw error
    })
  }
  return readName(store)
}

async function readName(store: ObjectStore): Promise<string> {
  return (await readObject(store, KEY, CHARS)).toString('latin1')
}
