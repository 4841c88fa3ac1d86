import { type Notes, quote } from '../build/notes.ts'
import { between, holds, type Range, readDecimal } from '../build/ranges.ts'
import type { Value } from './pmml-predicate.ts'
import { type Element, findChild, findChildren } from './xml.ts'

/** A field, and how PMML prepares its values before predicates see them. */
export interface PmmlField {
  readonly name: string
  readonly isNumeric: boolean
  /** Constants at which the preparation changes its behaviour. */
  readonly constants: readonly string[]
  /** Number of intervals in which a value is looked for. */
  readonly intervals: number
  /** The value that predicates see; `NO_SCORE` when PMML gives no score. */
  prepare(value: Value): Value | typeof NO_SCORE
}

export const NO_SCORE = Symbol('no score')

const NUMERIC = new Set(['integer', 'float', 'double'])
/** Stands for all categories that the document does not name; no document contains this text. */
export const UNNAMED = '\u0000'

/** The fields of the mining schema by name; adds a fault for each that can't be converted. */
export function readFields(root: Element, model: Element, notes: Notes): Map<string, PmmlField> {
  const dictionary = findChild(root, 'DataDictionary')
  const schema = findChild(model, 'MiningSchema')
  const declared = byName(findChildren(dictionary ?? root, 'DataField'), notes)
  const used = byName(schema === undefined ? [] : findChildren(schema, 'MiningField'), notes)
  const derived = derivedNames(root, model)
  const fields = new Map<string, PmmlField>()
  for (const [name, mining] of used) {
    const data = declared.get(name)
    if (derived.has(name)) {
      notes.fault(`DerivedField ${quote(name)}`, 'has the name of a field of the MiningSchema')
    }
    const field = data === undefined ? null : readField(name, data, mining, notes)
    if (field !== null) fields.set(name, field)
  }
  return fields
}

/** A second element of one name is a fault: some readers use the first, others the last. */
function byName(elements: readonly Element[], notes: Notes): Map<string, Element> {
  const found = new Map<string, Element>()
  for (const element of elements) {
    const name = element.attributes['name'] ?? ''
    if (found.has(name)) notes.fault(`${element.name} ${quote(name)}`, 'appears twice')
    found.set(name, element)
  }
  return found
}

function derivedNames(root: Element, model: Element): Set<string | undefined> {
  const parents = [
    findChild(root, 'TransformationDictionary'),
    findChild(model, 'LocalTransformations'),
  ]
  const fields = parents.flatMap((parent) => (parent ? findChildren(parent, 'DerivedField') : []))
  return new Set(fields.map(({ attributes }) => attributes['name']))
}

function readField(name: string, data: Element, mining: Element, notes: Notes): PmmlField | null {
  const path = `DataField ${quote(name)}`
  const { dataType = 'string' } = data.attributes
  const isNumeric = NUMERIC.has(dataType)
  if (!isNumeric && dataType !== 'string' && dataType !== 'boolean') {
    notes.fault(path, `has the type ${dataType}, but only numbers and texts can be converted`)
    return null
  }
  if (dataType === 'boolean') {
    notes.conversion(path, 'is boolean: applicants must send the text "true" or "false"')
  }
  if (dataType === 'float') {
    notes.conversion(
      path,
      'has the type float: PMML engines round its values to single precision, but the service does not',
    )
  }
  if (dataType === 'integer') {
    notes.conversion(
      path,
      'has the type integer: PMML engines refuse 3.7, but the service does not',
    )
  }
  for (const fault of listUnread(data, mining, isNumeric)) notes.fault(path, fault)
  const invalid = readTreatment(mining, isNumeric, path, notes)
  const replacement = constant(mining.attributes['missingValueReplacement'], isNumeric)
  const returnsInvalid = mining.attributes['missingValueTreatment'] === 'returnInvalid'
  const domain = readDomain(data, isNumeric)
  const outliers = readOutliers(mining)
  return {
    name,
    isNumeric,
    constants: [...domain.constants, ...outliers.constants],
    intervals: domain.intervals,
    prepare: (given) => {
      let value = given !== null && domain.isMissing(given) ? null : given
      if (value !== null && !domain.isValid(value)) {
        if (invalid === NO_SCORE) return NO_SCORE
        value = invalid(value)
      }
      value = outliers.bounded(value)
      if (value !== null) return value
      return returnsInvalid ? NO_SCORE : replacement
    },
  }
}

/** Returns what PMML does with a value outside the domain of its field. */
function readTreatment(
  mining: Element,
  isNumeric: boolean,
  path: string,
  notes: Notes,
): typeof NO_SCORE | ((value: Value) => Value) {
  const { invalidValueTreatment = 'returnInvalid', invalidValueReplacement } = mining.attributes
  if (invalidValueTreatment === 'returnInvalid') return NO_SCORE
  if (invalidValueTreatment === 'asMissing') return () => null
  if (invalidValueTreatment === 'asIs') return (value) => value
  const replacement = constant(invalidValueReplacement, isNumeric)
  if (invalidValueTreatment === 'asValue' && replacement !== null) return () => replacement
  notes.fault(path, `has the invalidValueTreatment "${invalidValueTreatment}"`)
  return NO_SCORE
}

interface Domain {
  readonly constants: readonly string[]
  readonly intervals: number
  isMissing(value: Value): boolean
  isValid(value: Value): boolean
}

/** Values and intervals that a DataField lists; without any, every value is valid. */
function readDomain(data: Element, isNumeric: boolean): Domain {
  const values = findChildren(data, 'Value')
  const listed = (property: string) =>
    new Set(
      values
        .filter(({ attributes }) => (attributes['property'] ?? 'valid') === property)
        .map(({ attributes }) => constant(attributes['value'], isNumeric)),
    )
  const [valid, invalid, missing] = [listed('valid'), listed('invalid'), listed('missing')]
  const intervals = findChildren(data, 'Interval').map(readInterval)
  const isOpen = valid.size === 0 && intervals.length === 0
  return {
    constants: [
      ...values.map(({ attributes }) => attributes['value'] ?? ''),
      ...intervals.flatMap(({ low, high }) => [low.at, high.at]).map(String),
    ],
    intervals: intervals.length,
    isMissing: (value) => missing.has(value),
    isValid: (value) =>
      !invalid.has(value) &&
      (isOpen ||
        valid.has(value) ||
        (typeof value === 'number' && intervals.some((range) => holds(range, value)))),
  }
}

function readInterval({ attributes }: Element): Range {
  const { closure = '', leftMargin, rightMargin } = attributes
  const low = readDecimal(leftMargin ?? '') ?? Number.NEGATIVE_INFINITY
  const high = readDecimal(rightMargin ?? '') ?? Number.POSITIVE_INFINITY
  return between(low, high, {
    isLowClosed: closure.startsWith('closed'),
    isHighClosed: closure.endsWith('Closed'),
  })
}

function readOutliers({ attributes }: Element): {
  constants: readonly string[]
  bounded(value: Value): Value
} {
  const { outliers = 'asIs', lowValue, highValue } = attributes
  if (outliers === 'asIs') return { constants: [], bounded: (value) => value }
  const low = readDecimal(lowValue ?? '') ?? Number.NEGATIVE_INFINITY
  const high = readDecimal(highValue ?? '') ?? Number.POSITIVE_INFINITY
  const isExtreme = outliers === 'asExtremeValues'
  return {
    constants: [String(low), String(high)],
    bounded: (value) => {
      if (typeof value !== 'number' || (low <= value && value <= high)) return value
      return isExtreme ? Math.min(Math.max(value, low), high) : null
    },
  }
}

function constant(text: string | undefined, isNumeric: boolean): Value {
  if (text === undefined) return null
  return isNumeric ? readDecimal(text) : text
}

const NUMBERS = ['lowValue', 'highValue'] as const
const REPLACEMENTS = ['missingValueReplacement', 'invalidValueReplacement'] as const
const MARGINS = ['leftMargin', 'rightMargin'] as const
const OUTLIERS = ['asIs', 'asMissingValues', 'asExtremeValues']
const CLOSURES = ['openOpen', 'openClosed', 'closedOpen', 'closedClosed']
const PROPERTIES = ['valid', 'invalid', 'missing']

/**
 * Returns what this service can't read in a field, as messages: ignoring it would change scores.
 */
function listUnread(data: Element, mining: Element, isNumeric: boolean): string[] {
  const values = findChildren(data, 'Value')
  const intervals = findChildren(data, 'Interval')
  return [
    ...notNumbers(mining, isNumeric ? [...NUMBERS, ...REPLACEMENTS] : NUMBERS),
    ...findUnlisted(mining, 'outliers', OUTLIERS),
    ...intervals.flatMap((interval) => notNumbers(interval, MARGINS)),
    ...intervals.flatMap((interval) => findUnlisted(interval, 'closure', CLOSURES, true)),
    ...values.flatMap((value) => findUnlisted(value, 'property', PROPERTIES)),
    ...values.flatMap((value) => {
      if (value.attributes['value'] === undefined) return ['has a Value without a value']
      return isNumeric ? notNumbers(value, ['value']) : []
    }),
  ]
}

function notNumbers({ attributes }: Element, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const text = attributes[name]
    if (text === undefined || readDecimal(text) !== null) return []
    return [`has the ${name} ${quote(text)}, which is not a number`]
  })
}

function findUnlisted(
  { attributes }: Element,
  name: string,
  known: readonly string[],
  isRequired = false,
): string[] {
  const text = attributes[name]
  if (text === undefined ? !isRequired : known.includes(text)) return []
  return [`has the ${name} ${quote(text ?? '')}, which must be one of ${known.join(', ')}`]
}
