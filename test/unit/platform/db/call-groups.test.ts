import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { CallGroups } from '../../../../src/platform/db/call-groups.ts'

/** A statement that is under way. */
interface Running {
  readonly items: readonly string[]
  readonly end: () => void
  readonly fail: (error: Error) => void
}

function openGroups(
  options: { weightMax?: number; deadlineMs?: number; groupsAtOnce?: number } = {},
) {
  const running: Running[] = []
  const groups = new CallGroups<string, string>({
    run: (items) =>
      new Promise((resolve, reject) => {
        const end = () => resolve(items.map((item) => `${item} done`))
        running.push({ items, end, fail: reject })
      }),
    weigh: (item) => item.length,
    weightMax: 100,
    deadlineMs: 60_000,
    ...options,
  })
  return { groups, running }
}

describe('calls in groups', () => {
  afterEach(() => void vi.restoreAllMocks())

  test('calls that come while a statement is under way go together in the next one', async () => {
    const { groups, running } = openGroups()
    const first = groups.call('a')
    await nextTurn()
    const others = ['b', 'c', 'd'].map((item) => groups.call(item))
    await nextTurn()
    expect(running.map(({ items }) => items)).toEqual([['a']])
    running[0]?.end()
    expect(await first).toBe('a done')
    await nextTurn()
    expect(running[1]?.items).toEqual(['b', 'c', 'd'])
    running[1]?.end()
    expect(await Promise.all(others)).toEqual(['b done', 'c done', 'd done'])
  })

  test('a group is as heavy as it may be, and an item that is heavier goes alone', async () => {
    const { groups, running } = openGroups({ weightMax: 4 })
    const calls = ['aa', 'bb', 'c', 'dddddd', 'e'].map((item) => groups.call(item))
    for (let at = 0; at < 4; at++) {
      await nextTurn()
      running[at]?.end()
    }
    await Promise.all(calls)
    expect(running.map(({ items }) => items)).toEqual([['aa', 'bb'], ['c'], ['dddddd'], ['e']])
  })

  test('a statement that fails fails its own calls, and no other', async () => {
    const { groups, running } = openGroups()
    const failed = ['a', 'b'].map((item) => groups.call(item))
    const outcomes = Promise.allSettled(failed)
    await nextTurn()
    const next = groups.call('c')
    running[0]?.fail(new Error('the database is away'))
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ reason: { message: 'the database is away' } })
    }
    await nextTurn()
    running[1]?.end()
    expect(await next).toBe('c done')
    const last = groups.call('d')
    await nextTurn()
    running[2]?.end()
    expect(await last).toBe('d done')
  })

  test('no more statements are under way than may be at once, and none is idle meanwhile', async () => {
    const { groups, running } = openGroups({ weightMax: 1, groupsAtOnce: 2 })
    const calls = ['a', 'b', 'c', 'd'].map((item) => groups.call(item))
    await nextTurn()
    await nextTurn()
    expect(running.map(({ items }) => items)).toEqual([['a'], ['b']])
    running[1]?.end()
    await nextTurn()
    expect(running.map(({ items }) => items)).toEqual([['a'], ['b'], ['c']])
    running[2]?.end()
    await nextTurn()
    running[3]?.end()
    running[0]?.end()
    expect(await Promise.all(calls)).toEqual(['a done', 'b done', 'c done', 'd done'])
    const next = groups.call('e')
    await nextTurn()
    running[4]?.end()
    expect(await next).toBe('e done')
  })

  // A driver waits forever on a connection whose other end is gone.
  test('a statement that never ends holds up the next one no longer than its deadline', async () => {
    vi.spyOn(performance, 'now').mockReturnValue(0)
    const { groups, running } = openGroups({ deadlineMs: 20 })
    const silent = groups.call('a')
    await nextTurn()
    const next = groups.call('b')
    await expect(silent).rejects.toMatchObject({ code: 'unavailable' })
    await nextTurn()
    running[1]?.end()
    expect(await next).toBe('b done')
  })

  // Whoever asked has gone on without it: a claim that is made now would belong to nobody.
  test('a call that has waited for longer than the deadline is not made', async () => {
    const { groups, running } = openGroups({ weightMax: 1, deadlineMs: 1_000 })
    const nowMs = vi.spyOn(performance, 'now').mockReturnValue(0)
    const first = groups.call('a')
    await nextTurn()
    const late = Promise.allSettled([groups.call('b'), groups.call('c')])
    nowMs.mockReturnValue(999)
    const inTime = groups.call('d')
    nowMs.mockReturnValue(1_000)
    running[0]?.end()
    expect(await first).toBe('a done')
    for (const outcome of await late) {
      expect(outcome).toMatchObject({ reason: { code: 'unavailable' } })
    }
    await nextTurn()
    running[1]?.end()
    expect(await inTime).toBe('d done')
    expect(running.map(({ items }) => items)).toEqual([['a'], ['d']])
  })
})
