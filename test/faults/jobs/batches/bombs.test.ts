import { readdirSync, readFileSync } from 'node:fs'
import { zstdCompressSync } from 'node:zlib'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { AppError } from '../../../../src/errors.ts'
import { HandedBytes } from '../../../../src/jobs/batches/byte-pipe.ts'
import { ScoringProcess } from '../../../../src/jobs/batches/scoring-process.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { BatchCaller } from '../../../support/batches/batches.ts'
import { craftedParquet, dataPage, numberPage } from '../../../support/batches/crafted-parquet.ts'
import { lastBackend } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

const service = TestService.forSuite(lastBackend)
const team = Team.forSuite(service)
let caller: BatchCaller

beforeAll(async () => {
  caller = new BatchCaller(service, team.key)
})

const INCOME = { name: 'income', type: 'DOUBLE', repetition_type: 'OPTIONAL' } as const

/** Eight rows, whose levels say that there are a billion. */
function bombOfLevels(): Buffer {
  const levels = [6, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x08, 1]
  const body = Buffer.concat([Buffer.from(levels), Buffer.alloc(64)])
  return craftedParquet({ element: INCOME, rows: 8, pages: [dataPage(body, { count: 8 })] })
}

// What is compressed can say anything: the library believes it, and asks for memory until it ends.
test('a file that ends its decoder fails its batch with the place, and the service goes on', async () => {
  const { slug } = await team.deploy(numberedSpec(1))
  const bomb = await caller.score(slug, bombOfLevels(), { format: 'parquet' })
  expect(bomb).toMatchObject({ status: 'failed', error: 'invalid_file' })
  expect(bomb.message).toMatch(
    /^the file that was sent, at row group 1, column "income",? (takes more than \d+ MiB of memory|ended the process)/,
  )
  const pages = [numberPage([1, 2])]
  const element = { ...INCOME, repetition_type: 'REQUIRED' as const }
  const good = await caller.score(slug, craftedParquet({ element, rows: 2, pages }), {
    format: 'parquet',
  })
  expect(good).toMatchObject({ status: 'done', counts: { scored: 2, errors: 0 } })
})

interface Scoring {
  readonly format?: 'parquet' | 'csv'
  /** The file can't be read behind them. */
  readonly readableBytes?: number
}

/** Starts to score a file as the service does. */
function scoring(
  file: Buffer,
  memoryBytesMax: number,
  { format = 'parquet', readableBytes = file.length }: Scoring = {},
): ScoringProcess {
  const spec = numberedSpec(1)
  const scorer = new ScoringProcess({
    task: {
      batchId: newId('job_', Date.now()),
      by: 'key_1',
      state: {
        deploymentId: 'dep_1',
        teamId: 'team_1',
        environment: 'production',
        isActive: true,
        shadowMode: false,
        strictMode: false,
        cacheVersion: 1,
        championModelId: 'mod_1',
        baselineId: null,
        challengers: [],
      },
      specs: new Map([['mod_1', { spec, sha256: new Uint8Array(32) }]]),
      options: {
        format,
        results: 'ndjson',
        idField: 'id',
        strictMode: false,
        withContributions: false,
        routingKey: null,
      },
      fileBytes: file.length,
      position: { offset: 0, line: 0 },
      isAtStart: true,
    },
    read: async (from, bytes) => {
      if (from >= readableBytes) throw new AppError('unavailable', 'the store is away')
      return Buffer.from(file.subarray(from, from + bytes))
    },
    fileName: 'the file "a.parquet"',
    memoryBytesMax,
  })
  onTestFinished(() => scorer.close())
  return scorer
}

/** A file of some KiB whose one column takes these bytes. */
function zeros(bytes: number): Buffer {
  const body = zstdCompressSync(Buffer.alloc(bytes))
  const rows = bytes / 8
  return craftedParquet({
    element: { ...INCOME, repetition_type: 'REQUIRED' },
    rows,
    pages: [dataPage(body, { count: rows, plain: bytes })],
    column: { codec: 'ZSTD' },
  })
}

test('a file that takes more memory than it may is refused with the bound', async () => {
  const MIB = 1024 * 1024
  const file = zeros(256 * MIB)
  expect(file.length).toBeLessThan(100_000)
  const scorer = scoring(file, 200 * MIB)
  await expect(scorer.next(newId('req_', 0), 0)).rejects.toMatchObject({
    code: 'invalid_file',
    message: expect.stringMatching(
      /^the file "a.parquet", at row group 1, column "income", takes more than 200 MiB of memory\. Write it anew/,
    ),
  })
})

test('results that the service cannot take over fail their chunk', async () => {
  const scorer = scoring(zeros(8), 1024 ** 3)
  const take = vi.spyOn(HandedBytes.prototype, 'take')
  onTestFinished(() => take.mockRestore())
  take.mockRejectedValueOnce(new RangeError('no memory'))
  await expect(scorer.next(newId('req_', 0), 0)).rejects.toThrow('no memory')
})

test('a chunk that was scored can be encoded again though the next one fails', async () => {
  const MIB = 1024 * 1024
  const line = 'A-1,1\n'
  const file = Buffer.from(`id,income\n${line.repeat((12 * MIB) / line.length)}`)
  const scorer = scoring(file, 1024 ** 3, { format: 'csv', readableBytes: 6 * MIB })
  let last = await scorer.next(newId('req_', 0), 0)
  for (;;) {
    scorer.erase([{ hash: 'another', untilMs: 0 }])
    const next = scorer.next(newId('req_', 0), 0)
    const [outcome, again] = await Promise.allSettled([next, last && scorer.makeBlocks(last)])
    expect(again).toMatchObject({ value: [{ applicants: last?.scored }] })
    if (outcome.status === 'rejected') {
      expect(outcome.reason).toMatchObject({ message: 'the store is away' })
      return
    }
    last = outcome.value
  }
})

test('the process that scores a file has no variables of the service', async () => {
  process.env['SECRET_OF_THE_TEST'] = 'x'
  onTestFinished(() => void delete process.env['SECRET_OF_THE_TEST'])
  const scorer = scoring(zeros(8), 1024 ** 3)
  expect(await scorer.next(newId('req_', 0), 0)).toMatchObject({ scored: 1 })
  expect(readFileSync(`/proc/${scorer['child'].pid}/environ`, 'utf8')).not.toContain('SECRET')
})

// With the lowest priority, or where no other thread wants to run, a file stands still beside any
// other work of the machine.
test.runIf(process.platform === 'linux')(
  'threads that score a file go behind requests',
  async () => {
    const scorer = scoring(zeros(8), 1024 ** 3)
    await scorer.next(newId('req_', 0), 0)
    const tasks = `/proc/${scorer['child'].pid}/task`
    const readFacts = (thread: string) =>
      readFileSync(`${tasks}/${thread}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    // The fields `nice` and `policy` of proc(5); 0 is the usual policy.
    const modes = () =>
      readdirSync(tasks).map((thread) => [16, 38].map((field) => readFacts(thread)[field]).join())
    await expect.poll(() => [...new Set(modes())]).toEqual(['10,0'])
  },
)
