import type { Static } from '@sinclair/typebox'
import type { ScoreResult } from '../../schemas/scoring.ts'

/** The sample card as its file has it. */
export interface SampleCard {
  readonly name: string
  readonly version: string
  readonly base_points: number
  readonly features: readonly {
    readonly name: string
    readonly bins: readonly object[]
  }[]
}

/** What explains the scores of the sample card, by the name of a feature. */
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

type Answer = Static<typeof ScoreResult>

/** Prints the reasons of an applicant in two languages. */
export function printReasons(id: string, english: Answer, german: Answer): void {
  const { score, risk_grade: grade, reasons = [], reason_method: method } = english
  console.log(`Applicant ${id} has ${score} points, grade ${grade}: the reasons for a decline`)
  for (const [at, { rank, code, text, distance }] of reasons.entries()) {
    const translated = german.reasons?.[at]?.text ?? ''
    console.log(
      `  ${rank}. ${code}  ${text.padEnd(36)} ${translated.padEnd(36)} ${distance.toFixed(1).padStart(6)} points below`,
    )
  }
  console.log(`  compared with the average points of ${method?.population_n} applicants\n`)
}
