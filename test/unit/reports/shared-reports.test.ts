import { expect, test } from 'vitest'
import type { Caller } from '../../../src/http/access/caller.ts'
import { sharedReports } from '../../../src/reports/reports-thread.ts'

const user = (teamId: string) => ({ kind: 'user', teamId }) as Caller
const key = (environment: string | null) =>
  ({ kind: 'key', teamId: 'team_1', environment, admitsAddress: null }) as unknown as Caller
const ASKED = { slug: 'dep_1', from: 1 }

/** Reports that end when told to, and the number that were made. */
function slowReports() {
  const ends: ((value: unknown) => void)[] = []
  const reports = sharedReports(() => new Promise((resolve) => ends.push(resolve)))
  return { ends, ask: reports.monitoring.cutoffs as (...args: unknown[]) => Promise<unknown> }
}

test('callers of a team who ask the same at once get one report', async () => {
  const { ends, ask } = slowReports()
  const both = [ask(user('team_1'), ASKED), ask(user('team_1'), { ...ASKED })]
  expect(ends).toHaveLength(1)
  ends[0]?.('report')
  expect(await Promise.all(both)).toEqual(['report', 'report'])
  void ask(user('team_1'), ASKED)
  expect(ends).toHaveLength(2)
})

test('another team, another environment of a key, and other questions have their own', () => {
  const { ends, ask } = slowReports()
  void ask(user('team_1'), ASKED)
  void ask(user('team_2'), ASKED)
  void ask(key('staging'), ASKED)
  void ask(key('production'), ASKED)
  void ask(user('team_1'), { ...ASKED, from: 2 })
  expect(ends).toHaveLength(5)
})
