import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { BatchStore } from '../../../src/jobs/batches/store.ts'
import { BatchCaller, type ShownBatch } from '../../support/batches/batches.ts'
import { findTeam } from '../../support/batches/example.ts'
import { hasPostgres, postgres } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

const FILE = ['{"id":"A-1","income":1}', '{"id":"A-2","income":-1}', '{"id":"A-3","income":true}']
  .map((line) => `${line}\n`)
  .join('')
/** Applicants of more than one part, in a file of some MiB. */
const MANY = 300_000
const PORTION_BYTES = 1024 * 1024

/** Flips a bit in the middle of a file. */
function flip(path: string, at?: number): void {
  const bytes = readFileSync(path)
  const place = at ?? bytes.length >> 1
  bytes.writeUInt8(bytes.readUInt8(place) ^ 1, place)
  writeFileSync(path, bytes)
}

/** Takes the last byte off a file. */
function cut(path: string): void {
  truncateSync(path, readFileSync(path).length - 1)
}

const DAMAGES = { flip, cut }

// A flipped bit in a file is another applicant's value, or another score, that looks like any.
describe.skipIf(!hasPostgres)('a damaged file of a batch', () => {
  const service = TestService.forSuite(postgres)
  const team = Team.forSuite(service)
  let caller: BatchCaller
  let slug: string
  let root: string

  beforeAll(async () => {
    caller = new BatchCaller(service, team.owner)
    slug = (await team.deploy(numberedSpec(1))).slug
    root = join(service.config.dataDir, 'batches', findTeam(team.owner))
  })
  afterEach(() => vi.restoreAllMocks())

  const score = (file: string, query = '') => caller.score(slug, file, { format: 'ndjson', query })

  const damages = async (part: string) => {
    const text = await service.services.telemetry.metrics.text()
    const line = text.split('\n').find((one) => one.includes(`_batch_reads_total{part="${part}"}`))
    return Number(line?.split(' ').at(-1))
  }

  /** Damages the file of the next batch when it is stored and its run has not read it. */
  const damageNext = (damage: (batchId: string) => void) => {
    const { read } = BatchStore.prototype
    const spy = vi.spyOn(BatchStore.prototype, 'read')
    spy.mockImplementationOnce(function late(this: BatchStore, id) {
      damage(id)
      return read.call(this, id)
    })
  }

  const folders = (): string[] =>
    readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name))
  const formatPath = (id: string, name: string): string => {
    const found = folders().find((path) => path.includes(id) && path.endsWith(name))
    return found ?? expect.fail(`the batch has no ${name}`)
  }

  /** A disk that gives other bytes leaves the time of the file as it was. */
  const inSilence = (path: string, damage: (path: string) => void) => {
    copyFileSync(path, `${path}.time`)
    execFileSync('touch', ['-r', path, `${path}.time`])
    damage(path)
    execFileSync('touch', ['-r', `${path}.time`, path])
  }

  const expectNone = async (batch: ShownBatch) => {
    expect(batch.counts).toMatchObject({ scored: 0, errors: 0 })
    expect((await caller.call('GET', `/${batch.id}/results`)).body).toBe('')
    // It costs that batch alone.
    expect(await score(FILE)).toMatchObject({ status: 'done', counts: { scored: 2 } })
  }

  test.each(Object.entries(DAMAGES))(
    'is named where an upload fell to a %s, and nobody is scored',
    async (_, damage) => {
      const before = await damages('input')
      damageNext((id) => inSilence(formatPath(id, 'input.ndjson'), damage))
      const batch = await score(FILE)
      expect(batch).toMatchObject({
        status: 'failed',
        error: 'unavailable',
        message: `the file that was sent for batch ${batch.id} is damaged in the store, at byte 0 or after it: send it again`,
      })
      expect(await damages('input')).toBe(before + 1)
      await expectNone(batch)
    },
  )

  test('is named by the place in a long upload, which is scored where it is sound', async () => {
    const lines = Array.from({ length: MANY }, (_, row) => `{"id":"A-${row}","income":1}`)
    const file = `${lines.join('\n')}\n`
    const sound = await score(file)
    expect(sound).toMatchObject({ status: 'done', counts: { scored: MANY, errors: 0 } })
    damageNext((id) =>
      inSilence(formatPath(id, 'input.ndjson'), (path) => flip(path, 2 * PORTION_BYTES + 7)),
    )
    expect(await score(file)).toMatchObject({
      status: 'failed',
      message: expect.stringContaining(`at byte ${2 * PORTION_BYTES} or after it`),
    })

    // What is sound before it may have gone out: then the answer never ends as if it were whole.
    expect(sound.results.parts).toBeGreaterThan(1)
    const before = await damages('results')
    flip(formatPath(sound.id, 'results-000002.ndjson'))
    await expect(caller.call('GET', `/${sound.id}/results`)).rejects.toThrow()
    expect(await damages('results')).toBe(before + 1)
  })

  // The service has not received it: size and time tell a change.
  test.each(Object.entries(DAMAGES))(
    'is refused where a file of the folder has another time after a %s',
    async (name, damage) => {
      mkdirSync(root, { recursive: true })
      writeFileSync(join(root, `${name}.ndjson`), FILE)
      damageNext(() => damage(join(root, `${name}.ndjson`)))
      const started = await caller.call('POST', '', {
        deployment: slug,
        input: { path: `${name}.ndjson` },
      })
      const batch = await caller.end(started.json().id)
      expect(batch).toMatchObject({ status: 'failed', error: 'input_changed' })
      await expectNone(batch)
    },
  )

  const scoreAt = async (origin: string, results: string): Promise<ShownBatch> => {
    if (origin === 'upload') return score(FILE, `&results=${results}`)
    mkdirSync(root, { recursive: true })
    writeFileSync(join(root, 'own.ndjson'), FILE)
    const order = { deployment: slug, input: { path: 'own.ndjson' }, results }
    return caller.end((await caller.call('POST', '', order)).json().id)
  }

  test.each(
    ['upload', 'folder'].flatMap((origin) =>
      ['csv', 'ndjson', 'parquet'].flatMap((format) =>
        Object.keys(DAMAGES).map((name) => [origin, format, name as keyof typeof DAMAGES] as const),
      ),
    ),
  )('is 503 and named for results of an %s as %s after a %s', async (origin, format, name) => {
    const batch = await scoreAt(origin, format)
    expect((await caller.call('GET', `/${batch.id}/results`)).statusCode).toBe(200)
    for (const [kind, file] of [
      ['results', `results-000001.${format}`],
      ['errors', 'errors-000001.ndjson'],
    ] as const) {
      const before = await damages(kind)
      DAMAGES[name](formatPath(batch.id, file))
      const answer = await caller.call('GET', `/${batch.id}/${kind}`)
      expect(answer.statusCode, answer.body).toBe(503)
      expect(answer.json().message).toBe(
        `part 1 of the ${kind} of batch ${batch.id} is damaged in the store: ask the operator to restore it, or score the file again`,
      )
      expect(await damages(kind)).toBe(before + 1)
    }
  })
})
