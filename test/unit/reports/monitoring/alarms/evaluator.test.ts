import { expect, test } from 'vitest'
import { AlarmEvaluator } from '../../../../../src/reports/monitoring/alarms/evaluator.ts'
import { ManualClock } from '../../../../support/start/manual-clock.ts'

// With an hour of evaluations in line the metric of overdue alarms would be an hour old.
test('how many alarms are overdue is known before the first is evaluated', async () => {
  const seen: unknown[] = []
  const counts = { on: 3, overdue: 2 }
  let left = 2
  const evaluator: AlarmEvaluator = new AlarmEvaluator({
    store: {
      take: async () => (left-- > 0 ? { deploymentId: 'dep_1', teamId: 'team_1', days: 30 } : null),
      counts: async () => counts,
      postpone: async () => undefined,
    },
    monitoring: {
      evaluate: async () => {
        seen.push(evaluator.alarms)
        throw new Error('it takes too long')
      },
    },
    clock: new ManualClock(),
    onFailed: () => undefined,
    // The evaluator calls no other methods of these.
  } as unknown as ConstructorParameters<typeof AlarmEvaluator>[0])
  await evaluator.periodic.runOnce()
  expect(seen).toEqual([counts, counts])
})
