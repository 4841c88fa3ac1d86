import { expect, test } from 'vitest'
import { windowsOfIds } from '../../../src/outcomes/id-windows.ts'
import { newId } from '../../../src/platform/ids.ts'

const START_MS = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000
const idsAt = (minutes: readonly number[]) =>
  minutes.map((minute) => newId('req_', START_MS + minute * MINUTE_MS))
const listMinutes = (ids: readonly string[]) =>
  windowsOfIds(ids).map(({ fromMs, toMs }) =>
    [fromMs, toMs].map((ms) => (ms - START_MS) / MINUTE_MS),
  )

test('the log is read only around the times of the requests', () => {
  const ids = idsAt([500_000, 0, 12, 24.5, 500_005])
  expect(listMinutes(ids)).toEqual([
    [-2, 22],
    [22.5, 34.5],
    [499_998, 500_015],
  ])
  const [first, second, third] = windowsOfIds(ids)
  expect(first?.requestIds).toEqual(new Set([ids[1], ids[2]]))
  expect(second?.requestIds).toEqual(new Set([ids[3]]))
  expect(third?.requestIds).toEqual(new Set([ids[0], ids[4]]))
})

test('beyond 100 windows the nearest become one, and no request is left out', () => {
  // 150 pairs: 20 minutes within a pair, an hour and more between them.
  const minutes = Array.from({ length: 150 }, (_, pair) => [pair * 90, pair * 90 + 20]).flat()
  const ids = idsAt(minutes)
  const windows = windowsOfIds(ids)
  expect(windows.length).toBe(100)
  expect(new Set(windows.flatMap(({ requestIds }) => [...requestIds]))).toEqual(new Set(ids))
  for (const [index, { fromMs }] of windows.entries()) {
    expect(fromMs).toBeGreaterThan(windows[index - 1]?.toMs ?? Number.NEGATIVE_INFINITY)
  }
  expect(listMinutes(ids).every(([from, to]) => (to ?? 0) - (from ?? 0) >= 32)).toBe(true)
})

test('no id gives no window', () => {
  expect(windowsOfIds([])).toEqual([])
})
