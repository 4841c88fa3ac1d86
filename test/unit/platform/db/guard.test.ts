import { expect, test } from 'vitest'
import { AppError } from '../../../../src/errors.ts'
import { guardStore } from '../../../../src/platform/db/guard.ts'
import { DatabaseHealth } from '../../../../src/platform/db/health.ts'

const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
const failing = (error: Error) => ({ read: () => Promise.reject(error) })

/** Calls a guarded store whose call fails. */
async function ended(error: Error) {
  const health = new DatabaseHealth({ epochMs: () => 0, monotonicMs: () => 0 })
  const store = guardStore(failing(error), { deadlineMs: 1_000, onOverdue: () => {}, health })
  const thrown: unknown = await store.read().catch((reason: unknown) => reason)
  return { thrown, calls: health.calls }
}

test('a connection that is refused says that the database is away', async () => {
  const { thrown, calls } = await ended(refused)
  expect(thrown).toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('database'),
  })
  expect(calls).toMatchObject({ away: 1 })
})

// Replicas would become unready because a bucket is away.
test('an error that says what is away is not the database of its cause', async () => {
  const archive = new AppError('unavailable', 'the archive is away', { cause: refused })
  const { thrown, calls } = await ended(archive)
  expect(thrown).toBe(archive)
  expect(calls).toMatchObject({ away: 0, refused: 1 })
})
