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
  readonly specTextOf?: (modelId: string) => Promise<string | null>
  readonly singles?: () => number
}

/** Threads that take everything and answer when a test says so. */
function started(count: number, { specTextOf, singles }: Rest = {}) {
  let nowMs = 0
  const workers: {
    readonly messages: BatchMessage[]
    isOn: boolean
    canStart: boolean
    reply: (outcome: BatchReply['outcome']) => void
    end: () => void
  }[] = []
  const threads = new BatchThreads({
    threads: count,
    source: { specTextOf: specTextOf ?? (async () => 'a spec'), baseline: async () => null },
    singles: singles ?? (() => 0),
    onCrash: () => undefined,
    monotonicMs: () => nowMs,
    newWorker: ({ onReply, onEnded }) => {
      const messages: BatchMessage[] = []
      const worker = {
        messages,
        isOn: true,
        canStart: true,
        reply: (outcome: BatchReply['outcome']) => {
          const asked = messages.filter((message) => message.kind === 'score').at(-1)
          if (asked !== undefined) onReply({ id: asked.id, outcome })
        },
        end: () => {
          worker.isOn = false
          onEnded()
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
      routingKey: undefined,
      body: new Uint8Array(bytes),
      scoredAtMs: 0,
    })
  /** Two batches, and the turn in which the copy is made. */
  const warm = async (on: ServingDeployment) => {
    void score(on)
    void score(on)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const scoresOf = (at: number) =>
    workers[at]?.messages.filter(({ kind }) => kind === 'score').length ?? 0
  return {
    threads,
    workers,
    score,
    warm,
    scoresOf,
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
  const specTextOf = vi.fn(async () => 'a spec').mockRejectedValueOnce(new Error('away'))
  const { score, warm } = started(1, { specTextOf })
  const one = deployment('dep_1')
  await warm(one)
  await warm(one)
  expect(specTextOf).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(WITHIN_MS)
  await warm(one)
  expect(specTextOf).toHaveBeenCalledTimes(2)
  expect(score(one)).not.toBeNull()
  vi.useRealTimers()
})

test('of the threads with room the one with the fewest bytes takes a batch', async () => {
  const { score, warm, scoresOf, threads } = started(2)
  const one = deployment('dep_1')
  await warm(one)
  void score(one, 1_500 * KIB)
  void score(one)
  void score(one)
  expect([scoresOf(0), scoresOf(1)]).toEqual([1, 2])
  // The second has two, which is enough while no single scores come.
  void score(one)
  expect([scoresOf(0), scoresOf(1)]).toEqual([2, 2])
  expect(score(one)).toBeNull()
  expect(threads.counts.full).toBe(1)
})

test('while single scores are asked for, threads take more, up to a bound of bodies', async () => {
  let singles = 0
  const { score, warm, scoresOf, pass } = started(1, { singles: () => singles })
  const one = deployment('dep_1')
  await warm(one)
  singles++
  for (let n = 0; n < 20; n++) void score(one)
  expect(scoresOf(0)).toBe(16)
  pass(10_001)
  expect(score(one)).toBeNull()
  const large = started(4)
  await large.warm(one)
  const taken = Array.from({ length: 8 }, () => large.score(one, 1_500 * KIB) !== null)
  expect(taken.filter(Boolean)).toHaveLength(2)
  expect(large.threads.takes(3 * KIB * KIB)).toBe(false)
  expect(large.threads.takes(KIB)).toBe(false)
})

test('a thread that ends or never starts leaves the others at work', async () => {
  const { score, warm, workers, scoresOf, threads } = started(3)
  const one = deployment('dep_1')
  if (workers[2] !== undefined) workers[2].canStart = false
  await warm(one)
  const lost = score(one)
  workers[0]?.end()
  await expect(lost).resolves.toBeNull()
  void score(one)
  expect([scoresOf(0), scoresOf(1), scoresOf(2)]).toEqual([1, 1, 0])
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

test('a refusal of the thread is one of the service', async () => {
  const { score, warm, workers } = started(1)
  const one = deployment('dep_1')
  await warm(one)
  const refused = score(one)
  workers[0]?.reply({ refusal: { code: 'invalid_request', message: 'no', details: undefined } })
  await expect(refused).rejects.toMatchObject({ code: 'invalid_request', message: 'no' })
})
