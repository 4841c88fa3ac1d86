import { expect, test } from 'vitest'
import { AppError } from '../../../../src/errors.ts'
import { LogReader } from '../../../../src/log/reading/log-reader.ts'
import { newId } from '../../../../src/platform/ids.ts'

const ID = newId('req_', Date.parse('2026-11-22T10:00:00Z'))
const located = { read: async () => ({ requestId: ID }) }
const never = new Promise<null>(() => undefined)

interface Found {
  /** What the spool gives. */
  readonly waiting: Promise<typeof located | null>
  /** Each search in the database takes the next; the last one stays. */
  readonly stored: (boolean | Error)[]
}

function openReader({ waiting, stored }: Found) {
  const blocks = {
    async *blocksAt() {
      const [next] = stored
      if (stored.length > 1) stored.shift()
      if (next instanceof Error) throw next
      if (next === true) yield {}
    },
    tryOpen: () => ({ find: () => 0, modelIds: [], request: () => ({ requestId: ID }) }),
  }
  const models = { compiled: async () => new Map() }
  return new LogReader({ blocks, models, tail: { find: () => waiting } } as never)
}

// After an outage gigabytes wait in the spool.
test('a request that the database has is found while a search of the spool takes long', async () => {
  const reader = openReader({ waiting: never, stored: [true] })
  expect(await reader.find(ID)).toEqual({ requestId: ID })
  expect(await reader.has(ID)).toBe(true)
})

test('a request in a long spool is found, though the database does not answer', async () => {
  const gate = Promise.withResolvers<typeof located>()
  const away = new AppError('unavailable', 'the database is away, try again later')
  const found = openReader({ waiting: gate.promise, stored: [away] }).find(ID)
  setTimeout(() => gate.resolve(located), 50)
  expect(await found).toEqual({ requestId: ID })
})

test('a request that is drained during a long search of the spool is found in the database', async () => {
  const gate = Promise.withResolvers<null>()
  const found = openReader({ waiting: gate.promise, stored: [false, true] }).find(ID)
  setTimeout(() => gate.resolve(null), 50)
  expect(await found).toEqual({ requestId: ID })
})

test('a spool that can not be searched fails no search for what the database has', async () => {
  const { promise, reject } = Promise.withResolvers<null>()
  const reader = openReader({ waiting: promise, stored: [true] })
  setTimeout(() => reject(new Error('a disk is away')), 50)
  expect(await reader.find(ID)).toEqual({ requestId: ID })
  await expect(promise).rejects.toThrow('a disk is away')
})
