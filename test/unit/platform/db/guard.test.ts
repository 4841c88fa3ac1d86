import { expect, test } from 'vitest'
import { AppError } from '../../../../src/errors.ts'
import { ForeignRowError } from '../../../../src/platform/db/asked-rows.ts'
import { guardStore } from '../../../../src/platform/db/guard.ts'
import { DatabaseHealth } from '../../../../src/platform/db/health.ts'

const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
const failing = (error: Error) => ({ read: () => Promise.reject(error) })

/** Calls a guarded store whose call fails. */
async function ended(error: Error) {
  const health = new DatabaseHealth({ epochMs: () => 0, monotonicMs: () => 0 })
  const renewals: unknown[] = []
  const renew = (isCertain?: boolean) => renewals.push(isCertain)
  const store = guardStore(failing(error), { deadlineMs: 1_000, renew, health })
  const thrown: unknown = await store.read().catch((reason: unknown) => reason)
  return { thrown, calls: health.calls, renewals }
}

test('a connection that is refused says that the database is away', async () => {
  const { thrown, calls } = await ended(refused)
  expect(thrown).toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('database'),
  })
  expect(calls).toMatchObject({ away: 1 })
})

test('a foreign row is an internal error that is counted, and replaces the connections', async () => {
  const foreign = new Error('in drizzle', { cause: new ForeignRowError('the row of another one') })
  const { thrown, calls, renewals } = await ended(foreign)
  expect(thrown).toBe(foreign)
  expect(calls).toMatchObject({ wrong: 1, ok: 0, away: 0 })
  expect(renewals).toEqual([true])
})

// Replicas would become unready because a bucket is away.
test('an error that says what is away is not the database of its cause', async () => {
  const archive = new AppError('unavailable', 'the archive is away', { cause: refused })
  const { thrown, calls } = await ended(archive)
  expect(thrown).toBe(archive)
  expect(calls).toMatchObject({ away: 0, refused: 1 })
})

test.each([
  ['28P01', 'denied'],
  ['3D000', 'denied'],
  ['42501', 'denied'],
  ['42P01', 'denied'],
  ['58030', 'denied'],
  ['XX001', 'denied'],
  ['0A000', 'denied'],
  ['CERT_HAS_EXPIRED', 'away'],
  ['SASL_SIGNATURE_MISMATCH', 'away'],
  ['EPERM', 'away'],
  ['57P03', 'away'],
  ['53300', 'away'],
  ['57014', 'busy'],
  ['40001', 'busy'],
  ['55P03', 'busy'],
])('%s is unavailable to the caller, and counts as %s', async (code, outcome) => {
  const { thrown, calls } = await ended(Object.assign(new Error('failed'), { code }))
  expect(thrown).toMatchObject({ code: 'unavailable' })
  expect(calls).toMatchObject({ [outcome]: 1 })
})

test.each(['23505', '22P02', '42601', '54000', 'P0001', 'UNDEFINED_VALUE', 'ERR_INVALID_ARG_TYPE'])(
  '%s is the fault of the statement, and an answer of the database',
  async (code) => {
    const error = Object.assign(new Error('failed'), { code })
    const { thrown, calls } = await ended(error)
    expect(thrown).toBe(error)
    expect(calls).toMatchObject({ refused: 1 })
  },
)
