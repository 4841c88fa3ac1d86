import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CallQueue } from '../../../../src/platform/object-store/directory-calls.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('calls run one after the other', async () => {
  const queue = new CallQueue()
  let [running, most] = [0, 0]
  const work = async () => {
    running++
    most = Math.max(most, running)
    await Promise.resolve()
    running--
    return most
  }
  expect(await Promise.all([1, 2, 3].map(() => queue.run(work, 1_000)))).toEqual([1, 1, 1])
})

test('a call that fails does not keep those after it', async () => {
  const queue = new CallQueue()
  const failing = queue.run(() => Promise.reject(new Error('it fails')), 1_000)
  const next = queue.run(async () => 'next', 1_000)
  await expect(failing).rejects.toThrow('it fails')
  expect(await next).toBe('next')
})

// Each call that hangs takes a thread that the durability of the log needs, too.
test('while one call hangs, no other begins', async () => {
  const queue = new CallQueue()
  const hung = Promise.withResolvers<string>()
  let began = 0
  const other = async () => {
    began++
  }
  let isGivenUp = () => false
  const first = queue.run((givenUp) => {
    isGivenUp = givenUp
    return hung.promise
  }, 1_000)
  const waiting = queue.run(other, 1_000)
  const outcomes = Promise.allSettled([first, waiting])
  expect(isGivenUp()).toBe(false)
  await vi.advanceTimersByTimeAsync(1_001)
  expect((await outcomes).map((one) => one.status)).toEqual(['rejected', 'rejected'])
  await expect(first).rejects.toMatchObject({ failure: 'away' })
  await expect(queue.run(other, 1_000)).rejects.toMatchObject({ failure: 'away' })
  expect([began, isGivenUp()]).toEqual([0, true])
  hung.resolve('late')
  await vi.advanceTimersByTimeAsync(0)
  await queue.run(other, 1_000)
  expect(began).toBe(1)
})

test('calls that wait have a bound', async () => {
  const queue = new CallQueue()
  const hung = Promise.withResolvers<void>()
  const calls = Array.from({ length: 1_001 }, () => queue.run(() => hung.promise, 1_000))
  await expect(queue.run(async () => undefined, 1_000)).rejects.toMatchObject({ failure: 'away' })
  hung.resolve()
  await Promise.all(calls)
})
