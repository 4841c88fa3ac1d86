export type Applicant = Record<string, number | string>

export interface Card {
  readonly features: number
  readonly bins: number
  /** Every so many-th feature is numeric, the others are categorical: 1 all, 2 half of them. */
  readonly numericEvery: 1 | 2
  /** V8 keeps one copy of a text of up to 10 characters: comparing it is comparing addresses. */
  readonly categoryChars: 6 | 15
}

export const CARD: Card = { features: 20, bins: 8, numericEvery: 2, categoryChars: 15 }

/** A card with a grade for each 100 points. */
export function makeSpec(card: Card): object {
  const { features, bins, numericEvery } = card
  return {
    name: 'Benchmark',
    version: '1.0.0',
    target: 'default_12m',
    base_points: 400,
    features: Array.from({ length: features }, (_, f) => ({
      name: `feature_number_${f}`,
      type: f % numericEvery === 0 ? 'numeric' : 'categorical',
      bins: Array.from({ length: bins }, (_, b) => ({
        ...(f % numericEvery === 0
          ? readRange(b, bins)
          : { value: `${findCategory(card, f, b)}%,%other ${b}` }),
        points: 3.5 * b - 9,
      })),
    })),
    scaling: { base_score: 600, base_odds: 50, pdo: 20 },
    risk_grades: Array.from({ length: 10 }, (_, g) => ({
      grade: `G${g}`,
      min_score: g === 0 ? null : 100 * g,
      max_score: g === 9 ? null : 100 * g + 99.99,
    })),
  }
}

function readRange(bin: number, bins: number): { range: string } {
  const low = bin === 0 ? '-Infinity' : String(10 * bin)
  const high = bin === bins - 1 ? 'Infinity)' : `${10 * bin + 10}]`
  return { range: `(${low}, ${high}` }
}

function findCategory({ categoryChars }: Card, feature: number, bin: number): string {
  return categoryChars === 15 ? `category ${bin} of ${feature}` : `code ${bin}`
}

/**
 * The same applicants in each run, as a request brings them: parsed from JSON, because texts and
 * objects that a program builds are laid out differently and cost other times.
 */
export function makeApplicants(card: Card, count: number): Applicant[] {
  const { features, bins, numericEvery } = card
  let state = 20_261_121
  const random = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
  const applicants = Array.from({ length: count }, () =>
    Object.fromEntries(
      Array.from({ length: features }, (_, f) => {
        const bin = Math.floor(random() * bins)
        const category = random() < 0.5 ? findCategory(card, f, bin) : `other ${bin}`
        return [
          `feature_number_${f}`,
          f % numericEvery === 0 ? Math.round(1000 * bins * random()) / 100 : category,
        ]
      }),
    ),
  )
  return JSON.parse(JSON.stringify(applicants))
}
