import { PostgresApprovalStore } from '../deployments/approval-store.ts'
import { ApprovalService } from '../deployments/approvals.ts'
import { type OpenWebhooks, openWebhooks, type WebhookOptions } from '../webhooks/open.ts'
import type { WebhookService } from '../webhooks/service.ts'
import type { ChangeReports } from './change-scans.ts'
import { DifferenceReader } from './difference.ts'
import { ExpirySweep } from './sweep.ts'

interface ChangeControlOptions extends WebhookOptions {
  readonly changes: ChangeReports
  /** Called with the id of each changed deployment, before the response is sent. */
  readonly onChange: (deploymentId: string) => void
}

export interface ChangeControlServices {
  readonly approvals: ApprovalService
  readonly differences: DifferenceReader
  readonly webhooks: WebhookService
  /** What delivers, cleans up and looks for events beside requests. */
  readonly webhookParts: OpenWebhooks
}

/** What decides on changes that wait, and what tells of changes. */
export interface ChangeControl {
  readonly services: ChangeControlServices
  close(): Promise<void>
}

/** Wires both, begins to close requests whose time is over, and begins to deliver events. */
export function openChangeControl(options: ChangeControlOptions): ChangeControl {
  const { database, guarded, changes, clock, onChange, log, factsOf } = options
  const store = guarded(new PostgresApprovalStore(database.db))
  const approvals = new ApprovalService({ store, clock, onChange })
  const sweep = new ExpirySweep({
    approvals,
    onFailed: (error) =>
      log.warn({ err: factsOf(error) }, 'expired change requests could not be closed'),
  })
  const webhooks = openWebhooks(options)
  const differences = new DifferenceReader({ changes, clock })
  return {
    services: {
      approvals,
      differences,
      webhooks: webhooks.service,
      webhookParts: webhooks,
    },
    close: async () => void (await Promise.all([sweep.close(), webhooks.close()])),
  }
}
