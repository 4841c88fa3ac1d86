import { serviceBusy } from '../../../errors.ts'
import { type Actor, auditRecord, type NewAuditRecord } from '../../../identity/audit/record.ts'
import type { Clock } from '../../../platform/clock.ts'
import { ErasedPlaces, type LogEraser } from '../../erasure/eraser.ts'
import { hashOfReference } from '../../erasure/erasure-list.ts'

export interface LogErasure {
  /** SHA-256 in hex of the team and the reference, as in the audit log. */
  readonly referenceSha256: string
  /** Number of references and record ids that were taken out of the database. */
  readonly places: number
  /** Number of requests that held them. */
  readonly requests: number
  /** Requests that were scored until then have lost the reference. */
  readonly untilMs: number
}

interface LogErasureOptions {
  readonly eraser: LogEraser
  readonly store: { record(record: NewAuditRecord): Promise<void> }
  readonly clock: Clock
  /** Takes the reference out of what else has it, and returns the number of places. */
  readonly others: { eraseReference(teamId: string, reference: string): Promise<number> }
}

/** Time by which the clock of another replica may be ahead. */
const CLOCKS_MS_MAX = 2_000

/** Takes references out of the score log of a team. */
export class LogErasureService {
  private readonly options: LogErasureOptions
  private isRunning = false

  constructor(options: LogErasureOptions) {
    this.options = options
  }

  /**
   * Erases a reference. The audit record is stored at the end, also if the erasure failed after it
   * had changed something: it can then be repeated.
   *
   * @throws AppError `unavailable`, also while another erasure is under way in this process
   */
  async erase(actor: Actor, reference: string): Promise<LogErasure> {
    if (this.isRunning) {
      throw serviceBusy()
    }
    this.isRunning = true
    const { teamId } = actor
    const untilMs = this.options.clock.epochMs() + CLOCKS_MS_MAX
    const erased = new ErasedPlaces()
    const referenceSha256 = hashOfReference(teamId, reference)
    let isComplete = false
    try {
      await this.options.eraser.erase({ teamId, reference, untilMs }, erased)
      // After the log, from which an import could take the reference again.
      erased.places += await this.options.others.eraseReference(teamId, reference)
      isComplete = true
    } finally {
      this.isRunning = false
      if (isComplete || erased.places > 0) {
        await this.record(actor, referenceSha256, erased, isComplete)
      }
    }
    return { referenceSha256, places: erased.places, requests: erased.requests, untilMs }
  }

  private async record(
    actor: Actor,
    referenceSha256: string,
    { places, requests }: ErasedPlaces,
    isComplete: boolean,
  ): Promise<void> {
    const { store, clock } = this.options
    const after = {
      reference_sha256: referenceSha256,
      places,
      requests,
      is_complete: isComplete,
    }
    const { userId, teamId } = actor
    const change = { action: 'log.erase', subject: teamId, after } as const
    // It is done, also if the session of its actor has ended meanwhile.
    await store.record(auditRecord({ userId, teamId }, change, clock.epochMs()))
  }
}

/** An erasure as the API and the command line show it. */
export function erasureFields({ referenceSha256, places, requests, untilMs }: LogErasure) {
  return {
    reference_sha256: referenceSha256,
    places,
    requests,
    covers_until: new Date(untilMs).toISOString(),
  }
}
