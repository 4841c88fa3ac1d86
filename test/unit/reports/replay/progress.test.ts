import { expect, test } from 'vitest'
import type { Database } from '../../../../src/platform/db/client.ts'
import { ReplayStore } from '../../../../src/reports/replay/store.ts'

test('a replay goes on when the database fails to count what it will read', async () => {
  const db = { execute: () => Promise.reject(new Error('canceled')) } as unknown as Database
  const query = { deploymentId: 'dep_1', fromMs: Number.NEGATIVE_INFINITY, toMs: 1 }
  expect(await new ReplayStore(db).countApplicants(query)).toBe(0)
})
