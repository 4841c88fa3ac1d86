import { expect, test } from 'vitest'
import { PrimaryFinder } from '../../../src/platform/db/primary-finder.ts'
import { startFakePostgres } from '../../support/servers/fake-postgres.ts'

interface Role {
  readonly isStandby?: boolean
  readonly segment: string
  readonly afterMs?: number
}

function startServer({ isStandby = false, segment, afterMs = 0 }: Role): Promise<number> {
  return startFakePostgres((statement) => {
    if (statement.includes('pg_is_in_recovery'))
      return { column: 'is_standby', value: isStandby, afterMs }
    return { column: 'segment', value: segment }
  })
}

async function foundAmong(...roles: Role[]): Promise<number> {
  const ports = await Promise.all(roles.map(startServer))
  const servers = ports.map((port) => ({ host: '127.0.0.1', port }))
  const url = `postgres://postgres@127.0.0.1:${ports[0]}/postgres`
  const { port } = await new PrimaryFinder({ url, servers }).find()
  return ports.indexOf(port)
}

const OLD = '000000010000000000000009'
const NEW = '000000020000000000000003'
/** The tenth timeline: its digits are hexadecimal. */
const LATER = '0000000A0000000000000003'

// An old primary that nobody stopped answers as fast as ever, and what it takes is lost.
test.each([
  ['that answers first', [{ segment: OLD }, { segment: NEW, afterMs: 20 }], 1],
  ['that answers last', [{ segment: NEW }, { segment: OLD, afterMs: 20 }], 0],
  ['many timelines ago', [{ segment: NEW }, { segment: LATER, afterMs: 20 }], 1],
] as const)('of two primaries the newer is taken, beside an older one %s', async (_, roles, at) => {
  expect(await foundAmong(...roles)).toBe(at)
})

test('a standby is never taken, whatever its timeline', async () => {
  const standby = { isStandby: true, segment: LATER }
  expect(await foundAmong(standby, { segment: OLD, afterMs: 20 })).toBe(1)
})

test('a server that is slow to answer delays a primary by 200 ms at the most', async () => {
  const startedMs = performance.now()
  expect(await foundAmong({ segment: OLD }, { segment: OLD, afterMs: 2_000 })).toBe(0)
  expect(performance.now() - startedMs).toBeLessThan(1_500)
})
