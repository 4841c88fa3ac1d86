import type { Static } from '@sinclair/typebox'
import type { LoggedBin } from '../../../schemas/scores.ts'
import {
  type CompiledModel,
  findDirection,
  type ScorecardSpec,
  type Texts,
  textIn,
} from '../../engine/index.ts'
import type { FeatureOutcome } from '../../log/index.ts'

export type BinAnswer = Static<typeof LoggedBin>

/** Labels have an effect only on a card that explains its scores, where they are checked. */
interface Labelled {
  readonly label?: Texts
}

export function binAnswer(
  spec: ScorecardSpec,
  feature: number,
  index: number,
  lang: string,
): BinAnswer {
  const bin: { range?: string; value?: string } & Labelled =
    spec.features[feature]?.bins[index] ?? {}
  const label = labelIn(bin, lang)
  return {
    index,
    ...(bin.range !== undefined && { range: bin.range }),
    ...(bin.value !== undefined && { value: bin.value }),
    ...(label !== null && { label }),
  }
}

/** The label of a feature or bin; null without one, or where it has another form. */
export function labelIn({ label }: Labelled, lang: string): string | null {
  const isText = typeof label === 'string'
  const isTexts = typeof label === 'object' && label !== null
  const text: unknown = isText || isTexts ? textIn(label, lang) : null
  return typeof text === 'string' ? text : null
}

const RANGE = /^\s*([[(])\s*([^\s,]+)\s*,\s*([^\s,]+)\s*([\])])\s*$/

/** A range in words: `above 0.9`, `from 25 up to 37`. */
function rangeWords(range: string): string {
  const [, open, low = '', high = '', close] = RANGE.exec(range) ?? []
  if (open === undefined) return range
  const words: string[] = []
  if (!low.endsWith('Infinity')) words.push(`${open === '[' ? 'from' : 'above'} ${low}`)
  if (!high.endsWith('Infinity')) words.push(`${close === ']' ? 'up to' : 'below'} ${high}`)
  return words.length === 0 ? 'any number' : words.join(' ')
}

const OUTCOME_WORDS: Readonly<Record<string, string>> = {
  missing: 'no value',
  unseen_category: 'a category that the card does not know',
  no_bin: 'a number in no range of the card',
  not_a_number: 'a text instead of a number',
}

interface FeatureWords {
  readonly feature: number
  readonly bin: number | null
  readonly outcome: FeatureOutcome | null
  readonly points: number
  /** The best points of the feature. */
  readonly best: number
  readonly lang: string
}

/**
 * Returns what a feature added, as a sentence: `Card utilisation: above 0.9, 4 points of at most
 * 40`.
 */
export function featureWords(
  spec: ScorecardSpec,
  { featureNames }: CompiledModel,
  { feature, bin, outcome, points, best, lang }: FeatureWords,
): string {
  const card = spec.features[feature]
  const name = labelIn((card ?? {}) as Labelled, lang) ?? featureNames[feature] ?? ''
  const limit = findDirection(spec) === 1 ? 'of at most' : 'where the best is'
  return `${name}: ${valueWords()}, ${points} points ${limit} ${best}`

  function valueWords(): string {
    if (outcome !== null && outcome !== 'matched') return OUTCOME_WORDS[outcome] ?? outcome
    if (bin === null || card === undefined) return 'in no bin'
    const answer = binAnswer(spec, feature, bin, lang)
    return answer.label ?? answer.value?.split('%,%').join(', ') ?? rangeWords(answer.range ?? '')
  }
}
