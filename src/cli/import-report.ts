import type { Note } from '../import/build/notes.ts'
import type { Difference, Parity } from '../import/parity.ts'
import type { ImportOutcome } from '../import/run-import.ts'
import { printable } from './print.ts'

/** The import names options as the API does. The report names those of the command line. */
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
  probabilities: '--probabilities',
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
  ['for `probabilities`', 'for --probabilities'],
  [
    '`scaling` must be left out',
    '--pdo, --base-score, --odds and --odds-direction must be left out',
  ],
  ['say that there are none', 'say --no-specials'],
]

/**
 * The result of an import, for a person. The verdict is the first line and the last, because there
 * can be hundreds of notes. Without `isVerbose` notes are only counted. Faults and differences are
 * always listed.
 */
export function importReport(outcome: ImportOutcome, isVerbose: boolean): string {
  const { faults, conversions, warnings, parity } = outcome
  const verdict = verdictOf(outcome)
  const notes = isVerbose
    ? [...section('Converted', conversions), ...section('To know', warnings)]
    : countLines(conversions.length, warnings.length)
  const details = [
    ...section('Refused', faults),
    ...notes,
    ...(parity === null ? [] : parity.differences.flatMap(differenceLines)),
  ]
  return [verdict, ...details, ...(details.length > 0 ? [verdict] : [])].join('\n')
}

function countLines(conversions: number, warnings: number): string[] {
  if (conversions + warnings === 0) return []
  const [converted, toKnow] = [counted(conversions, 'conversion'), counted(warnings, 'warning')]
  return [`${converted} and ${toKnow} of the specification: --verbose lists them.`]
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function section(title: string, notes: readonly Note[]): string[] {
  return notes.length === 0 ? [] : [`${title}:`, ...notes.map(noteLine)]
}

function noteLine({ path, message }: Note): string {
  let text = message
  for (const [word, option] of OPTION_BY_WORD) text = text.replaceAll(word, option)
  return `  ${printable(`${OPTION_BY_PATH[path] ?? path} ${text}`)}`
}

/** One line. It names what was not checked before what was. */
function verdictOf({ faults, parity, spec }: ImportOutcome): string {
  if (faults.length > 0) return `REFUSED: ${counted(faults.length, 'fault')}.`
  if (parity === null) return 'NOT CHECKED: give applicants with their scores in --check.'
  const { rows, differing, differingBy } = parity
  if (differing > 0) {
    const { largestDifference, largestPdDifference } = parity
    const scoreDistance = distanceText(differingBy.score, largestDifference, ' points')
    const pdDistance = distanceText(differingBy.pd, largestPdDifference ?? 0, '')
    const parts = [
      `${differingBy.score} in the score${scoreDistance}`,
      `${differingBy.points} in points of features`,
      `${differingBy.pd} in the probability of default${pdDistance}`,
    ].filter((part) => !part.startsWith('0 '))
    return (
      `DIFFERS: ${differing} of ${rows} applicants differ: ${parts.join(', ')}. ` +
      `${rows - differingBy.score} of ${rows} scores agree.${scaleHint(parity)}`
    )
  }
  const checked = `${scoresText(parity)} The largest difference is ${parity.largestDifference} points.`
  const fitted = parity.isPdFitted
    ? ' The scale was fitted to this sample: only another sample can prove the probabilities.'
    : ''
  if (spec?.has_pd === false) {
    return (
      'AGREES, WITHOUT PROBABILITIES: the specification has no scale, so that every pd is null. ' +
      checked
    )
  }
  if (parity.isPdChecked) {
    return (
      `AGREES: ${checked} The largest difference of the probability of default is ` +
      `${parity.largestPdDifference}.${fitted}`
    )
  }
  const pd =
    parity.pdRows === 0
      ? 'the sample has no column pd'
      : `the sample has a pd for only ${parity.pdRows} of ${rows} applicants`
  return (
    `AGREES IN SCORES, PROBABILITIES NOT CHECKED: ${pd}, so that a wrong scale would not show. ` +
    `${checked}${fitted}`
  )
}

function distanceText(rows: number, largest: number, unit: string): string {
  return rows === 0 ? '' : ` (by ${largest}${unit} at most)`
}

function scoresText(parity: Parity): string {
  const { rows, equal, withinRounding, withinTolerance, tolerance } = parity
  const more = [
    ...(withinRounding > 0
      ? [`${withinRounding} within the rounding of a sum${ulpsText(parity)}`]
      : []),
    ...(withinTolerance > 0 ? [`${withinTolerance} within ${tolerance} points`] : []),
  ]
  return `${[`${equal} of ${rows} scores are equal to the bit`, ...more].join(', ')}.`
}

/** How far the rounded scores are off; nothing where not all of them are known. */
function ulpsText({ rounded, withinRounding }: Parity): string {
  if (rounded.length < withinRounding) return ''
  return ` (${Math.max(...rounded.map(({ ulps }) => ulps))} ulp at most)`
}

/** Equal scores with different probabilities mean right points and a wrong scale. */
function scaleHint({ differingBy, isPdFitted }: Parity): string {
  if (differingBy.pd === 0 || differingBy.score > 0 || differingBy.points > 0) return ''
  if (isPdFitted) {
    return (
      ' All scores and points agree, and the scale was fitted to this sample, so no scale gives' +
      ' these probabilities: correct the column pd, or use --probabilities none.'
    )
  }
  return (
    ' All scores and points agree, so --pdo, --base-score, --odds or --odds-direction is wrong:' +
    ' leave them out and use --probabilities fit, or none.'
  )
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
