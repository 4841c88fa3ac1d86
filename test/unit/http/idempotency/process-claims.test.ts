import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ProcessClaims } from '../../../../src/http/idempotency/score-claims/process-claims.ts'
import type { ScoreClaim } from '../../../../src/http/idempotency/score-claims/score-claim.ts'

const STORED_KEY = keyHash(200)

let nowMs = 0
/** Age of the oldest score that is not in the database. */
let undrainedMs: number | null = null
let readings: Promise<void>

beforeEach(() => {
  vi.useFakeTimers()
  nowMs = 1_000_000
  undrainedMs = null
  readings = Promise.resolve()
})
afterEach(() => {
  vi.useRealTimers()
})

function keyHash(n: number): Uint8Array {
  const hash = new Uint8Array(16)
  for (let at = 0; at < 16; at++) hash[at] = (n * 31 + at * 101) % 256
  return hash
}

function claimOf(n: number, requestId = `req_${n}`): ScoreClaim {
  return { keyHash: keyHash(n), bodyTag: 'of body1', requestId }
}

function open(): ProcessClaims {
  return new ProcessClaims({
    clock: { monotonicMs: () => nowMs, epochMs: () => nowMs },
    areDrainedSince: (sinceMs) => undrainedMs === null || undrainedMs < nowMs - sinceMs,
    readKeys: async function* () {
      await readings
      yield [{ keyHash: STORED_KEY }]
    },
    onFailed: () => undefined,
  })
}

async function openRead(): Promise<ProcessClaims> {
  const claims = open()
  await pass(0)
  return claims
}

async function pass(ms: number): Promise<void> {
  nowMs += ms
  await vi.advanceTimersByTimeAsync(ms)
}

async function stateOf(claims: ProcessClaims, claim: ScoreClaim) {
  return (await claims.claim(claim)).held?.state ?? 'free'
}

test('a key belongs to one request until that is logged or gives it back', async () => {
  const claims = await openRead()
  expect(await stateOf(claims, claimOf(1))).toBe('free')
  expect(await claims.claim(claimOf(1, 'req_other'))).toMatchObject({
    held: { state: 'claimed', requestId: 'req_1', bodyTag: 'of body1' },
  })
  expect(await claims.change(claimOf(1, 'req_other'), 'free')).toBe(false)
  claims.noteLogged(claimOf(1), () => undefined)
  expect(await claims.claim(claimOf(1, 'req_other'))).toMatchObject({
    held: { state: 'logged', requestId: 'req_1' },
  })
})

// The process that takes over a claim may be the one that has it.
test('a claim that was taken over is not logged for its first request', async () => {
  const claims = await openRead()
  await claims.claim(claimOf(1))
  expect(await claims.change(claimOf(1), claimOf(1, 'req_second'))).toBe(true)
  claims.noteLogged(claimOf(1), () => undefined)
  expect(await stateOf(claims, claimOf(1, 'req_third'))).toBe('claimed')
  expect(await stateOf(claims, claimOf(1, 'req_second'))).toBe('free')
})

test('a key that was given back is left to the database, which nobody else has written', async () => {
  const claims = await openRead()
  await claims.claim(claimOf(1))
  expect(await claims.change(claimOf(1), 'free')).toBe(true)
  expect(await stateOf(claims, claimOf(1, 'req_other'))).toBe('stored')
})

test('a logged key is known until the database has it, however long that takes', async () => {
  const claims = await openRead()
  await claims.claim(claimOf(1))
  claims.noteLogged(claimOf(1), () => undefined)
  for (let second = 0; second < 60; second++) {
    undrainedMs = 500 + second * 1_000
    await pass(1_000)
    expect(await stateOf(claims, claimOf(1, 'req_other'))).toBe('logged')
  }
  undrainedMs = 10
  for (let second = 0; second < 3; second++) await pass(1_100)
  expect(await stateOf(claims, claimOf(1, 'req_other'))).toBe('stored')
})

test('until the keys of the database are read, it is asked for each key', async () => {
  const gate = Promise.withResolvers<void>()
  readings = gate.promise
  const claims = await openRead()
  expect(await stateOf(claims, claimOf(1))).toBe('stored')
  gate.resolve()
  await pass(0)
  expect(await stateOf(claims, claimOf(2))).toBe('free')
  const stored = { keyHash: STORED_KEY, bodyTag: 'of body1', requestId: 'req_new' }
  expect(await stateOf(claims, stored)).toBe('stored')
  expect(await stateOf(claims, claimOf(1, 'req_other'))).toBe('stored')
})

// The process before was killed with answered scores in its spool.
test('a key waits for scores that the process before has left, but not for ever', async () => {
  undrainedMs = 5_000
  const claims = open()
  const first = vi.fn()
  void claims.claim(claimOf(1)).then(first)
  await pass(1_000)
  undrainedMs = 6_000
  expect(first).not.toHaveBeenCalled()
  undrainedMs = null
  await pass(100)
  expect(first).toHaveBeenCalledTimes(1)
  undrainedMs = 5_000
  const late = open()
  const second = vi.fn()
  void late.claim(claimOf(1)).then(second)
  for (let at = 0; at < 40; at++) {
    undrainedMs += 100
    await pass(100)
  }
  expect(second).toHaveBeenCalledTimes(1)
})

test('keys are read again after a failure', async () => {
  readings = Promise.reject(new Error('the database is away'))
  const claims = await openRead()
  expect(await stateOf(claims, claimOf(1))).toBe('stored')
  readings = Promise.resolve()
  await pass(1_200)
  expect(await stateOf(claims, claimOf(2))).toBe('free')
})
