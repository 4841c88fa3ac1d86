import type { ApprovalService } from '../deployments/approvals.ts'

interface SweepOptions {
  readonly approvals: Pick<ApprovalService, 'expireDue'>
  readonly everyMs?: number
  readonly onFailed: (error: unknown) => void
}

const EVERY_MS = 30_000

/**
 * Closes requests whose time is over, in each replica; replicas that meet do it once. Nobody can
 * approve an expired request before the sweep has closed it.
 */
export class ExpirySweep {
  private readonly options: SweepOptions
  private readonly timer: NodeJS.Timeout
  private round: Promise<void> | null = null

  constructor(options: SweepOptions) {
    this.options = options
    const next = () => {
      this.round ??= this.runOnce().finally(() => {
        this.round = null
      })
    }
    this.timer = setInterval(next, options.everyMs ?? EVERY_MS).unref()
  }

  /** One round; never rejects. */
  async runOnce(): Promise<void> {
    const { approvals, onFailed } = this.options
    try {
      await approvals.expireDue()
    } catch (error) {
      onFailed(error)
    }
  }

  /** Waits for the running round and starts no other. */
  async close(): Promise<void> {
    clearInterval(this.timer)
    await this.round
  }
}
