import { insertEvent } from '../../../identity/outbox.ts'
import type { StabilityEvents } from './alarm.ts'
import { basisFields } from './verdict.ts'

/** Tells webhooks of changed verdicts. */
export const verdictEvents: StabilityEvents = {
  add: async (tx, { type, teamId, deploymentId, at, basis, thresholds, ...change }) => {
    const data = {
      deployment_id: deploymentId,
      ...change,
      ...thresholds,
      ...basisFields(basis),
    }
    await insertEvent(tx, { teamId, type, at, data })
  },
}
