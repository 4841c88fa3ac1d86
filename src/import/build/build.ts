import { BINS_PER_FEATURE_MAX } from '../engine/index.ts'
import { type BuiltFeature, buildCategorical } from './build-categorical.ts'
import { buildNumeric } from './build-numeric.ts'
import type { ImportOptions, SourceBin, SourceCard, SourceFeature } from './card.ts'
import { type Notes, quote } from './notes.ts'
import { scalingOf } from './scaling.ts'

const SPEC_CHARS_MAX = 16 * 1024 * 1024
/** Of a bin, beside its texts. */
const BIN_CHARS = 40

/** A scorecard specification as an import writes it: bins keep the labels of their source. */
export interface ImportedSpec {
  readonly name: string
  readonly version: string
  readonly spec_version: '1.0'
  readonly target: string
  readonly base_points: number
  readonly features: readonly BuiltFeature[]
  readonly scaling: {
    readonly base_score: number
    readonly base_odds: number
    readonly pdo: number
  }
}

/**
 * Makes a specification of a card.
 *
 * @param notes receives everything that stands in the way, and everything that was converted
 * @returns null when there are faults
 */
export function buildSpec(
  card: SourceCard,
  options: ImportOptions,
  notes: Notes,
): ImportedSpec | null {
  const scaling = scalingOf(card, options, notes)
  const context = { rules: card.rules, unseen: options.unseen, notes }
  if (card.features.length === 0) notes.fault('file', 'has no feature')
  const features = renamed(card, options, notes)
    .filter((feature) => isBounded(feature, notes))
    .map((feature) => ({ ...feature, bins: withPlace(feature, notes) }))
    .map((feature) =>
      feature.type === 'numeric'
        ? buildNumeric(feature, context)
        : buildCategorical(feature, context),
    )
  checkSize(features, notes)
  askUnseen(card, options, notes)
  noteRounding(card, notes)
  if (notes.faults.count > 0 || scaling === null) return null
  return {
    name: options.name,
    version: options.version,
    spec_version: '1.0',
    target: options.target,
    base_points: card.basePoints,
    features,
    scaling,
  }
}

/** No more than a body may have that deploys a specification. */
function checkSize(features: readonly BuiltFeature[], notes: Notes): void {
  let chars = 0
  for (const { bins } of features) {
    for (const bin of bins) {
      const held = 'range' in bin ? bin.range : bin.value
      chars += held.length + bin.label.length + BIN_CHARS
    }
  }
  if (chars > SPEC_CHARS_MAX) {
    notes.fault('file', `makes a specification of more than ${SPEC_CHARS_MAX} characters`)
  }
}

/** Said before anything is compared with anything: a specification can't have more. */
function isBounded({ name, type, bins }: SourceFeature, notes: Notes): boolean {
  const counted =
    type === 'categorical'
      ? bins.length
      : bins.reduce((sum, { members }) => sum + members.length, 0)
  if (counted <= BINS_PER_FEATURE_MAX) return true
  notes.fault(quote(name), `has ${counted} bins, more than ${BINS_PER_FEATURE_MAX}`)
  return false
}

/** Bins whose values the feature can have: no other may be left out without a word. */
function withPlace({ name, type, bins }: SourceFeature, notes: Notes): SourceBin[] {
  const foreign = type === 'numeric' ? ['category'] : ['range', 'value']
  return bins.filter(({ path, label, members }) => {
    if (members.some(({ kind }) => foreign.includes(kind))) {
      const values = type === 'numeric' ? 'numbers' : 'texts'
      notes.fault(
        path,
        `${quote(label)} holds no value of ${quote(name)}, whose values are ${values}`,
      )
    } else if (members.length === 0) {
      notes.conversion(path, `${quote(label)} of ${quote(name)} is left out: it holds no value`)
    }
    return members.length > 0
  })
}

function renamed(
  { features }: SourceCard,
  { rename = {} }: ImportOptions,
  notes: Notes,
): readonly SourceFeature[] {
  for (const name of Object.keys(rename)) {
    if (!features.some((feature) => feature.name === name)) {
      notes.fault('rename', `names ${quote(name)}, which is no feature of the file`)
    }
  }
  return features.map((feature) => {
    const name = Object.hasOwn(rename, feature.name) ? rename[feature.name] : undefined
    if (name === undefined) return feature
    notes.conversion(quote(feature.name), `is called ${quote(name)}, as was said`)
    return { ...feature, name }
  })
}

/** Asked once for the card, not once for each feature. */
function askUnseen({ features, rules }: SourceCard, { unseen }: ImportOptions, notes: Notes): void {
  if (unseen !== undefined) return
  const open = features.filter(
    ({ type, bins }) => type === 'categorical' && !bins.some(({ members }) => members.some(isElse)),
  )
  const [first] = open
  if (first === undefined) return
  const others = open.length === 1 ? '' : ` and ${open.length - 1} more`
  notes.fault(
    'unseen',
    `must be given: what does a category add that no bin of ${quote(first.name)}${others} names? ` +
      `${rules.unseen} "zero": nothing; "missing": what a missing value adds; "min": the least of the feature`,
  )
}

const isElse = ({ kind }: { kind: string }) => kind === 'else'

/** Rounded points can't give the exact scale back. */
function noteRounding({ features, basePoints }: SourceCard, notes: Notes): void {
  if (features.length === 0 || !hasWholePoints({ base_points: basePoints, features })) return
  const most = roundingMax(features.length)
  notes.conversion(
    'file',
    `all points are whole numbers: a score may be ${most} points off the exact scale, ` +
      'and the probability of default with it; the points are kept as they are',
  )
}

interface PointsOf {
  readonly base_points: number
  readonly features: readonly { readonly bins: readonly { readonly points: number }[] }[]
}

/** Whether all points are whole numbers, so that they may have been rounded. */
export function hasWholePoints({ base_points: basePoints, features }: PointsOf): boolean {
  const points = features.flatMap(({ bins }) => bins.map((bin) => bin.points))
  return [basePoints, ...points].every(Number.isInteger)
}

/** What a score is off at most, when base and points of each feature are rounded to whole numbers. */
export function roundingMax(features: number): number {
  return (features + 1) / 2
}
