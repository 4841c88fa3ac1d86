import type { Note } from '../cards/import/build/notes.ts'
import type { Difference, Parity } from '../cards/import/parity.ts'
import { meanText, scaleText as scalesText } from '../cards/import/parity-failed.ts'
import type { ImportOutcome } from '../cards/import/run-import.ts'
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
  const verdict = formatVerdict(outcome)
  const notes = isVerbose
    ? [...section('Converted', conversions), ...section('To know', warnings)]
    : countLines(conversions.length, warnings.length)
  const unreached = parity === null || !isVerbose ? [] : unreachedLines(parity)
  const details = [
    ...section('Refused', faults),
    ...notes,
    ...(unreached.length > 0 ? ['Not reached by the sample:', ...unreached] : []),
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
function formatVerdict({ faults, parity, spec }: ImportOutcome): string {
  if (faults.length > 0) return `REFUSED: ${counted(faults.length, 'fault')}.`
  if (parity === null) return 'NOT CHECKED: give applicants with their scores in --check.'
  const { rows, differing, differingBy } = parity
  if (!parity.agrees && differing === 0) return `DIFFERS IN THE MEAN: ${meanText(parity)}.`
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
      `${rows - differingBy.score} of ${rows} scores agree.${findingText(parity)}${scaleHint(parity)}`
    )
  }
  const checked =
    `${scoresText(parity)} The largest difference is ${parity.largestDifference} points.` +
    scaleText(parity)
  const gap = unreachedText(parity)
  const fitted = parity.isPdFitted
    ? ' The scale was fitted to this sample: only another sample can prove the probabilities.'
    : ''
  if (spec?.has_pd === false) {
    return (
      `AGREES, WITHOUT PROBABILITIES${gap}: the specification has no scale, so that every pd is null. ` +
      checked
    )
  }
  if (parity.isPdChecked) {
    return (
      `AGREES${gap}: ${checked} The largest difference of the probability of default is ` +
      `${parity.largestPdDifference}.${fitted}`
    )
  }
  const pd =
    parity.pdRows === 0
      ? 'the sample has no column pd'
      : `the sample has a pd for only ${parity.pdRows} of ${rows} applicants`
  return (
    `AGREES IN SCORES, PROBABILITIES NOT CHECKED${gap}: ${pd}, so that a wrong scale would not show. ` +
    `${checked}${fitted}`
  )
}

/** Bins that no applicant reached, in the words of a verdict; empty if there are none. */
function unreachedText({ coverage: { bins, binsUnreached } }: Parity): string {
  return binsUnreached === 0 ? '' : `, ${binsUnreached} OF ${bins} BINS NOT REACHED`
}

function findingText({ finding }: Parity): string {
  return finding === null ? '' : ` ${finding[0]?.toUpperCase()}${finding.slice(1)}.`
}

function scaleText({ scale }: Parity): string {
  return scale === null ? '' : ` All points are whole numbers: ${scalesText(scale)}.`
}

function unreachedLines({ coverage }: Parity): string[] {
  return coverage.unreached.map((one) => {
    const list = (what: string, items: readonly (number | string)[], more: number) =>
      items.length + more === 0
        ? []
        : [`${what} ${items.join(', ')}${more > 0 ? ` and ${more} more` : ''}`]
    const parts = [
      ...list('bins', one.bins, one.moreBins),
      ...list('bounds', one.edges, one.moreEdges),
      ...one.outcomes.map((outcome) => OUTCOME_TEXTS[outcome]),
    ]
    return `  ${printable(`${one.feature}: ${parts.join('; ')}`)}`
  })
}

const OUTCOME_TEXTS = { missing: 'no missing value', unseen_category: 'no unseen category' }

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

/** Returns how far the rounded scores are off; nothing where not all of them are known. */
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
