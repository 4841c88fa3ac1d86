import { expect, onTestFinished, test, vi } from 'vitest'
import { EventLoopWatch } from '../../../src/platform/event-loop.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'

const TICK_MS = 20

/** A watch whose loop has turns of the lengths that the test gives. */
function watched() {
  vi.useFakeTimers()
  const clock = Object.assign(new ManualClock(), { cpuMs: 0, threadCpuMs: () => clock.cpuMs })
  const watch = new EventLoopWatch(clock)
  watch.start()
  onTestFinished(() => {
    watch.stop()
    vi.useRealTimers()
  })
  return {
    watch,
    /** A score comes when the turn has run for so many milliseconds more. */
    scoreAfter: (ms: number, cpuMs = ms, teamId: string | null = 'team_1') => {
      clock.advance(ms)
      clock.cpuMs += cpuMs
      return watch.hasTimeForScore(teamId)
    },
    /** A turn ends after so many milliseconds more. */
    endAfter: (ms: number) => {
      clock.advance(ms)
      watch.tick()
    },
  }
}

// One long collection of garbage must cost no caller their response: only a few requests waited.
test('a pause before the first score of a turn sheds nothing, however long', () => {
  const { scoreAfter, endAfter } = watched()
  endAfter(TICK_MS)
  expect(scoreAfter(5_000)).toBe(true)
  expect(scoreAfter(100)).toBe(true)
  endAfter(0)
  expect(scoreAfter(5_000)).toBe(true)
})

// All of many clients may come in one turn: the last of them would wait for all the others.
test('a turn takes on 300 ms of scores, and sheds the rest', () => {
  const { scoreAfter, endAfter } = watched()
  endAfter(TICK_MS)
  expect(scoreAfter(1_000)).toBe(true)
  expect(scoreAfter(300)).toBe(true)
  expect(scoreAfter(1)).toBe(false)
})

test('a turn that follows one that was more than 50 ms late takes on 100 ms', () => {
  const { scoreAfter, endAfter } = watched()
  endAfter(TICK_MS + 51)
  expect([scoreAfter(0), scoreAfter(100), scoreAfter(1)]).toEqual([true, true, false])
  endAfter(0)
  expect([scoreAfter(0), scoreAfter(100), scoreAfter(1)]).toEqual([true, true, false])
})

test('one turn in time ends the overload', () => {
  const { scoreAfter, endAfter } = watched()
  endAfter(500)
  endAfter(TICK_MS + 50)
  expect([scoreAfter(0), scoreAfter(300)]).toEqual([true, true])
})

// On a busy machine the process is set aside for longer than any budget, with three requests in its
// queue.
test('time in which other processes had the processor sheds nothing', () => {
  const { scoreAfter, endAfter } = watched()
  endAfter(500)
  expect([scoreAfter(0, 0), scoreAfter(5_000, 60), scoreAfter(5_000, 40)]).toEqual([
    true,
    true,
    true,
  ])
  expect(scoreAfter(5_000, 1)).toBe(false)
})

// Whatever one team sends at once, the scores of another wait for little of it.
test('a team whose scores took 40 ms of a turn gives way if another team has scored lately', () => {
  const { scoreAfter, endAfter } = watched()
  const score = (team: string, ms = 5) => scoreAfter(ms, ms, team)
  endAfter(TICK_MS)
  // Alone it has the whole turn.
  expect(Array.from({ length: 20 }, () => score('heavy')).every(Boolean)).toBe(true)
  endAfter(0)
  expect(score('light')).toBe(true)
  endAfter(0)
  const heavy = Array.from({ length: 12 }, () => score('heavy'))
  expect(heavy).toEqual([...Array(9).fill(true), false, false, false])
  expect(score('light')).toBe(true)
  expect(score('heavy')).toBe(false)
  // The next turn is a new one, and after ten seconds it is alone again.
  endAfter(0)
  expect(score('heavy')).toBe(true)
  endAfter(10_001)
  expect(Array.from({ length: 20 }, () => score('heavy')).every(Boolean)).toBe(true)
})

test('a batch takes no time from a team, nor does longer work between two scores', () => {
  const { scoreAfter, endAfter } = watched()
  scoreAfter(0, 0, 'team_2')
  endAfter(TICK_MS)
  expect(scoreAfter(0)).toBe(true)
  expect(scoreAfter(1, 1, null)).toBe(true)
  expect(scoreAfter(100)).toBe(true)
  expect(scoreAfter(100)).toBe(true)
  expect(scoreAfter(19)).toBe(true)
  expect(scoreAfter(1)).toBe(false)
})

// A process that does not listen has no turns that could end an overload.
test('without the watch nothing is shed', () => {
  const { watch, scoreAfter } = watched()
  watch.stop()
  expect([scoreAfter(0), scoreAfter(60_000)]).toEqual([true, true])
})

test('delays are measured from the moment that the timer was due', () => {
  const { watch, endAfter } = watched()
  endAfter(TICK_MS)
  endAfter(TICK_MS + 30)
  expect(watch.delays.sum).toBeCloseTo(0.03, 9)
  expect(watch.delays.count).toBe(2)
})
