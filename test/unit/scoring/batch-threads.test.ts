import { expect, test, vi } from 'vitest'
import { compileModel } from '../../../src/engine/index.ts'
import { BatchThreads } from '../../../src/scoring/batch-threads/batch-threads.ts'
import type { BatchMessage, BatchReply } from '../../../src/scoring/batch-threads/messages.ts'
import type { ServingDeployment } from '../../../src/scoring/serving.ts'
import { numberedSpec } from '../../support/start/team.ts'

const KIB = 1024
const WITHIN_MS = 1_000
const MODEL = compileModel(JSON.parse(JSON.stringify(numberedSpec(1))))

/** As much of a deployment as is looked at before a thread scores. */
function deployment(deploymentId: string, sizeBytes = 1_000): ServingDeployment {
  const state = { deploymentId, championModelId: 'mod_1', baselineId: null, challengers: [] }
  const champion = {
    modelId: 'mod_1',
    modelScore: { model: { ...MODEL, sizeBytes } },
    reasonSource: null,
    reasonTexts: null,
  }
  return { state, champion, challengers: [], assignments: null } as unknown as ServingDeployment
}

interface Rest {
  readonly readSpecText?: (modelId: string) => Promise<string | null>
  readonly singles?: () => number
}

/** Threads that take everything and answer when a test says so. */
function started(count: number, { readSpecText, singles }: Rest = {}) {
  let nowMs = 0
  const workers: {
    readonly messages: BatchMessage[]
    isOn: boolean
    canStart: boolean
    reply: (outcome: BatchReply) => void
    end: () => void
  }[] = []
  const threads = new BatchThreads({
    threads: count,
    source: { readSpecText: readSpecText ?? (async () => 'a spec'), baseline: async () => null },
    singles: singles ?? (() => 0),
    onCrash: () => undefined,
    monotonicMs: () => nowMs,
    newWorker: ({ onEnded }) => {
      const messages: BatchMessage[] = []
      const calls: PromiseWithResolvers<BatchReply>[] = []
      const worker = {
        messages,
        isOn: true,
        canStart: true,
        reply: (outcome: BatchReply) => calls.at(-1)?.resolve(outcome),
        end: () => {
          worker.isOn = false
          onEnded()
          for (const { resolve } of calls) resolve(null)
        },
        call: (message: BatchMessage) => {
          if (!worker.post(message)) return Promise.resolve(null)
          const asked = Promise.withResolvers<BatchReply>()
          calls.push(asked)
          return asked.promise
        },
        post: (message: BatchMessage) => {
          if (worker.canStart) messages.push(message)
          return worker.canStart
        },
        terminate: () => worker.end(),
        close: async () => undefined,
      }
      workers.push(worker)
      return worker
    },
  })
  const score = (on: ServingDeployment, bytes = 64 * KIB) =>
    threads.score(on, {
      requestId: 'req_1',
      form: 'deployment',
      routingKey: undefined,
      body: new Uint8Array(bytes),
      weight: bytes,
      scoredAtMs: 0,
    })
  /** Two batches, and the turn in which the copy is made. */
  const warm = async (on: ServingDeployment) => {
    void score(on)
    void score(on)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const computeScores = (at: number) =>
    workers[at]?.messages.filter(({ kind }) => kind === 'score').length ?? 0
  return {
    threads,
    workers,
    score,
    warm,
    computeScores,
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

test('a deployment is held from its second large batch within a minute', async () => {
  const { score, workers, threads, pass } = started(1)
  const one = deployment('dep_1')
  expect(score(one)).toBeNull()
  pass(61_000)
  expect(score(one)).toBeNull()
  await new Promise((resolve) => setImmediate(resolve))
  expect(workers[0]?.messages).toEqual([])
  expect(score(one)).toBeNull()
  await new Promise((resolve) => setImmediate(resolve))
  expect(workers[0]?.messages.map(({ kind }) => kind)).toEqual(['hold'])
  expect(score(one)).not.toBeNull()
  expect(threads.counts).toMatchObject({ not_held: 3 })
})

test('more deployments than a thread can hold displace none that is in use', async () => {
  let singles = 0
  const { score, warm, workers, pass } = started(1, { singles: () => singles++ })
  // A deployment weighs three times its tables: three of these fit.
  const all = Array.from({ length: 5 }, (_, n) => deployment(`dep_${n}`, 7 * KIB * KIB))
  for (const one of all) await warm(one)
  const held = () => all.map((one) => score(one) !== null)
  expect(held()).toEqual([true, true, true, false, false])
  expect(workers[0]?.messages.filter(({ kind }) => kind === 'hold')).toHaveLength(3)
  // Those that nobody used for a while make room.
  pass(11_000)
  await warm(all[4] as ServingDeployment)
  expect(workers[0]?.messages.filter(({ kind }) => kind === 'drop')).toHaveLength(1)
})

test('a changed state takes the place of the former one', async () => {
  const { score, warm, workers } = started(1)
  const before = deployment('dep_1')
  await warm(before)
  const after = { ...before, state: { ...before.state, cacheVersion: 2 } }
  expect(score(after)).toBeNull()
  await new Promise((resolve) => setImmediate(resolve))
  expect(workers[0]?.messages.map(({ kind }) => kind)).toEqual(['hold', 'drop', 'hold'])
  expect(score(after)).not.toBeNull()
})

test('a copy that fails is made again, and not at once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const readSpecText = vi.fn(async () => 'a spec').mockRejectedValueOnce(new Error('away'))
  const { score, warm } = started(1, { readSpecText })
  const one = deployment('dep_1')
  await warm(one)
  await warm(one)
  expect(readSpecText).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(WITHIN_MS)
  await warm(one)
  expect(readSpecText).toHaveBeenCalledTimes(2)
  expect(score(one)).not.toBeNull()
  vi.useRealTimers()
})

test('of the threads with room the one with the fewest bytes takes a batch', async () => {
  const { score, warm, computeScores, threads } = started(2)
  const one = deployment('dep_1')
  await warm(one)
  void score(one, 1_500 * KIB)
  void score(one)
  void score(one)
  expect([computeScores(0), computeScores(1)]).toEqual([1, 2])
  // The second has two, which is enough while no single scores come.
  void score(one)
  expect([computeScores(0), computeScores(1)]).toEqual([2, 2])
  expect(score(one)).toBeNull()
  expect(threads.counts.full).toBe(1)
})

test('while single scores are asked for, threads take more, up to a bound of bodies', async () => {
  let singles = 0
  const { score, warm, computeScores, pass } = started(1, { singles: () => singles })
  const one = deployment('dep_1')
  await warm(one)
  singles++
  for (let n = 0; n < 20; n++) void score(one)
  expect(computeScores(0)).toBe(16)
  pass(10_001)
  expect(score(one)).toBeNull()
  const large = started(4)
  await large.warm(one)
  for (let n = 0; n < 8; n++) large.score(one, 10 * KIB * KIB)?.catch(() => undefined)
  expect([0, 1, 2, 3].map(large.computeScores)).toEqual([1, 1, 1, 0])
  expect(large.threads.takes(KIB)).toBe(false)
})

// Ten million cells of a batch held up single scores for 0.4 s.
test('a large batch is for a thread from the first on, also while another is copied', async () => {
  const { score, workers, threads } = started(1)
  void score(deployment('dep_1'), 8 * KIB * KIB)
  void score(deployment('dep_2'), 8 * KIB * KIB)
  const kinds = () => workers[0]?.messages.map(({ kind }) => kind)
  await expect.poll(kinds).toEqual(['hold', 'score', 'hold', 'score'])
  expect(threads.counts).toMatchObject({ not_held: 0, full: 0 })
})

test('a thread that ends or never starts leaves the others at work', async () => {
  const { score, warm, workers, computeScores, threads } = started(3)
  const one = deployment('dep_1')
  if (workers[2] !== undefined) workers[2].canStart = false
  await warm(one)
  const lost = score(one)
  workers[0]?.end()
  await expect(lost).resolves.toBeNull()
  void score(one)
  expect([computeScores(0), computeScores(1), computeScores(2)]).toEqual([1, 1, 0])
  expect(threads.counts).toMatchObject({ died: 1, not_held: 2 })
})

test('a thread that does not answer is ended, and its batches are given back', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { score, warm, pass } = started(1)
  const one = deployment('dep_1')
  await warm(one)
  const waiting = score(one)
  for (let n = 0; n < 5; n++) {
    pass(2_500)
    vi.advanceTimersByTime(2_500)
  }
  await expect(waiting).resolves.toBeNull()
  vi.useRealTimers()
})

// Scored by the thread that answers, it held up all scores for 0.4 s.
test('a large batch whose thread dies is refused, and can be sent again', async () => {
  const { score, warm, workers } = started(1)
  const one = deployment('dep_1')
  await warm(one)
  const lost = score(one, 3 * KIB * KIB)
  workers[0]?.end()
  await expect(lost).rejects.toMatchObject({ code: 'unavailable' })
})

test('a large batch waits for room, and is refused when there is none for long', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { score, warm, workers, computeScores, threads, pass } = started(1)
  const one = deployment('dep_1')
  await warm(one)
  const taken = [score(one, 16 * KIB * KIB), score(one, 16 * KIB * KIB)]
  const next = score(one, 8 * KIB * KIB)
  const last = score(one, 16 * KIB * KIB)
  expect([taken.every(Boolean), computeScores(0)]).toEqual([true, 2])
  workers[0]?.reply('given_up')
  await vi.waitFor(() => expect(computeScores(0)).toBe(3))
  pass(10_000)
  vi.advanceTimersByTime(10_000)
  await expect(last).rejects.toMatchObject({ code: 'unavailable' })
  expect(threads.counts).toMatchObject({ full: 1 })
  workers[0]?.reply('given_up')
  await expect(next).resolves.toBeNull()
  vi.useRealTimers()
})

test('a thread that answers others in time, or has a large batch, is not ended', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let singles = 0
  const { score, warm, pass, workers } = started(1, { singles: () => singles++ })
  const one = deployment('dep_1')
  await warm(one)
  const later = (ms: number) => {
    pass(ms)
    vi.advanceTimersByTime(ms)
  }
  void score(one)
  void score(one)
  later(7_500)
  workers[0]?.reply('given_up')
  await new Promise((resolve) => setImmediate(resolve))
  later(7_500)
  expect(workers[0]?.isOn).toBe(true)
  later(2_500)
  expect(workers[0]?.isOn).toBe(false)
  const other = started(1)
  await other.warm(one)
  other.score(one, 3 * KIB * KIB)?.catch(() => undefined)
  for (let n = 0; n < 23; n++) {
    other.pass(2_500)
    vi.advanceTimersByTime(2_500)
  }
  expect(other.workers[0]?.isOn).toBe(true)
  vi.useRealTimers()
})

test('a refusal of the thread is one of the service', async () => {
  const { score, warm, workers } = started(1)
  const one = deployment('dep_1')
  await warm(one)
  const refused = score(one)
  workers[0]?.reply({ refusal: { code: 'invalid_request', message: 'no', details: undefined } })
  await expect(refused).rejects.toMatchObject({ code: 'invalid_request', message: 'no' })
})
