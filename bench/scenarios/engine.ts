/**
 * What the engine itself costs, in process: no HTTP, no database.
 *
 * Cases alternate within each round, so that a noisy machine hits all of them; the table shows the
 * median of the rounds and the spread from the 5th to the 95th percentile.
 */
import { checkSpec, compileModel, ScoreSheet, scoreApplicant } from '../../src/engine/index.ts'
import { AnswerParts } from '../../src/scoring/answer.ts'

const FEATURES = 20
const BINS = 8
const APPLICANTS = 200
const ROUNDS = 400
const WARM_UP_ROUNDS = 100

type Applicant = Record<string, number | string>

interface Card {
  readonly features: number
  readonly bins: number
  /** Every so many-th feature is numeric, the others are categorical: 1 all, 2 half of them. */
  readonly numericEvery: 1 | 2
  /** V8 keeps one copy of a text of up to 10 characters: comparing it is comparing addresses. */
  readonly categoryChars: 6 | 15
}

const CARD: Card = { features: FEATURES, bins: BINS, numericEvery: 2, categoryChars: 15 }

/** A card with a grade for each 100 points. */
function makeSpec(card: Card): object {
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
          ? rangeOf(b, bins)
          : { value: `${categoryOf(card, f, b)}%,%other ${b}` }),
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

function rangeOf(bin: number, bins: number): { range: string } {
  const low = bin === 0 ? '-Infinity' : String(10 * bin)
  const high = bin === bins - 1 ? 'Infinity)' : `${10 * bin + 10}]`
  return { range: `(${low}, ${high}` }
}

function categoryOf({ categoryChars }: Card, feature: number, bin: number): string {
  return categoryChars === 15 ? `category ${bin} of ${feature}` : `code ${bin}`
}

/**
 * The same applicants in each run, as a request brings them: parsed from JSON, because texts and objects
 * that a program builds are laid out differently and cost other times.
 */
function makeApplicants(card: Card): Applicant[] {
  const { features, bins, numericEvery } = card
  let state = 20_261_121
  const random = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
  const applicants = Array.from({ length: APPLICANTS }, () =>
    Object.fromEntries(
      Array.from({ length: features }, (_, f) => {
        const bin = Math.floor(random() * bins)
        const category = random() < 0.5 ? categoryOf(card, f, bin) : `other ${bin}`
        return [
          `feature_number_${f}`,
          f % numericEvery === 0 ? Math.round(1000 * bins * random()) / 100 : category,
        ]
      }),
    ),
  )
  return JSON.parse(JSON.stringify(applicants))
}

interface Case {
  readonly name: string
  /** Does the work for applicant `index`; the number keeps it from being optimised away. */
  readonly run: (index: number) => number
  readonly nsPerApplicant: number[]
}

function measure(cases: readonly Case[]): void {
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    for (const { run, nsPerApplicant } of cases) {
      const started = process.hrtime.bigint()
      let sum = 0
      for (let index = 0; index < APPLICANTS; index++) sum += run(index)
      const tookNs = Number(process.hrtime.bigint() - started)
      if (round >= 0 && sum !== 0) nsPerApplicant.push(tookNs / APPLICANTS)
    }
  }
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN
}

function compiled(card: Card) {
  const check = checkSpec(makeSpec(card))
  if (!check.ok) throw new Error(JSON.stringify(check.faults))
  return { spec: check.spec, model: compileModel(check.spec) }
}

function scoringCase(name: string, card: Card): Case {
  const sheet = new ScoreSheet(compiled(card).model)
  const applicants = makeApplicants(card)
  const run = (index: number) => {
    scoreApplicant(applicants[index] ?? {}, sheet)
    return sheet.score + sheet.pd
  }
  return { name, run, nsPerApplicant: [] }
}

function main(): void {
  const { spec, model } = compiled(CARD)
  const sheet = new ScoreSheet(model)
  const answer = new AnswerParts(model)
  const applicants = makeApplicants(CARD)
  const texts = applicants.map((applicant) => JSON.stringify(applicant))
  const parse = (index: number): Applicant => JSON.parse(texts[index] ?? '{}')
  const cases: Case[] = [
    {
      name: 'JSON.parse of the applicant',
      run: (index) => (parse(index) ? 1 : 0),
      nsPerApplicant: [],
    },
    scoringCase('score, pd, grade, bin and points of each feature', CARD),
    {
      name: '… of an applicant parsed just before, parsing included',
      run: (index) => {
        scoreApplicant(parse(index), sheet)
        return sheet.score
      },
      nsPerApplicant: [],
    },
    {
      name: '… and written as JSON with contributions',
      run: (index) => {
        const applicant = applicants[index] ?? {}
        scoreApplicant(applicant, sheet)
        return answer.record(sheet, applicant, 'null', true, '').length
      },
      nsPerApplicant: [],
    },
    scoringCase('score: categories of up to 10 characters', { ...CARD, categoryChars: 6 }),
    scoringCase('score: all features numeric', { ...CARD, numericEvery: 1 }),
    scoringCase('score: 40 features', { ...CARD, features: 2 * FEATURES }),
    scoringCase('score: 64 bins', { ...CARD, bins: 8 * BINS }),
  ]
  measure(cases)
  // Apart from the others: what it allocates would push their applicants out of the processor's caches.
  const compiling = { name: 'compiling the card', run: () => compileModel(spec).points.length }
  const alone: Case = { ...compiling, nsPerApplicant: [] }
  measure([alone])
  console.log(`Node ${process.version}; ${FEATURES} features × ${BINS} bins, half of each type`)
  console.log(
    `${ROUNDS} rounds of ${APPLICANTS} applicants, cases in turn; µs for each applicant\n`,
  )
  console.log(`${'case'.padEnd(58)}${'median'.padStart(9)}${'p5'.padStart(9)}${'p95'.padStart(9)}`)
  for (const { name, nsPerApplicant } of [...cases, alone]) {
    const columns = [0.5, 0.05, 0.95].map((share) =>
      (percentile(nsPerApplicant, share) / 1000).toFixed(3).padStart(9),
    )
    console.log(name.padEnd(58) + columns.join(''))
  }
}

main()
