/** One scoring of an applicant, in the order of time and record. */
export interface KnownScoring {
  readonly key: string
  readonly reference: string | null
  readonly score: number
}

/** A decision or an outcome as it was sent for one scoring, in the order of arrival. */
export interface KnownFact {
  readonly key: string
  readonly kind: 'decision' | 'performance'
  /** `as_of` or `decided_at`. */
  readonly at: string
  /** `approved`, `good` and so on. */
  readonly said: string
  readonly bookedAt: string | null
}

/** What a report must count, written from the texts alone. */
export interface NaiveReport {
  readonly scored: number
  readonly approved: number
  readonly booked: number
  readonly matched: number
  readonly good: number
  readonly bad: number
  /** Null with one class only. */
  readonly auc: number | null
  /** Accounts in vintages. */
  readonly accounts: number
  /** Applicants without a good or bad outcome. */
  readonly unlabelled: number
}

/** Recounts applicants: the scorings with one reference are one, with the last score. */
export function naiveReport(
  scorings: readonly KnownScoring[],
  facts: readonly KnownFact[],
): NaiveReport {
  const stored = withoutRepetition(facts)
  const names = new Set(scorings.map(formatName))
  const applicants = [...names].map((name) => {
    const own = scorings.filter((scoring) => formatName(scoring) === name)
    const keys = new Set(own.map(({ key }) => key))
    const known = (kind: KnownFact['kind']) =>
      stored
        .filter((fact) => fact.kind === kind && keys.has(fact.key))
        .reduce<KnownFact | null>((best, fact) => {
          return best === null || fact.at >= best.at ? fact : best
        }, null)
    const [outcome, decision] = [known('performance'), known('decision')]
    return {
      score: own.at(-1)?.score ?? Number.NaN,
      outcome: outcome?.said ?? null,
      isApproved: decision?.said === 'approved',
      bookedAt: outcome?.bookedAt ?? decision?.bookedAt ?? null,
    }
  })
  const of = (said: string) => applicants.filter(({ outcome }) => outcome === said)
  const [goods, bads] = [of('good'), of('bad')]
  const wins = goods.flatMap(({ score }) =>
    bads.map((bad): number => (score > bad.score ? 1 : score === bad.score ? 0.5 : 0)),
  )
  const sum = wins.reduce((total, win) => total + win, 0)
  const isKnown = ({ outcome }: { outcome: string | null }) => outcome !== null
  return {
    scored: applicants.length,
    approved: applicants.filter(({ isApproved }) => isApproved).length,
    booked: applicants.filter(({ bookedAt }) => bookedAt !== null).length,
    matched: applicants.filter(isKnown).length,
    good: goods.length,
    bad: bads.length,
    auc: wins.length === 0 ? null : sum / wins.length,
    accounts: applicants.filter(
      ({ outcome, bookedAt }) => outcome !== null && outcome !== 'excluded' && bookedAt !== null,
    ).length,
    unlabelled: applicants.length - goods.length - bads.length,
  }
}

const formatName = ({ key, reference }: KnownScoring) =>
  reference === null ? key : `=${reference}`

/** The same again for the same moment changes nothing, and has no place in the order. */
function withoutRepetition(facts: readonly KnownFact[]): KnownFact[] {
  const stored: KnownFact[] = []
  for (const fact of facts) {
    const before = stored.findLast(
      ({ key, kind, at }) => key === fact.key && kind === fact.kind && at === fact.at,
    )
    if (JSON.stringify(before) !== JSON.stringify(fact)) stored.push(fact)
  }
  return stored
}
