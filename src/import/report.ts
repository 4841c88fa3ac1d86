import { printable, sentence } from '../admin/print.ts'
import type { Note } from './notes.ts'
import type { ImportOutcome } from './order.ts'
import type { Difference, Parity } from './parity.ts'

/** Faults name options in the words of the API. */
const OPTION_BY_PATH: Readonly<Record<string, string>> = {
  'scaling.pdo': '--pdo',
  'scaling.base_score': '--base-score',
  'scaling.odds': '--odds',
  'scaling.odds_direction': '--odds-direction',
  'scaling.rate': '--rate',
  base_points: '--base-points',
  intercept: '--intercept',
  unseen: '--unseen',
  splits: '--splits',
  rename: '--rename',
  tool: '--tool',
  tolerance: '--tolerance',
}
const OPTION_BY_WORD: readonly (readonly [string, string])[] = [
  [
    '`comma_categories` (an empty list where there are none)',
    '--comma-category (--no-comma-categories where there are none)',
  ],
  ['`categorical`', '--categorical'],
  ['for unseen', 'for --unseen'],
  ['say that there are none', 'say --no-specials'],
]

/** What an import came to, for a person. */
export function importReport(outcome: ImportOutcome): string {
  const { faults, conversions, warnings, parity } = outcome
  return [
    ...section('Refused', faults),
    ...section('Converted', conversions),
    ...section('To know', warnings),
    ...(parity === null ? [] : parityLines(parity)),
  ].join('\n')
}

function section(title: string, notes: readonly Note[]): string[] {
  return notes.length === 0 ? [] : [`${title}:`, ...notes.map(noteLine)]
}

function noteLine({ path, message }: Note): string {
  let text = message
  for (const [word, option] of OPTION_BY_WORD) text = text.replaceAll(word, option)
  return `  ${printable(`${OPTION_BY_PATH[path] ?? path} ${text}`)}`
}

function parityLines(parity: Parity): string[] {
  const { rows, equal, withinRounding, withinTolerance, differing, largestDifference } = parity
  const more = [
    ...(withinRounding > 0 ? [`${withinRounding} within the rounding of a sum`] : []),
    ...(withinTolerance > 0 ? [`${withinTolerance} within ${parity.tolerance} points`] : []),
    ...(differing > 0 ? [`${differing} differ`] : []),
  ]
  const counts = [`${equal} of ${rows} scores are equal to the bit`, ...more].join(', ')
  return [
    'Checked:',
    `  ${sentence(`${counts}; the largest difference is ${largestDifference} points`)}`,
    ...(parity.largestPdDifference === null
      ? []
      : [
          `  The largest difference of the probability of default is ${parity.largestPdDifference}.`,
        ]),
    ...parity.differences.flatMap(differenceLines),
  ]
}

function differenceLines(difference: Difference): string[] {
  const { path, id, expectedScore, actualScore, expectedPd, actualPd, features } = difference
  const who = id === null ? path : `${path} (${printable(id)})`
  return [
    `  ${who}: the tool gives ${expectedScore}, the engine ${actualScore}`,
    ...(expectedPd === null
      ? []
      : [`    probability of default: the tool gives ${expectedPd}, the engine ${actualPd}`]),
    ...features.map(({ feature, bin, expectedPoints, actualPoints }) => {
      const place = `${printable(feature)} ${bin === null ? 'in no bin' : printable(bin)}`
      const expected =
        expectedPoints === null ? '' : `the tool gives ${expectedPoints}, the engine `
      return `    ${place}: ${expected}${actualPoints}`
    }),
  ]
}
