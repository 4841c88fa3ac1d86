import type { ScanQuery } from '../../log/index.ts'
import {
  isLaterScoring,
  readApplicant,
  type ScoredApplicant,
  type ScoringPlace,
} from '../../outcomes/applicant.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import { type LabelledApplicants, makeKey } from './labelled-applicants.ts'
import type { LoggedPopulation, PopulationLog } from './population.ts'
import { inTurns } from './statistics/in-turns.ts'
import type { PerformanceStore } from './store.ts'
import type { PerformanceTally } from './tally.ts'

interface CountOptions {
  readonly tally: PerformanceTally
  readonly labelled: LabelledApplicants
  /** With the last scorings that the log has of them. */
  readonly logged: LoggedPopulation
  readonly store: PerformanceStore
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
  const { tally, labelled, logged, store, query } = options
  const turns = new TurnTaker()
  let forgotten = 0
  let before: ScoringPlace | null = null
  do {
    const portion: readonly ScoredApplicant[] = await store.scorings(query, before)
    for (const applicant of portion) {
      if (turns.isOver) await turns.giveWay()
      const known = labelled.ofStored(applicant, applicant.referenceHash)
      if (known < 0 || labelled.isCounted(known)) continue
      const last = logged.findLast(known)
      if (last !== null && isLaterScoring(last, applicant)) continue
      if (!tally.add({ applicant, ...labelled.readFacts(known) })) continue
      labelled.setCounted(known)
      if (last === null) forgotten++
    }
    before = portion.at(-1) ?? null
  } while (before !== null)
  await countLogged(options)
  return forgotten
}

/** Counts those who were scored again after what is known of them was stored. */
async function countLogged({ tally, labelled, logged, log, query }: CountOptions): Promise<void> {
  const turns = new TurnTaker()
  const wanted = new Map<string, number>()
  const requestIds = new Set<string>()
  let [fromMs, lastMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  await inTurns(labelled, (known) => {
    if (labelled.isCounted(known) || !labelled.hasFacts(known)) return
    const last = logged.findLast(known)
    if (last === null) return
    wanted.set(makeKey(last), known)
    requestIds.add(last.requestId)
    fromMs = Math.min(fromMs, last.scoredAtMs)
    lastMs = Math.max(lastMs, last.scoredAtMs)
  })
  if (wanted.size === 0) return
  const picked = { requestIds, references: new Set<string>() }
  for await (const requests of log.pick({ ...query, fromMs, toMs: lastMs + 1 }, picked)) {
    for (const request of requests) {
      for (const recordIndex of request.rows.keys()) {
        const known = wanted.get(makeKey({ requestId: request.requestId, recordIndex }))
        if (known === undefined || labelled.isCounted(known)) continue
        const applicant = readApplicant(request, recordIndex)
        if (tally.add({ applicant, ...labelled.readFacts(known) })) labelled.setCounted(known)
      }
      if (turns.isOver) await turns.giveWay()
    }
  }
}
