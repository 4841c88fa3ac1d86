import {
  checkSpec,
  compileModel,
  compileReasons,
  ModelScore,
  ReasonFinder,
  scoreApplicant,
} from '../../../src/engine/index.ts'

/**
 * The DMG's sample card for reason codes in its own words: 3, 0 and 26 points for an engineer of 25
 * with an income of 500, against baselines of 19, 18 and 10.
 */
export function dmgCard() {
  return {
    name: 'dmg',
    version: '1.0.0',
    target: 'default_12m',
    base_points: 0,
    reasons: { version: 1, method: 'fixed', baseline_basis: 'other' },
    reason_codes: {
      RC1: { en: 'Department' },
      RC2: { en: 'Age', es: 'Edad' },
      RC2_2: { en: 'Age, second' },
      RC3: { en: 'Income' },
    },
    features: [
      {
        name: 'department',
        type: 'categorical',
        reason_code: 'RC1',
        reason_baseline: 19,
        bins: [
          { value: 'marketing', points: 10 },
          { value: 'engineering', points: 3 },
          { value: 'business', points: 6 },
          { value: 'Missing', points: 0 },
        ],
      },
      {
        name: 'age',
        type: 'numeric',
        reason_code: 'RC2',
        reason_baseline: 18,
        bins: [
          { range: '(-Infinity, 18]', points: -3, reason_code: 'RC2_2' },
          { range: '(18, 29]', points: 0 },
          { range: '(29, 39]', points: 12 },
          { range: '(39, Infinity)', points: 18 },
          { range: 'Missing', points: 0 },
        ],
      },
      {
        name: 'income',
        type: 'numeric',
        reason_code: 'RC3',
        reason_baseline: 10,
        bins: [
          { range: '(-Infinity, 1000]', points: 26 },
          { range: '(1000, 1500]', points: 5 },
          { range: '(1500, Infinity)', points: -3 },
          { range: 'Missing', points: 0 },
        ],
      },
    ],
    scaling: { base_score: 100, base_odds: 20, pdo: 20 },
    risk_grades: [
      { grade: 'A', min_score: 30, max_score: null },
      { grade: 'B', min_score: null, max_score: 30 },
    ],
  }
}

/** The worked example of a bank card: four features, two of which share a code. */
export function worksheetCard(reasons: object = { method: 'fixed', baseline_basis: 'mean' }) {
  const feature = (name: string, code: string, baseline: number, own: number, best: number) => ({
    name,
    type: 'numeric',
    reason_code: code,
    reason_baseline: baseline,
    bins: [
      { range: '(-Infinity, 0]', points: own },
      { range: '(0, Infinity)', points: best },
      { range: 'Missing', points: own },
    ],
  })
  return {
    name: 'worksheet',
    version: '1.0.0',
    target: 'default_12m',
    base_points: 0,
    reasons: { version: 1, ...reasons },
    features: [
      feature('tenure', 'R02', 27.4, 10, 40),
      feature('income', 'R07', 18.2, 20, 30),
      feature('util', 'R07', 24.9, 4, 40),
      feature('inquiries', 'R09', 5.1, 0, 12),
    ],
    scaling: { base_score: 100, base_odds: 20, pdo: 20 },
  }
}

/** Finds the reasons of an applicant as the service does, against the card's own averages. */
export function foundReasons(card: unknown, applicant: Record<string, unknown>, max = 4) {
  const { model, rules, means } = compiledCard(card)
  const score = new ModelScore(model)
  scoreApplicant(applicant, score)
  const found = new ReasonFinder(model, rules, means).find(score.slots, max)
  return {
    ...found,
    score: score.score,
    reasons: found.reasons.map(({ code, distance, features }) => ({
      code: rules.codes[code],
      distance,
      features: features.map((feature) => model.featureNames[feature]),
    })),
    keyFactors: found.keyFactors.map((code) => rules.codes[code]),
  }
}

/** A card whose averages follow from itself. */
export function compiledCard(card: unknown) {
  const checked = checkSpec(card)
  if (!checked.ok) throw new Error(JSON.stringify(checked.faults))
  const model = compileModel(checked.spec)
  const rules = compileReasons(checked.spec, model)
  if (rules === null || rules.ownMeans === null) throw new Error('the card has no own averages')
  return { spec: checked.spec, model, rules, means: rules.ownMeans }
}

/** Scores are 100 + a + b, of 0, 10 or 20 each. */
export function stepCard(reasons: object) {
  const feature = (name: string) => ({
    name,
    type: 'numeric',
    reason_code: name.toUpperCase(),
    bins: [
      { range: '(-Infinity, 0]', points: 0 },
      { range: '(0, 1]', points: 10 },
      { range: '(1, Infinity)', points: 20 },
      { range: 'Missing', points: 0 },
    ],
  })
  return {
    name: 'Steps',
    version: '1.0.0',
    target: 'default_12m',
    base_points: 100,
    reasons: { version: 1, ...reasons },
    features: [feature('a'), feature('b')],
    scaling: { base_score: 100, base_odds: 20, pdo: 10 },
    risk_grades: [
      { grade: 'A', min_score: 130, max_score: null },
      { grade: 'B', min_score: 115, max_score: 130 },
      { grade: 'C', min_score: null, max_score: 115 },
    ],
  }
}
