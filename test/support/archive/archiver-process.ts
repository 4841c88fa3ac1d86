/**
 * A process that works on the archive and kills itself before one of its steps. Its argument is a
 * `KilledOrder`. It prints `done` if it had fewer steps.
 */
import { Archiver } from '../../../src/archive/archiver.ts'
import { DayStore } from '../../../src/archive/day-store.ts'
import { FileWriter } from '../../../src/archive/file-writer.ts'
import { ArchiveLease } from '../../../src/archive/lease.ts'
import { ManifestStore } from '../../../src/archive/manifest-store.ts'
import { FileRewriter } from '../../../src/archive/rewriter.ts'
import { openObjectStore } from '../../../src/platform/object-store/open-object-store.ts'
import { StoredArchiveBytes } from '../../../src/score-log/archive/archive-bytes.ts'
import { ArchivedBlocks } from '../../../src/score-log/archive/archived-blocks.ts'
import { ErasedPlaces } from '../../../src/score-log/erasure/eraser.ts'
import { PostgresModelTextStore } from '../../../src/score-log/reading/model-text-store.ts'
import { openLogReader } from '../../../src/score-log/reading/open-reader.ts'
import { openTestDatabase } from '../start/seeded-database.ts'

export interface KilledOrder {
  readonly databaseUrl: string | null
  readonly dataDir: string
  readonly url: string
  readonly directory: string
  readonly nowMs: number
  /** The step before which the process ends, from 1. */
  readonly killAt: number
  /** Erases this reference; null: moves the days that are due. */
  readonly reference: string | null
}

const order: KilledOrder = JSON.parse(process.argv[2] ?? '')
let steps = 0

/** Counts the calls of a part. */
function stepping<Part extends object>(part: Part): Part {
  return new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        steps++
        if (steps === order.killAt) process.kill(process.pid, 'SIGKILL')
        return member.apply(target, args)
      }
    },
  })
}

const { db } = await openTestDatabase(order)
const objects = stepping(
  await openObjectStore(order.url, { endpoint: null, region: 'us-east-1', usesPathStyle: true }),
)
const lease = new ArchiveLease(db)
const days = stepping(new DayStore(db))
const manifest = stepping(new ManifestStore(db))
const writer = new FileWriter({
  objects,
  manifest,
  models: new PostgresModelTextStore(db),
  directory: order.directory,
  onForeign: (key) => process.stdout.write(`foreign ${key}\n`),
})
const fail = (error: unknown) => process.stdout.write(`failed ${error}\n`)
if (order.reference === null) {
  const archiver = new Archiver({
    lease,
    days,
    manifest,
    writer,
    clock: { epochMs: () => order.nowMs, monotonicMs: () => performance.now() },
    afterMs: 3 * 86_400_000,
    retentionDays: 761,
    log: { archived: () => undefined, failed: fail },
  })
  await archiver.run()
} else {
  const files = new StoredArchiveBytes(objects)
  const blocks = new ArchivedBlocks(db, files)
  const rewriter = new FileRewriter({ lease, days, manifest, writer, blocks })
  const { eraser } = openLogReader({ db, guarded: (one) => one, archive: { files, rewriter } })
  const erasure = { teamId: 'team_1', reference: order.reference, untilMs: order.nowMs }
  await eraser.erase(erasure, new ErasedPlaces()).catch(fail)
}
process.stdout.write('done\n')
process.exit(0)
