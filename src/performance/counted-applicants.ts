import {
  applicantOf,
  isLaterScoring,
  type ScoredApplicant,
  type ScoringPlace,
} from '../outcomes/applicant.ts'
import type { ScanQuery } from '../score-log/reading/log-query.ts'
import { TurnTaker } from '../score-log/reading/turn-taker.ts'
import type { LabelledStore } from './labelled.ts'
import { type KnownApplicant, keyOf, type LabelledApplicants } from './labelled-applicants.ts'
import type { PopulationLog } from './population.ts'
import { inTurns } from './statistics/in-turns.ts'
import type { PerformanceTally } from './tally.ts'

interface CountOptions {
  readonly tally: PerformanceTally
  /** With the last scorings that the log has of them. */
  readonly labelled: LabelledApplicants
  readonly store: LabelledStore
  readonly log: Pick<PopulationLog, 'pick'>
  readonly query: ScanQuery & { readonly deploymentId: string }
}

/**
 * Counts each applicant of whom something is known once, with the last score of the model in the
 * period: that of a stored scoring, or of a later one that only the log has. It gives way to the
 * event loop.
 *
 * @returns the number of applicants that the log has forgotten
 */
export async function countApplicants(options: CountOptions): Promise<number> {
  const { tally, labelled, store, query } = options
  const turns = new TurnTaker()
  let forgotten = 0
  let before: ScoringPlace | null = null
  do {
    const portion: readonly ScoredApplicant[] = await store.scorings(query, before)
    for (const applicant of portion) {
      if (turns.isOver) await turns.giveWay()
      const known = labelled.ofStored(applicant, applicant.referenceHash)
      if (known === null || known.isCounted) continue
      const { performance, decision, logged } = known
      if (logged !== null && isLaterScoring(logged, applicant)) continue
      known.isCounted = tally.add({ applicant, performance, decision })
      if (known.isCounted && logged === null) forgotten++
    }
    before = portion.at(-1) ?? null
  } while (before !== null)
  await countLogged(options)
  return forgotten
}

/** Those who were scored again after what is known of them was stored. */
async function countLogged({ tally, labelled, log, query }: CountOptions): Promise<void> {
  const turns = new TurnTaker()
  const wanted = new Map<string, KnownApplicant>()
  const requestIds = new Set<string>()
  let [fromMs, lastMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  await inTurns(labelled, (known) => {
    const { logged, isCounted, performance, decision } = known
    if (isCounted || logged === null || (performance === null && decision === null)) return
    wanted.set(keyOf(logged), known)
    requestIds.add(logged.requestId)
    fromMs = Math.min(fromMs, logged.scoredAtMs)
    lastMs = Math.max(lastMs, logged.scoredAtMs)
  })
  if (wanted.size === 0) return
  const picked = { requestIds, references: new Set<string>() }
  for await (const requests of log.pick({ ...query, fromMs, toMs: lastMs + 1 }, picked)) {
    for (const request of requests) {
      for (const recordIndex of request.rows.keys()) {
        const known = wanted.get(keyOf({ requestId: request.requestId, recordIndex }))
        if (known === undefined || known.isCounted) continue
        const { performance, decision } = known
        const applicant = applicantOf(request, recordIndex)
        known.isCounted = tally.add({ applicant, performance, decision })
      }
      if (turns.isOver) await turns.giveWay()
    }
  }
}
