import {
  BINS_PER_FEATURE_MAX,
  type RiskGradeSpec,
  type ScalingSpec,
} from '../../../engine/index.ts'
import { type BuiltFeature, buildCategorical } from './build-categorical.ts'
import { type BuiltReasons, buildNumeric } from './build-numeric.ts'
import type { CardReasons, ImportOptions, SourceBin, SourceCard, SourceFeature } from './card.ts'
import { type Notes, quote } from './notes.ts'
import { computeProbabilities } from './scaling.ts'

const SPEC_CHARS_MAX = 16 * 1024 * 1024
/** Characters of a bin in JSON, apart from its texts. */
const BIN_CHARS = 40

/** A scorecard specification as an import writes it: bins keep the labels of their source. */
export interface ImportedSpec {
  readonly name: string
  readonly version: string
  readonly spec_version: '1.0'
  readonly target: string
  readonly base_points: number
  /** The way a card with reason codes ranks them, see `FeatureReasonSpec`. */
  readonly reasons?: {
    readonly version: 1
    readonly method: 'fixed'
    readonly baseline_basis: CardReasons['basis']
  }
  readonly features: readonly BuiltFeature[]
  /** Exactly one of `has_pd` and `scaling` is present, as in `ScorecardSpec`. */
  readonly has_pd?: false
  readonly scaling?: ScalingSpec
  /** As the caller sent them; `checkSpec` validates them. */
  readonly risk_grades?: readonly RiskGradeSpec[]
}

/**
 * Makes a specification from a card.
 *
 * @param notes receives every fault and every conversion
 * @returns null when there are faults
 */
export function buildSpec(
  card: SourceCard,
  options: ImportOptions,
  notes: Notes,
): ImportedSpec | null {
  const probabilities = computeProbabilities(card, options, notes)
  const context = { rules: card.rules, unseen: options.unseen, notes }
  if (card.features.length === 0) notes.fault('file', 'has no feature')
  const features = renamed(card, options, notes)
    .filter((feature) => isBounded(feature, notes))
    .map((feature) => ({ ...feature, bins: applicableBins(feature, notes) }))
    .map((feature) => ({
      ...(feature.type === 'numeric'
        ? buildNumeric(feature, context)
        : buildCategorical(feature, context)),
      ...reasonsOfFeature(feature),
    }))
  checkSize(features, notes)
  requireUnseen(card, options, notes)
  if (probabilities !== null) {
    const scaling = 'scaling' in probabilities ? probabilities.scaling : undefined
    checkDirection(card, scaling, notes)
  }
  if (options.probabilities !== 'none') noteRounding(card, notes)
  if (notes.faults.count > 0 || probabilities === null) return null
  return {
    name: options.name,
    version: options.version,
    spec_version: '1.0',
    target: options.target,
    base_points: card.basePoints,
    ...(card.reasons != null && {
      reasons: { version: 1, method: 'fixed', baseline_basis: card.reasons.basis },
    }),
    features,
    ...probabilities,
    ...(options.riskGrades !== undefined && {
      risk_grades: options.riskGrades as readonly RiskGradeSpec[],
    }),
  }
}

function reasonsOfFeature({ reasonCode, reasonBaseline }: SourceFeature): BuiltReasons {
  return {
    ...(reasonCode !== undefined && { reason_code: reasonCode }),
    ...(reasonBaseline !== undefined && { reason_baseline: reasonBaseline }),
  }
}

/** The direction of reasons follows from the scale, so a card must agree with its own. */
function checkDirection(
  { reasons }: SourceCard,
  scaling: ScalingSpec | undefined,
  notes: Notes,
): void {
  if (reasons == null) return
  const isAbove = (scaling?.pdo ?? 1) < 0
  if (isAbove === reasons.isAbove) return
  const algorithm = reasons.isAbove ? 'pointsAbove' : 'pointsBelow'
  const scale = isAbove ? 'a negative pdo' : 'no negative pdo'
  notes.fault(
    'Scorecard',
    `has the reasonCodeAlgorithm ${algorithm}, but the scaling has ${scale}, so that a higher score ` +
      `is a ${isAbove ? 'higher' : 'lower'} risk: correct one of them, or set useReasonCodes to false`,
  )
}

/** A specification must fit into the body of a deploy request. */
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

/** Checked before bins are compared with each other: a specification can't have more bins. */
function isBounded({ name, type, bins }: SourceFeature, notes: Notes): boolean {
  const counted =
    type === 'categorical'
      ? bins.length
      : bins.reduce((sum, { members }) => sum + members.length, 0)
  if (counted <= BINS_PER_FEATURE_MAX) return true
  notes.fault(quote(name), `has ${counted} bins, more than ${BINS_PER_FEATURE_MAX}`)
  return false
}

/** The bins whose values the feature can have; every other bin gets a fault or a note. */
function applicableBins({ name, type, bins }: SourceFeature, notes: Notes): SourceBin[] {
  const foreign = type === 'numeric' ? ['category'] : ['range', 'value']
  return bins.filter(({ path, label, members }) => {
    if (members.some(({ kind }) => foreign.includes(kind))) {
      const values = type === 'numeric' ? 'numbers' : 'texts'
      notes.fault(
        path,
        `${quote(label)} contains no value of ${quote(name)}, whose values are ${values}`,
      )
    } else if (members.length === 0) {
      notes.conversion(path, `${quote(label)} of ${quote(name)} is left out: it contains no value`)
    }
    return members.length > 0
  })
}

function renamed(
  { features }: SourceCard,
  { rename = {} }: ImportOptions,
  notes: Notes,
): readonly SourceFeature[] {
  const names = new Set(features.map(({ name }) => name))
  for (const name of Object.keys(rename)) {
    if (!names.has(name)) {
      notes.fault('rename', `names ${quote(name)}, which is not a feature of the file`)
    }
  }
  return features.map((feature) => {
    const name = Object.hasOwn(rename, feature.name) ? rename[feature.name] : undefined
    if (name === undefined) return feature
    notes.conversion(quote(feature.name), `is renamed to ${quote(name)}`)
    return { ...feature, name }
  })
}

/** Adds one fault for the whole card, not one for each feature. */
function requireUnseen(
  { features, rules }: SourceCard,
  { unseen }: ImportOptions,
  notes: Notes,
): void {
  if (unseen !== undefined) return
  const open = features.filter(
    ({ type, bins }) => type === 'categorical' && !bins.some(({ members }) => members.some(isElse)),
  )
  const [first] = open
  if (first === undefined) return
  const others = open.length === 1 ? '' : ` and ${open.length - 1} more`
  notes.fault(
    'unseen',
    `must be given: how many points does a category add that no bin of ${quote(first.name)}${others} ` +
      `names? ${rules.unseen} Choose "zero" for none, "missing" for the points of a missing value, ` +
      'or "min" for the least points of the feature',
  )
}

const isElse = ({ kind }: { kind: string }) => kind === 'else'

/** Notes that the exact scale can't be recovered from rounded points. */
function noteRounding({ features, basePoints }: SourceCard, notes: Notes): void {
  if (features.length === 0 || !hasWholePoints({ base_points: basePoints, features })) return
  const most = roundingMax(features.length)
  notes.conversion(
    'file',
    `all points are whole numbers: a score may be ${most} points off the exact scale, ` +
      'and the probability of default with it; the import does not change the points',
  )
}

interface PointsOf {
  readonly base_points: number
  readonly features: readonly { readonly bins: readonly { readonly points: number }[] }[]
}

/** Tells whether all points are whole numbers, so that they may have been rounded. */
export function hasWholePoints({ base_points: basePoints, features }: PointsOf): boolean {
  const points = features.flatMap(({ bins }) => bins.map((bin) => bin.points))
  return [basePoints, ...points].every(Number.isInteger)
}

/** Largest error of a score, in points, when base and points are rounded to whole numbers. */
export function roundingMax(features: number): number {
  return (features + 1) / 2
}
