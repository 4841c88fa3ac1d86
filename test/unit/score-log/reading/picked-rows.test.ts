import { expect, test } from 'vitest'
import { type FirstFormStore, LogRows } from '../../../../src/score-log/reading/log-rows.ts'

const QUERY = { teamId: 'team_1', deploymentId: 'dep_1', fromMs: 1_000, toMs: 9_000 }

/** From when on requests are read for what is picked, and how many may be newer. */
async function readFrom(
  picked: { ids?: string[]; references?: string[] },
  behindMs: number | null,
) {
  const asked: number[] = []
  const from: number[] = []
  const store: Partial<FirstFormStore> = {
    timeBehind: async (_query, requests) => {
      asked.push(requests)
      return behindMs
    },
    portion: async ({ fromMs }) => {
      from.push(fromMs)
      return []
    },
  }
  const sets = { requestIds: new Set(picked.ids), references: new Set(picked.references) }
  for await (const _ of new LogRows(store as FirstFormStore).pick(QUERY, sets));
  return { asked, from }
}

// No index leads from a reference to its rows: outcomes of a few references could else read a table
// with billions of rows.
test('references are picked from the newest 100,000 requests of the first form', async () => {
  const references = ['A-1']
  expect(await readFrom({ references }, 5_000)).toEqual({ asked: [100_000], from: [5_000] })
  expect(await readFrom({ references }, null)).toEqual({ asked: [100_000], from: [1_000] })
  expect(await readFrom({ ids: ['req_1'] }, 5_000)).toEqual({ asked: [], from: [1_000] })
})
