import { type DemoApplicant, readSample } from './client.ts'

interface SampleCard {
  readonly name: string
  readonly version: string
  readonly base_points: number
  readonly features: readonly {
    readonly name: string
    readonly bins: readonly { readonly points: number; readonly range?: string }[]
  }[]
}

/** Reasons for the scores of the sample card, by the name of a feature. */
export interface SampleReasons {
  readonly reason_codes: object
  readonly features: Readonly<
    Record<
      string,
      {
        readonly reason_code: string
        readonly source: string
        readonly actionable?: boolean
        /** Applicants of the sample in each bin. */
        readonly counts: readonly number[]
      }
    >
  >
}

/** The card with reason codes; reasons compare with the averages of the sample. */
export function explainedCard(card: SampleCard, { reason_codes, features }: SampleReasons) {
  return {
    ...card,
    reasons: { version: 1, method: 'mean_all' },
    reason_codes,
    features: card.features.map(({ bins, ...feature }) => {
      const { counts = [], ...declared } = features[feature.name] ?? {}
      return {
        ...feature,
        ...declared,
        bins: bins.map((bin, at) => ({ ...bin, baseline_count: counts[at] ?? 0 })),
      }
    }),
  }
}

export function readExplainedSample() {
  const card = readSample<SampleCard>('spec.json')
  return {
    spec: explainedCard(card, readSample<SampleReasons>('reasons.json')),
    sample: readSample<DemoApplicant[]>('applicants.json'),
  }
}
