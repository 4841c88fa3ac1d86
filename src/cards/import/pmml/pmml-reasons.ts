import type { CardReasons, SourceFeature } from '../build/card.ts'
import { type Notes, quote } from '../build/notes.ts'
import { readDecimal } from '../build/ranges.ts'
import { type Element, findChildren } from './xml.ts'

const BASES = ['max', 'mean', 'neutral', 'other'] as const
/** Longer codes have no place in a specification. */
const CODE_CHARS_MAX = 32

/**
 * Reads how a scorecard ranks reason codes.
 *
 * Without reason codes a card scores all the same, so codes that can't be used are left out, and a
 * conversion says so.
 *
 * @returns null for a card without reason codes
 * @source PMML 4.4, Scorecard, ranking reason codes
 */
export function readReasons(
  model: Element,
  characteristics: readonly Element[],
  notes: Notes,
): CardReasons | null {
  if (model.attributes['useReasonCodes'] === 'false') return null
  const codes = characteristics.flatMap((one) =>
    listCodes(one).filter((code) => code !== undefined),
  )
  const declares =
    codes.length > 0 || characteristics.some((one) => readBaseline(one, model) !== '')
  if (!declares) return null
  const { reasonCodeAlgorithm: algorithm = 'pointsBelow', baselineMethod: method = 'other' } =
    model.attributes
  const fault =
    algorithm === 'pointsBelow' || algorithm === 'pointsAbove'
      ? findFault(model, characteristics, codes)
      : `the reasonCodeAlgorithm is ${quote(algorithm)}`
  if (fault !== null) {
    notes.conversion('Scorecard', `loses its reason codes: ${fault}`)
    return null
  }
  const basis = BASES.find((one) => one === method) ?? 'other'
  if (basis !== method) {
    notes.conversion('Scorecard', `has the baselineMethod ${quote(method)}, which becomes "other"`)
  }
  return { isAbove: algorithm === 'pointsAbove', basis }
}

function findFault(
  model: Element,
  characteristics: readonly Element[],
  codes: readonly string[],
): string | null {
  for (const one of characteristics) {
    const name = `Characteristic ${quote(one.attributes['name'] ?? '')}`
    if (readDecimal(readBaseline(one, model)) === null) return `${name} has no baselineScore`
    if (listCodes(one).includes(undefined)) return `${name} has an Attribute without a reasonCode`
  }
  const long = codes.find((code) => code.length > CODE_CHARS_MAX || code.trim() === '')
  return long === undefined
    ? null
    : `${quote(long)} does not have 1 to ${CODE_CHARS_MAX} characters`
}

/** The code of each attribute, its own or that of the characteristic. */
function listCodes(characteristic: Element): (string | undefined)[] {
  const { reasonCode } = characteristic.attributes
  return findChildren(characteristic, 'Attribute').map(
    ({ attributes }) => attributes['reasonCode'] ?? reasonCode,
  )
}

/** Text of the baseline; the inner one wins. */
function readBaseline({ attributes }: Element, model: Element): string {
  return attributes['baselineScore'] ?? model.attributes['baselineScore'] ?? ''
}

/** A feature with the baseline and the codes of its characteristic. */
export function withReasons(
  feature: SourceFeature,
  characteristic: Element,
  model: Element,
): SourceFeature {
  const code = characteristic.attributes['reasonCode']
  return {
    ...feature,
    reasonBaseline: readDecimal(readBaseline(characteristic, model)) ?? 0,
    ...(code !== undefined && { reasonCode: code }),
    bins: feature.bins.map((bin) =>
      bin.reasonCode === code ? { ...bin, reasonCode: undefined } : bin,
    ),
  }
}

/** A feature of a card whose reason codes are left out. */
export function withoutReasons(feature: SourceFeature): SourceFeature {
  return { ...feature, bins: feature.bins.map((bin) => ({ ...bin, reasonCode: undefined })) }
}
