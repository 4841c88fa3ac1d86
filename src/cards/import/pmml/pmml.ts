import type { CardReasons, ImportOptions, SourceCard, SourceFeature } from '../build/card.ts'
import { type Notes, quote } from '../build/notes.ts'
import { readDecimal } from '../build/ranges.ts'
import { binsOfField, COMPARISONS_MAX, type ReadAttribute, type Work } from './pmml-bins.ts'
import { type PmmlField, readFields } from './pmml-field.ts'
import { compilePredicate, listPredicates, PredicateFault } from './pmml-predicate.ts'
import { type Element, findChild, findChildren } from './xml.ts'

const VERSIONS = /^4\.[1-4]/
/** Elements of a document that are not models. */
const NO_MODELS = new Set([
  'Header',
  'MiningBuildTask',
  'DataDictionary',
  'TransformationDictionary',
])

/**
 * Reads the scorecard of a PMML document, version 4.1 to 4.4.
 *
 * PMML tries the attributes in order and takes the first that holds, so attributes may overlap.
 * Bins must not: the reader finds the attribute of every number between two constants, of every
 * category and of a missing value, and makes bins from these.
 *
 * @source PMML 4.4, Scorecard
 */
export function readPmml(root: Element, options: ImportOptions, notes: Notes): SourceCard | null {
  const model = findScorecard(root, notes)
  if (model === null) return null
  checkTargets(model, notes)
  const initialScore = model.attributes['initialScore'] ?? '0'
  let basePoints = readDecimal(initialScore)
  if (basePoints === null) notes.fault('Scorecard', `has the initialScore ${quote(initialScore)}`)
  const fields = readFields(root, model, notes)
  const characteristics = findChildren(
    findChild(model, 'Characteristics') ?? model,
    'Characteristic',
  )
  const reasons = readReasons(model, characteristics, notes)
  const features = new Map<string, SourceFeature>()
  const work = { left: COMPARISONS_MAX }
  for (const [index, element] of characteristics.entries()) {
    const label = element.attributes['name'] ?? element.attributes['id'] ?? `${index + 1}`
    const characteristic = { path: `Characteristic ${quote(label)}`, element, work }
    const read = readCharacteristic(characteristic, fields, options, notes)
    if (typeof read === 'number') basePoints = (basePoints ?? 0) + read
    else if (read !== null && features.has(read.name)) {
      notes.fault(
        characteristic.path,
        `is a second Characteristic of the field ${quote(read.name)}`,
      )
    } else if (read !== null) {
      const explained = reasons === null ? withoutReasons(read) : withReasons(read, element, model)
      features.set(read.name, explained)
    }
  }
  return {
    tool: 'pmml',
    basePoints: basePoints ?? 0,
    features: [...features.values()],
    reasons,
    rules: {
      hasTextCategories: true,
      unseen: 'PMML gives no score where no attribute holds.',
      missing: 'PMML gives no score where no attribute holds.',
    },
  }
}

function findScorecard(root: Element, notes: Notes): Element | null {
  const { version = '' } = root.attributes
  if (root.name !== 'PMML') {
    notes.fault('file', `is XML, but not PMML: its root is ${quote(root.name)}`)
    return null
  }
  if (!VERSIONS.test(version)) {
    notes.fault('PMML', `is version ${quote(version)}, but only 4.1 to 4.4 can be read`)
    return null
  }
  const models = root.children.filter(({ name }) => !NO_MODELS.has(name))
  const [model] = models
  if (models.length !== 1 || model?.name !== 'Scorecard') {
    const found = models.map(({ name }) => name).join(', ') || 'no model'
    notes.fault(
      'PMML',
      `must have exactly one Scorecard, but has ${found}` +
        (found === 'RegressionModel'
          ? '; for toad, use the file that ScoreCard.export writes'
          : ''),
    )
    return null
  }
  if (model.attributes['isScorable'] === 'false') notes.fault('Scorecard', 'is not scorable')
  const math = model.attributes['x-mathContext'] ?? 'double'
  if (math !== 'double') {
    notes.fault(
      'Scorecard',
      `is added up in the precision ${quote(math)}, but the service uses double`,
    )
  }
  if (model.attributes['functionName'] !== 'regression') {
    notes.fault('Scorecard', 'must have the functionName "regression"')
  }
  return model
}

/** Reports what changes the score after the sum. */
function checkTargets(model: Element, notes: Notes): void {
  const targets = findChild(model, 'Targets')
  for (const target of targets === undefined ? [] : findChildren(targets, 'Target')) {
    const { castInteger, min, max, rescaleConstant = '0', rescaleFactor = '1' } = target.attributes
    const isPlain = Number(rescaleConstant) === 0 && Number(rescaleFactor) === 1
    if (castInteger !== undefined || min !== undefined || max !== undefined || !isPlain) {
      notes.fault(
        'Target',
        "changes the score (cast, bounds or rescaling), which can't be converted",
      )
    }
  }
  const output = findChild(model, 'Output')
  for (const { attributes } of output === undefined ? [] : findChildren(output, 'OutputField')) {
    if (attributes['feature'] === 'transformedValue' || attributes['feature'] === 'decision') {
      notes.conversion(`OutputField ${quote(attributes['name'] ?? '')}`, 'is left out')
    }
  }
}

interface Characteristic {
  readonly path: string
  readonly element: Element
  /** Shared by all of the card. */
  readonly work: Work
}

/**
 * @returns a number when the characteristic uses no field: the points that it adds to every score;
 *   null after a fault
 */
function readCharacteristic(
  { path, element, work }: Characteristic,
  fields: ReadonlyMap<string, PmmlField>,
  options: ImportOptions,
  notes: Notes,
): SourceFeature | number | null {
  const attributes = findChildren(element, 'Attribute')
  const fieldName = readField(attributes, path, notes)
  if (fieldName === undefined) return null
  const field = fieldName === null ? null : fields.get(fieldName)
  if (field === undefined) {
    notes.fault(
      path,
      `uses ${quote(fieldName ?? '')}, which is not a field of both the DataDictionary and the ` +
        "MiningSchema that can be converted; a DerivedField can't be converted",
    )
    return null
  }
  const read = attributes.map((attribute, index) =>
    readAttribute(attribute, `${path}, Attribute ${index + 1}`, field?.isNumeric === true, notes),
  )
  if (read.includes(null)) return null
  const known = read.filter((attribute) => attribute !== null)
  if (field === null) return readConstant(known, path, notes)
  return binsOfField(field, known, { path, unseen: options.unseen, notes, work })
}

/** The field that all predicates use; null when they use none, undefined after a fault. */
function readField(
  attributes: readonly Element[],
  path: string,
  notes: Notes,
): string | null | undefined {
  const fields = new Set<string>()
  const pending = [...attributes]
  for (const element of pending) {
    if (element.attributes['field'] !== undefined) fields.add(element.attributes['field'])
    for (const child of element.children) {
      if (child.name !== 'ComplexPartialScore') pending.push(child)
    }
  }
  const [field = null, second] = fields
  if (second === undefined) return field
  notes.fault(path, `uses several fields: ${[...fields].map(quote).join(', ')}`)
  return undefined
}

function readAttribute(
  attribute: Element,
  path: string,
  isNumeric: boolean,
  notes: Notes,
): ReadAttribute | null {
  if (findChild(attribute, 'ComplexPartialScore') !== undefined) {
    notes.fault(path, 'has a ComplexPartialScore: its points depend on the value, not on the bin')
    return null
  }
  const { partialScore, reasonCode } = attribute.attributes
  const points = readDecimal(partialScore ?? '')
  const [element, second] = listPredicates(attribute)
  if (points === null) {
    notes.fault(path, `has the partialScore ${quote(partialScore ?? '')}, which is not a number`)
    return null
  }
  if (element === undefined || second !== undefined) {
    notes.fault(path, element === undefined ? 'has no predicate' : 'has several predicates')
    return null
  }
  const uses = { constants: new Set<string>(), predicates: 0 }
  try {
    const predicate = compilePredicate(element, isNumeric, uses)
    return { path, points, reasonCode, label: readLabel(element), predicate, ...uses }
  } catch (error) {
    if (!(error instanceof PredicateFault)) throw error
    notes.fault(path, `${error.message}, which can't be converted`)
    return null
  }
}

const SIGNS: Readonly<Record<string, string>> = {
  equal: '=',
  notEqual: '!=',
  lessThan: '<',
  lessOrEqual: '<=',
  greaterThan: '>',
  greaterOrEqual: '>=',
  isIn: 'in',
  isNotIn: 'not in',
}

/** A predicate as a short text for messages. */
function readLabel({ name, attributes, children, text }: Element): string {
  const { operator = '', booleanOperator = '', value } = attributes
  if (name === 'SimplePredicate') return [SIGNS[operator] ?? operator, value].join(' ').trim()
  if (name === 'CompoundPredicate') return children.map(readLabel).join(` ${booleanOperator} `)
  if (name === 'SimpleSetPredicate') {
    return `${SIGNS[booleanOperator] ?? booleanOperator} ${children.map(readLabel).join('')}`
  }
  return name === 'Array' ? text.trim() : name
}

/** Points of a characteristic that uses no field: the first attribute that holds joins the base. */
function readConstant(
  attributes: readonly ReadAttribute[],
  path: string,
  notes: Notes,
): number | null {
  const holding = attributes.find(({ predicate }) => predicate(null) === true)
  if (holding === undefined) {
    notes.fault(path, 'has no attribute that can hold')
    return null
  }
  notes.conversion(path, `uses no field: its ${holding.points} points are added to the base`)
  return holding.points
}

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
function readReasons(
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
function withReasons(
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
function withoutReasons(feature: SourceFeature): SourceFeature {
  return { ...feature, bins: feature.bins.map((bin) => ({ ...bin, reasonCode: undefined })) }
}
