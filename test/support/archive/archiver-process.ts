/**
 * A process that works on the archive and kills itself before one of its steps. Its argument is a
 * `KilledOrder`. It prints `done` if it had fewer steps.
 */

import { StoredArchiveBytes } from '../../../src/log/archive/archive-bytes.ts'
import { archiveParts } from '../../../src/log/archive/parts.ts'
import { ErasedPlaces } from '../../../src/log/erasure/eraser.ts'
import { openLogReader } from '../../../src/log/reading/open-reader.ts'
import { openObjectStore } from '../../../src/platform/object-store/open-object-store.ts'
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
const fail = (error: unknown) => process.stdout.write(`failed ${error}\n`)
const files = new StoredArchiveBytes(objects)
const { archiver, rewriter } = archiveParts({
  db,
  guarded: stepping,
  objects,
  files,
  directory: order.directory,
  clock: { epochMs: () => order.nowMs, monotonicMs: () => performance.now() },
  sharedClock: { nowMs: async () => order.nowMs },
  afterMs: 3 * 86_400_000,
  retentionDays: 761,
  keepMs: 0,
  checkEveryMs: 0,
  log: {
    uncheckable: () => undefined,
    archived: () => undefined,
    failed: fail,
    busy: (day) => process.stdout.write(`busy ${day}\n`),
    foreign: (key) => process.stdout.write(`foreign ${key}\n`),
    missing: (key) => process.stdout.write(`missing ${key}\n`),
  },
})
if (order.reference === null) await archiver.run()
else {
  const { eraser } = openLogReader({ db, guarded: (one) => one, archive: { files, rewriter } })
  const erasure = { teamId: 'team_1', reference: order.reference, untilMs: order.nowMs }
  await eraser.erase(erasure, new ErasedPlaces()).catch(fail)
}
process.stdout.write('done\n')
process.exit(0)
