import { expect, test } from 'vitest'
import {
  type ReplacementFacts,
  Supervisor,
  type WorkerEvents,
  WorkerStartError,
} from '../../../../src/platform/workers/supervisor.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'

interface FakeWorker {
  readonly number: number
  readonly pid: number
  readonly events: WorkerEvents
  readonly signals: string[]
}

/** A supervisor of workers that do what a test says, in a time that it moves. */
function supervised(workers: number) {
  const clock = new ManualClock()
  const timers = new Set<{ atMs: number; callback: () => void }>()
  const started: FakeWorker[] = []
  const replaced: ReplacementFacts[] = []
  const silent: number[] = []
  const supervisor = new Supervisor({
    workers,
    clock,
    start: (number, events) => {
      const worker = { number, pid: 100 + started.length, events, signals: [] as string[] }
      started.push(worker)
      return { pid: worker.pid, kill: (signal) => void worker.signals.push(signal) }
    },
    after: (ms, callback) => {
      const timer = { atMs: clock.monotonicMs() + ms, callback }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    log: {
      replacing: (facts) => void replaced.push(facts),
      silent: ({ worker }) => void silent.push(worker),
    },
  })
  const advance = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      clock.advance(100)
      for (const timer of timers) {
        if (timer.atMs > clock.monotonicMs()) continue
        timers.delete(timer)
        timer.callback()
      }
    }
  }
  const last = () => started.at(-1) ?? expect.fail('none was started')
  const all = async () => {
    const starting = supervisor.start()
    for (let index = 0; index < workers; index++) {
      await Promise.resolve()
      for (const { events } of started) events.onReady()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await starting
  }
  return { supervisor, started, replaced, silent, advance, last, all, timers }
}

const DIED = { exitCode: null, signal: 'SIGKILL' }
const ENDED = { exitCode: 0, signal: null }

// All workers at once would wait for each other's migration, and each would print the same mistake.
test('the first worker starts alone, and the others once it answers', async () => {
  const { supervisor, started } = supervised(3)
  const starting = supervisor.start()
  expect(started.map(({ number }) => number)).toEqual([1])
  started[0]?.events.onReady()
  await expect.poll(() => started.length).toBe(3)
  for (const { events } of started) events.onReady()
  await starting
  expect(supervisor.running).toBe(3)
})

test('a worker that ends before it answered fails the start', async () => {
  const { supervisor, last } = supervised(2)
  const starting = supervisor.start()
  last().events.onEnd({ exitCode: 1, signal: null })
  await expect(starting).rejects.toThrow(WorkerStartError)
  expect(await supervisor.end('SIGTERM')).toBe(1)
})

// A failure of one worker that has answered must not end the others, which are about to answer.
test('a worker that ends after it answered is replaced, also while others start', async () => {
  const { supervisor, started, advance } = supervised(2)
  const starting = supervisor.start()
  started[0]?.events.onReady()
  await expect.poll(() => started.length).toBe(2)
  started[0]?.events.onEnd(DIED)
  started[1]?.events.onReady()
  await starting
  advance(100)
  expect(started.map(({ number }) => number)).toEqual([1, 2, 1])
  expect(supervisor.running).toBe(2)
})

// A loop of crashes without a pause would take the processors from the workers that live.
test('a worker that ends is replaced under its number, after longer and longer pauses while it keeps ending', async () => {
  const { started, replaced, advance, last, all, supervisor } = supervised(2)
  await all()
  for (let death = 0; death < 9; death++) {
    const dead = started.filter(({ number }) => number === 2).at(-1)
    dead?.events.onEnd(DIED)
    const before = started.length
    const { pauseMs } = replaced.at(-1) ?? expect.fail('no replacement was logged')
    if (pauseMs > 100) advance(pauseMs - 100)
    expect(started.length).toBe(before)
    advance(100)
    expect(started.length).toBe(before + 1)
    expect(last().number).toBe(2)
  }
  expect(replaced.map(({ pauseMs }) => pauseMs)).toEqual([
    ...[100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000],
  ])
  expect(replaced[0]).toMatchObject({ worker: 2, ...DIED })
  expect(supervisor.replacements).toBe(9)
})

test('after a minute of work the pause is short again', async () => {
  const { replaced, advance, last, started, all } = supervised(1)
  await all()
  for (let death = 0; death < 4; death++) {
    last().events.onEnd(DIED)
    advance(1_000)
  }
  for (let second = 0; second < 60; second++) {
    last().events.onAlive()
    advance(1_000)
  }
  expect(started.length).toBe(5)
  last().events.onEnd(DIED)
  expect(replaced.at(-1)?.pauseMs).toBe(100)
})

// It accepts no connection, so that no probe through the port would ever meet it.
test('a worker without a sign of life for 30 s is killed, and the others are not', async () => {
  const { started, silent, advance, all } = supervised(2)
  await all()
  for (let second = 0; second < 36; second++) {
    started[0]?.events.onAlive()
    advance(1_000)
  }
  expect(silent[0]).toBe(2)
  expect(started[1]?.signals[0]).toBe('SIGKILL')
  expect(started[0]?.signals).toEqual([])
})

test('a signal reaches every worker, none is replaced, and the worst exit code counts', async () => {
  const { supervisor, started, advance, all, timers } = supervised(3)
  await all()
  started[2]?.events.onEnd(DIED)
  const ended = supervisor.end('SIGTERM')
  advance(2_000)
  expect(started.length, 'the replacement that was due is cancelled').toBe(3)
  expect(started.slice(0, 2).map(({ signals }) => signals)).toEqual([['SIGTERM'], ['SIGTERM']])
  started[0]?.events.onEnd({ exitCode: 3, signal: null })
  started[1]?.events.onEnd(ENDED)
  expect(await ended).toBe(3)
  expect(timers.size, 'no timer keeps the process').toBe(0)
})

test('a worker that the signal ends while it loads did not fail', async () => {
  const { supervisor, started } = supervised(1)
  void supervisor.start()
  const ended = supervisor.end('SIGINT')
  started[0]?.events.onEnd({ exitCode: null, signal: 'SIGINT' })
  expect(await ended).toBe(0)
})

test('a worker that a signal ends although it serves has failed', async () => {
  const { supervisor, started, all } = supervised(1)
  await all()
  const ended = supervisor.end('SIGTERM')
  started[0]?.events.onEnd({ exitCode: null, signal: 'SIGTERM' })
  expect(await ended).toBe(1)
})

test('a worker that does not end is killed before an orchestrator would kill it, and counts as failed', async () => {
  const { supervisor, started, advance, all } = supervised(2)
  await all()
  const ended = supervisor.end('SIGTERM')
  started[0]?.events.onEnd(ENDED)
  advance(10_000)
  expect(started[1]?.signals).toEqual(['SIGTERM', 'SIGKILL'])
  started[1]?.events.onEnd(DIED)
  expect(await ended).toBe(1)
})
