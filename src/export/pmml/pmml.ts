import {
  type CompiledModel,
  type FeatureRule,
  nextDown,
  nextUp,
  rulesOf,
  type ScorecardSpec,
  type SpecIssue,
} from '../../engine/index.ts'
import type { WriteResult } from '../export-file.ts'
import { atOrAbove, atOrBelow } from '../sql/bounds.ts'
import { type Element, element, isXmlText, writeXml } from './xml.ts'

const OPERATORS = {
  '>': 'greaterThan',
  '>=': 'greaterOrEqual',
  '<': 'lessThan',
  '<=': 'lessOrEqual',
} as const

/**
 * Writes a scorecard as PMML 4.4 `<Scorecard>`. Outputs are the score and, if the model has a
 * scale, the probability of default.
 *
 * The score equals that of `scoreApplicant` to the bit if the consumer adds doubles in document
 * order; the probability is as exact as the consumer's `exp`. Extensions contain what PMML can't
 * express (target, scaling, grades) in the form of the spec.
 *
 * @param spec the spec that the model was compiled from
 */
export function writePmml(model: CompiledModel, spec: ScorecardSpec): WriteResult {
  const rules = rulesOf(model)
  const faults = faultsOf(spec, rules)
  if (faults.length > 0) return { ok: false, faults }
  const fields = rules.map(({ name, isNumeric }) =>
    element('DataField', {
      name,
      optype: isNumeric ? 'continuous' : 'categorical',
      dataType: isNumeric ? 'double' : 'string',
    }),
  )
  const scorecard = element(
    'Scorecard',
    {
      modelName: spec.name,
      functionName: 'regression',
      initialScore: model.basePoints,
      useReasonCodes: 'false',
    },
    [
      ...extensionsOf(spec),
      element(
        'MiningSchema',
        {},
        rules.map(({ name }) => element('MiningField', { name })),
      ),
      outputsOf(model),
      element('Characteristics', {}, rules.map(characteristicOf)),
    ],
  )
  const header = element('Header', { modelVersion: spec.version }, [
    element('Application', { name: 'Scoreline' }),
  ])
  const dictionary = element('DataDictionary', { numberOfFields: fields.length }, fields)
  const root = { xmlns: 'http://www.dmg.org/PMML-4_4', version: '4.4' }
  return { ok: true, text: writeXml(element('PMML', root, [header, dictionary, scorecard])) }
}

/** Texts that XML can't contain, each with its path in the spec. */
function faultsOf(spec: ScorecardSpec, rules: readonly FeatureRule[]): SpecIssue[] {
  const grades = spec.risk_grades ?? []
  const texts = [
    ...(['name', 'version', 'target'] as const).map((path) => [path, spec[path]] as const),
    ...rules.flatMap(({ name, categories }, index) => [
      [`features[${index}].name`, name] as const,
      [`features[${index}].bins`, categories.flatMap(({ texts }) => texts).join('')] as const,
    ]),
    ...grades.map(({ grade }, index) => [`risk_grades[${index}].grade`, grade] as const),
  ]
  const message = "contains a control character or half a character, which XML can't contain"
  return texts.filter(([, text]) => !isXmlText(text)).map(([path]) => ({ path, message }))
}

function extensionsOf({ target, has_pd, scaling, risk_grades }: ScorecardSpec): Element[] {
  const known = Object.entries({
    target,
    has_pd: has_pd === false ? 'false' : undefined,
    scaling: scaling && JSON.stringify(scalingOf(scaling)),
    risk_grades: risk_grades && JSON.stringify(risk_grades.map(gradeOf)),
  })
  return known.flatMap(([name, value]) =>
    value === undefined ? [] : [element('Extension', { extender: 'Scoreline', name, value })],
  )
}

function scalingOf({ base_score, base_odds, pdo }: NonNullable<ScorecardSpec['scaling']>) {
  return { base_score, base_odds, pdo }
}

function gradeOf({
  grade,
  min_score,
  max_score,
}: NonNullable<ScorecardSpec['risk_grades']>[number]) {
  return { grade, min_score, max_score }
}

/** The score and, with a scale, `1 / (1 + exp((score - offset) / factor))`. */
function outputsOf({ scale, featureIndex }: CompiledModel): Element {
  const score = freeName('score', featureIndex)
  const type = { optype: 'continuous', dataType: 'double' }
  const predicted = element('OutputField', { name: score, ...type, feature: 'predictedValue' })
  if (scale === null) return element('Output', {}, [predicted])
  const pd = freeName('pd', featureIndex)
  const constant = (value: number) => element('Constant', { dataType: 'double' }, value)
  const apply = (name: string, ...operands: Element[]) =>
    element('Apply', { function: name }, operands)
  const distance = apply('-', element('FieldRef', { field: score }), constant(scale.offset))
  const odds = apply('exp', apply('/', distance, constant(scale.factor)))
  return element('Output', {}, [
    predicted,
    element('OutputField', { name: pd, ...type, feature: 'transformedValue' }, [
      apply('/', constant(1), apply('+', constant(1), odds)),
    ]),
  ])
}

/** The name, or the name with the first number after it that makes it unique among the features. */
function freeName(name: string, features: ReadonlyMap<string, number>): string {
  let free = name
  for (let number = 2; features.has(free); number++) free = `${name}_${number}`
  return free
}

/** Attributes in ascending order; the missing value comes first, as no comparison holds for it. */
function characteristicOf(rule: FeatureRule): Element {
  const { name, isNumeric, missingPoints } = rule
  const test = (operator: string, value?: string | number) =>
    element('SimplePredicate', { field: name, operator, ...(value !== undefined && { value }) })
  return element('Characteristic', { name }, [
    attributeOf(missingPoints, test('isMissing')),
    ...(isNumeric ? rangesOf(rule, test) : categoriesOf(rule, test)),
  ])
}

type Test = (operator: string, value?: string | number) => Element

function attributeOf(partialScore: number, predicate: Element): Element {
  return element('Attribute', { partialScore }, [predicate])
}

/** Holes get their own attributes: a final `True` would also accept infinite numbers and NaN. */
function rangesOf({ intervals, unmatchedPoints }: FeatureRule, test: Test): Element[] {
  const attributes: Element[] = []
  const add = (low: number, high: number, points: number) =>
    attributes.push(attributeOf(points, withinPredicate(low, high, test)))
  let from = Number.NEGATIVE_INFINITY
  for (const { low, high, points } of intervals) {
    if (Math.max(from, -Number.MAX_VALUE) < low) add(from, nextDown(low), unmatchedPoints)
    add(low, high, points)
    from = high === Number.POSITIVE_INFINITY ? high : nextUp(high)
  }
  if (from < Number.POSITIVE_INFINITY) add(from, Number.POSITIVE_INFINITY, unmatchedPoints)
  return attributes
}

function withinPredicate(low: number, high: number, test: Test): Element {
  if (low === high) return test('equal', low)
  const [above, below] = [atOrAbove(low), atOrBelow(high)]
  const parts = [above, below].flatMap((one) =>
    one === null ? [] : [test(OPERATORS[one.operator], one.bound)],
  )
  const [only] = parts
  if (only === undefined) return test('isNotMissing')
  return parts.length === 1 ? only : compound('and', parts)
}

function categoriesOf({ categories, unmatchedPoints }: FeatureRule, test: Test): Element[] {
  const attributes = categories.map(({ texts, points }) => {
    // A set would be one text, and consumers read its quotes and backslashes in different ways.
    const tests = texts.map((text) => test('equal', text))
    const [only] = tests
    return attributeOf(points, only && tests.length === 1 ? only : compound('or', tests))
  })
  return [...attributes, attributeOf(unmatchedPoints, element('True'))]
}

function compound(booleanOperator: 'and' | 'or', predicates: readonly Element[]): Element {
  return element('CompoundPredicate', { booleanOperator }, predicates)
}
