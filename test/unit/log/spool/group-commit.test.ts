import { setImmediate as turnEnd } from 'node:timers/promises'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { AppError } from '../../../../src/errors.ts'
import { PreparedHead } from '../../../../src/log/record/prepared-head.ts'
import type { Durability, OnLogged } from '../../../../src/log/score-log.ts'
import { GroupCommit } from '../../../../src/log/spool/group-commit.ts'

const DEADLINE_MS = 30
const HEAD = new PreparedHead({ teamId: 'team_1', deploymentId: 'dep_1', cacheVersion: 1 }, [])
const FACTS = { scoredAtMs: 1, latencyMs: 1, bucket: null, served: 0, isBatch: false }

// What is answered in time must not depend on how busy the machine is.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
})

/** A disk in memory, whose syncs end when a test says so. */
class MemoryDisk {
  bytes = 0
  syncs: PromiseWithResolvers<void>[] = []

  get position() {
    return { segment: 1, offset: this.bytes }
  }

  append(frames: Buffer): void {
    this.bytes += frames.length
  }

  release(): void {}

  sync(): Promise<void> {
    const sync = Promise.withResolvers<void>()
    this.syncs.push(sync)
    return sync.promise
  }
}

function setUp(durability: Durability) {
  const disk = new MemoryDisk()
  const onThrown = vi.fn()
  const onFailed = vi.fn()
  const appended: number[] = []
  const group = new GroupCommit({
    appender: disk,
    durability,
    deadlineMs: DEADLINE_MS,
    onThrown,
    onFailed,
    onAppended: (records) => void appended.push(records),
  })
  /** @returns what the request is answered, each time that it is */
  const ask = (onLogged: OnLogged = () => undefined): string[] => {
    const answers: string[] = []
    group.writer.begin(HEAD, { requestId: 'req_1', keyId: 'key_1', reference: null, key: null })
    group.add(FACTS, (failure) => {
      answers.push(failure instanceof AppError ? failure.code : 'ok')
      onLogged(failure)
    })
    return answers
  }
  return { disk, group, ask, onThrown, onFailed, appended }
}

const throwing = () => {
  throw new Error('the headers are sent')
}

// It was answered a second time, which threw, and kept all who came later from their answers.
test('an answer that the database left waiting is given once, and those after it are given', async () => {
  const { disk, group, ask } = setUp('database')
  const late = ask()
  await turnEnd()
  vi.advanceTimersByTime(DEADLINE_MS - 1)
  expect(late).toEqual([])
  vi.advanceTimersByTime(1)
  expect(late).toEqual(['unavailable'])
  expect(group.overdue).toBe(1)
  const next = ask()
  await turnEnd()
  group.drained(1, disk.bytes)
  expect([late, next]).toEqual([['unavailable'], ['ok']])
  const last = ask()
  await turnEnd()
  group.drained(1, disk.bytes)
  expect([late, next, last]).toEqual([['unavailable'], ['ok'], ['ok']])
  expect(group.overdue).toBe(1)
})

test('only what the drain has passed is answered, whichever segment it is in', async () => {
  const { disk, group, ask } = setUp('database')
  const answers = [ask()]
  await turnEnd()
  const { bytes } = disk
  answers.push(ask())
  await turnEnd()
  group.drained(1, bytes - 1)
  expect(answers).toEqual([[], []])
  group.drained(1, bytes)
  expect(answers).toEqual([['ok'], []])
  group.drained(2, 0)
  expect(answers).toEqual([['ok'], ['ok']])
})

test.each(['process', 'disk', 'database'] as const)(
  'in mode %s an answer that throws keeps no other from its own',
  async (durability) => {
    const { disk, group, ask, onThrown, onFailed, appended } = setUp(durability)
    for (let turn = 0; turn < 2; turn++) {
      const answers = [ask(throwing), ask()]
      await turnEnd()
      disk.syncs.shift()?.resolve()
      await turnEnd()
      if (durability === 'database') group.drained(1, disk.bytes)
      expect(answers).toEqual([['ok'], ['ok']])
    }
    expect(onThrown).toHaveBeenCalledTimes(2)
    expect(onFailed).not.toHaveBeenCalled()
    expect(appended).toEqual([2, 2])
  },
)

// A disk behind a network can stand still without an error.
test('while the disk does not end a sync, requests are refused in time and nothing gathers', async () => {
  const { disk, group, ask } = setUp('disk')
  const written = ask()
  await turnEnd()
  const writtenBytes = disk.bytes
  const gathered = ask()
  vi.advanceTimersByTime(DEADLINE_MS)
  expect([written, gathered]).toEqual([['unavailable'], ['unavailable']])
  expect(group.isSilent).toBe(true)
  expect(group.writer.endedBytes).toBe(0)
  expect(group.overdue).toBe(1)
  disk.syncs.shift()?.resolve()
  await turnEnd()
  expect(group.isSilent).toBe(false)
  const next = ask()
  await turnEnd()
  disk.syncs.shift()?.resolve()
  await turnEnd()
  expect([written, gathered, next]).toEqual([['unavailable'], ['unavailable'], ['ok']])
  // What only gathered is not in the log, as its client was told.
  expect(disk.bytes).toBe(2 * writtenBytes)
})

test('a sync that fails after its deadline leaves nothing that counts as overdue', async () => {
  const { disk, group, ask, onFailed } = setUp('disk')
  const late = ask()
  await turnEnd()
  vi.advanceTimersByTime(DEADLINE_MS - 1)
  expect(late).toEqual([])
  vi.advanceTimersByTime(1)
  expect(late).toEqual(['unavailable'])
  disk.syncs.shift()?.reject(new Error('the disk is gone'))
  await turnEnd()
  expect(late).toEqual(['unavailable'])
  expect(onFailed).toHaveBeenCalledTimes(1)
  expect(group.overdue).toBe(0)
})

test('at the end nobody is left waiting for the database', async () => {
  const { group, ask } = setUp('database')
  const answers = [ask(), ask()]
  await group.flush()
  expect(answers).toEqual([['unavailable'], ['unavailable']])
  expect(group.overdue).toBe(2)
})
