import { readFileSync } from 'node:fs'
import type { NaiveFeature, NaiveSpec } from '../naive/naive-evaluator.ts'

interface SampleApplicant {
  readonly id: string
  readonly applicant: Readonly<Record<string, string | number>>
  /** As computed elsewhere, see PROVENANCE.md beside the sample. */
  readonly score: number
  readonly contributions: Readonly<Record<string, number>>
}

type Bins = ReadonlyArray<readonly [text: string, points: number]>

const SAMPLE = new URL('../../../src/cli/demo/german-credit/', import.meta.url)

/** The German credit scorecard. */
export function sampleSpec(): NaiveSpec {
  return JSON.parse(readFileSync(new URL('spec.json', SAMPLE), 'utf8'))
}

/** Its 1,000 applicants with the scores that another program gave them. */
export function sampleApplicants(): SampleApplicant[] {
  return JSON.parse(readFileSync(new URL('applicants.json', SAMPLE), 'utf8'))
}

/** A valid scorecard of these features; 100 base points, no grades. */
export function card(features: NaiveFeature[], rest: Partial<NaiveSpec> = {}): NaiveSpec {
  return {
    name: 'Test card',
    version: '1.2.3',
    target: 'default_12m',
    base_points: 100,
    features,
    scaling: { base_score: 600, base_odds: 50, pdo: 20 },
    ...rest,
  }
}

export function numeric(name: string, bins: Bins): NaiveFeature {
  return { name, type: 'numeric', bins: bins.map(([range, points]) => ({ range, points })) }
}

export function categorical(name: string, bins: Bins): NaiveFeature {
  return { name, type: 'categorical', bins: bins.map(([value, points]) => ({ value, points })) }
}

/** A numeric feature that gives 1 up to 0, 2 above, and 3 for a missing value. */
export function plainFeature(name: string): NaiveFeature {
  return numeric(name, [
    ['(-Infinity, 0]', 1],
    ['(0, Infinity)', 2],
    ['Missing', 3],
  ])
}
