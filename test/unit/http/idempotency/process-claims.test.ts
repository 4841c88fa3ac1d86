import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ProcessClaims } from '../../../../src/http/idempotency/score-claims/process-claims.ts'
import type { ScoreClaim } from '../../../../src/http/idempotency/score-claims/score-claim.ts'
import { SEEN_BYTES } from '../../../../src/http/idempotency/score-claims/seen-keys.ts'

const STORED_KEY = keyHash(200)

let nowMs = 0
/** Number of scores that were logged, and that the database has. */
let logged = 0
let drained = 0
/** Keys of scores that the process before has left. */
let left: Uint8Array[] = []
let readings: Promise<void>
let spoolReadings: Promise<void>
let ready: Promise<void>

beforeEach(() => {
  vi.useFakeTimers()
  nowMs = 1_000_000
  logged = 0
  drained = 0
  left = []
  readings = Promise.resolve()
  spoolReadings = Promise.resolve()
  ready = Promise.resolve()
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
    clock: { monotonicMs: () => nowMs, epochMs: () => 0 },
    ready,
    waiting: {
      mark: () => logged,
      isDrainedTo: (mark) => drained >= Number(mark),
      readKeys: async function* () {
        await spoolReadings
        yield* left
      },
    },
    readStored: async function* () {
      await readings
      yield STORED_KEY.subarray(0, SEEN_BYTES)
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

test('a key that was given back is as new', async () => {
  const claims = await openRead()
  await claims.claim(claimOf(1))
  expect(await claims.change(claimOf(1), 'free')).toBe(true)
  expect(await stateOf(claims, claimOf(1, 'req_other'))).toBe('free')
})

test('a logged key is known until the database has it, however long that takes', async () => {
  const claims = await openRead()
  await claims.claim(claimOf(1))
  logged = 1
  claims.noteLogged(claimOf(1), () => undefined)
  for (let second = 0; second < 60; second++) {
    await pass(1_100)
    expect(await stateOf(claims, claimOf(1, 'req_other'))).toBe('logged')
  }
  drained = 1
  for (let second = 0; second < 3; second++) await pass(1_100)
  expect(await stateOf(claims, claimOf(1, 'req_other'))).toBe('stored')
})

test('the database is asked for a key that waits in the memory for a day', async () => {
  const claims = await openRead()
  await claims.claim(claimOf(1))
  logged = 1
  claims.noteLogged(claimOf(1), () => undefined)
  nowMs += 24 * 60 * 60 * 1000 - 1
  expect(await stateOf(claims, claimOf(1, 'req_other'))).toBe('logged')
  nowMs += 1
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
test('a key that was left waits for the database, and then asks to come again', async () => {
  logged = 1
  left = [keyHash(1)]
  const claims = await openRead()
  expect(await stateOf(claims, claimOf(2))).toBe('free')
  for (let time = 0; time < 3; time++) {
    const answer = stateOf(claims, claimOf(1, `req_${time}`))
    for (let waited = 0; waited < 31; waited++) await pass(100)
    expect(await answer).toBe('claimed')
  }
  const answer = stateOf(claims, claimOf(1))
  await pass(500)
  drained = 1
  await pass(50)
  expect(await answer).toBe('stored')
})

// Its files may be long.
test('until the keys that were left are read, each key waits', async () => {
  logged = 1
  const claims = open()
  const early = vi.fn()
  claims.claimEarly(claimOf(2), early)
  expect(early).not.toHaveBeenCalled()
  await pass(50)
  expect(early).toHaveBeenCalledTimes(1)
})

// A file of the spool may not open while the process has too many others open.
test('keys that were left are read again after a failure, for 30 s', async () => {
  logged = 1
  left = [keyHash(1)]
  spoolReadings = Promise.reject(new Error('too many open files'))
  const claims = await openRead()
  const early = stateOf(claims, claimOf(1))
  for (let waited = 0; waited < 31; waited++) await pass(100)
  expect(await early).toBe('claimed')
  spoolReadings = Promise.resolve()
  await pass(1_100)
  expect(await stateOf(claims, claimOf(2))).toBe('free')
  spoolReadings = Promise.reject(new Error('the disk is broken'))
  const without = await openRead()
  for (let second = 0; second < 32; second++) await pass(1_000)
  expect(await stateOf(without, claimOf(2))).toBe('free')
})

// Until then it may say that all is drained, and go back.
test('what was left is asked of a spool that knows what the database has', async () => {
  const gate = Promise.withResolvers<void>()
  ready = gate.promise
  const claims = await openRead()
  logged = 1
  left = [keyHash(1)]
  gate.resolve()
  const answer = stateOf(claims, claimOf(1))
  for (let waited = 0; waited < 31; waited++) await pass(100)
  expect(await answer).toBe('claimed')
})

test('keys are read again after a failure', async () => {
  readings = Promise.reject(new Error('the database is away'))
  const claims = await openRead()
  expect(await stateOf(claims, claimOf(1))).toBe('stored')
  readings = Promise.resolve()
  await pass(1_200)
  expect(await stateOf(claims, claimOf(2))).toBe('free')
})
