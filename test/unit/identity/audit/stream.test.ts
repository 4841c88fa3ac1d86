import { expect, test } from 'vitest'
import { auditRecord } from '../../../../src/identity/audit/record.ts'
import { noteForStream, withAuditStream } from '../../../../src/identity/audit/stream.ts'
import type { Database, DatabaseHandle, Transaction } from '../../../../src/platform/db/client.ts'

const record = (subject: string) =>
  auditRecord({ userId: 'usr_1', teamId: 'team_1' }, { action: 'key.revoke', subject }, 0)

/** A database whose transactions end as they are told, and what is streamed of them. */
function streaming(commit: () => Promise<void>) {
  const lines: string[] = []
  const db = {
    name: 'the database',
    transaction: async (work: (tx: Transaction) => Promise<unknown>) => {
      const result = await work({} as Transaction)
      await commit()
      return result
    },
  }
  const handle = { db: db as unknown as Database } as DatabaseHandle
  const { db: streamed } = withAuditStream(handle, (line) => lines.push(line))
  return { lines, streamed, subjects: () => lines.map((line) => JSON.parse(line).subject) }
}

test('a record is streamed after its commit, once, in the order of its transaction', async () => {
  const committing = Promise.withResolvers<void>()
  const { streamed, subjects } = streaming(() => committing.promise)
  const done = streamed.transaction(async (tx) => {
    noteForStream(tx, record('first'))
    noteForStream(tx, record('second'))
    return 'the result'
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(subjects()).toEqual([])
  committing.resolve()
  expect(await done).toBe('the result')
  expect(subjects()).toEqual(['first', 'second'])
})

// Whoever investigates would look for a change that never was.
test('a record whose transaction fails is never streamed', async () => {
  const { streamed, lines } = streaming(async () => {
    throw new Error('the connection is lost')
  })
  const failed = streamed.transaction(async (tx) => noteForStream(tx, record('never')))
  await expect(failed).rejects.toThrow('the connection is lost')
  const thrown = streamed.transaction(async (tx) => {
    noteForStream(tx, record('never'))
    throw new Error('refused')
  })
  await expect(thrown).rejects.toThrow('refused')
  expect(lines).toEqual([])
})

test('the rest of the database is its own, and without a stream the handle is the same', () => {
  const { streamed } = streaming(async () => {})
  expect((streamed as unknown as { name: string }).name).toBe('the database')
  const handle = {} as DatabaseHandle
  expect(withAuditStream(handle, null)).toBe(handle)
})
