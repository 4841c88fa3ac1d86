import {
  type CompiledModel,
  compileReasons,
  type FeatureRule,
  type IntervalRule,
  listRules,
  nextDown,
  nextUp,
  type ReasonFinder,
  type ScorecardSpec,
  type SpecIssue,
} from '../../../engine/index.ts'
import { makeReasonFinder, type ReasonBaseline } from '../../../scoring/reason-baseline.ts'
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
 * Reason codes are written with the baselines that the service uses. How a consumer joins codes and
 * breaks ties is its own: PMML leaves it open.
 *
 * @param spec the spec that the model was compiled from
 * @param baseline what reasons are measured against; null: the averages that follow from the card.
 *   Without either, the card has no reason codes
 */
export function writePmml(
  model: CompiledModel,
  spec: ScorecardSpec,
  baseline: ReasonBaseline | null = null,
): WriteResult {
  const rules = listRules(model)
  const reasons = PmmlReasons.of(spec, model, baseline)
  const faults = [...findFaults(spec, rules), ...(reasons?.faults() ?? [])]
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
      ...(reasons?.attributes() ?? { useReasonCodes: 'false' }),
    },
    [
      ...makeExtensions(spec),
      element(
        'MiningSchema',
        {},
        rules.map(({ name }) => element('MiningField', { name })),
      ),
      makeOutputs(model, reasons),
      element(
        'Characteristics',
        {},
        rules.map((rule, index) => makeCharacteristic(rule, reasons?.of(index) ?? null)),
      ),
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
function findFaults(spec: ScorecardSpec, rules: readonly FeatureRule[]): SpecIssue[] {
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

function makeExtensions({ target, has_pd, scaling, risk_grades }: ScorecardSpec): Element[] {
  const known = Object.entries({
    target,
    has_pd: has_pd === false ? 'false' : undefined,
    scaling: scaling && JSON.stringify(readScaling(scaling)),
    risk_grades: risk_grades && JSON.stringify(risk_grades.map(formatGrade)),
  })
  return known.flatMap(([name, value]) =>
    value === undefined ? [] : [element('Extension', { extender: 'Scoreline', name, value })],
  )
}

function readScaling({ base_score, base_odds, pdo }: NonNullable<ScorecardSpec['scaling']>) {
  return { base_score, base_odds, pdo }
}

function formatGrade({
  grade,
  min_score,
  max_score,
}: NonNullable<ScorecardSpec['risk_grades']>[number]) {
  return { grade, min_score, max_score }
}

/** The score; with a scale, `1 / (1 + exp((score - offset) / factor))`; reason codes by rank. */
function makeOutputs({ scale, featureIndex }: CompiledModel, reasons: PmmlReasons | null): Element {
  const score = freeName('score', featureIndex)
  const type = { optype: 'continuous', dataType: 'double' }
  const predicted = element('OutputField', { name: score, ...type, feature: 'predictedValue' })
  const ranked = Array.from({ length: reasons?.max ?? 0 }, (_, index) =>
    element('OutputField', {
      name: freeName(`reason_${index + 1}`, featureIndex),
      optype: 'categorical',
      dataType: 'string',
      feature: 'reasonCode',
      rank: index + 1,
    }),
  )
  if (scale === null) return element('Output', {}, [predicted, ...ranked])
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
    ...ranked,
  ])
}

/** The name, or the name with the first number after it that makes it unique among the features. */
function freeName(name: string, features: ReadonlyMap<string, number>): string {
  let free = name
  for (let number = 2; features.has(free); number++) free = `${name}_${number}`
  return free
}

/** Attributes in ascending order; the missing value comes first, as no comparison holds for it. */
function makeCharacteristic(rule: FeatureRule, reasons: CharacteristicReasons | null): Element {
  const { name, isNumeric, missingPoints, missingSlot } = rule
  const test = (operator: string, value?: string | number) =>
    element('SimplePredicate', { field: name, operator, ...(value !== undefined && { value }) })
  const readAttribute: AttributeOf = (partialScore, slot, predicate) =>
    element('Attribute', { partialScore, ...reasons?.ofSlot(slot) }, [predicate])
  return element('Characteristic', { name, ...reasons?.attributes }, [
    readAttribute(missingPoints, missingSlot, test('isMissing')),
    ...(isNumeric
      ? listRanges(rule, test, readAttribute)
      : listCategories(rule, test, readAttribute)),
  ])
}

type Test = (operator: string, value?: string | number) => Element

type AttributeOf = (partialScore: number, slot: number, predicate: Element) => Element

/** Holes get their own attributes: a final `True` would also accept infinite numbers and NaN. */
function listRanges(
  { intervals, unmatchedPoints, unmatchedSlot }: FeatureRule,
  test: Test,
  readAttribute: AttributeOf,
): Element[] {
  const attributes: Element[] = []
  const add = (
    low: number,
    high: number,
    { points, slot }: Pick<IntervalRule, 'points' | 'slot'>,
  ) => attributes.push(readAttribute(points, slot, withinPredicate(low, high, test)))
  const hole = { points: unmatchedPoints, slot: unmatchedSlot }
  let from = Number.NEGATIVE_INFINITY
  for (const { low, high, ...interval } of intervals) {
    if (Math.max(from, -Number.MAX_VALUE) < low) add(from, nextDown(low), hole)
    add(low, high, interval)
    from = high === Number.POSITIVE_INFINITY ? high : nextUp(high)
  }
  if (from < Number.POSITIVE_INFINITY) add(from, Number.POSITIVE_INFINITY, hole)
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

function listCategories(
  { categories, unmatchedPoints, unmatchedSlot }: FeatureRule,
  test: Test,
  readAttribute: AttributeOf,
): Element[] {
  const attributes = categories.map(({ texts, points, slot }) => {
    // A set would be one text, and consumers read its quotes and backslashes in different ways.
    const tests = texts.map((text) => test('equal', text))
    const [only] = tests
    return readAttribute(points, slot, only && tests.length === 1 ? only : compound('or', tests))
  })
  return [...attributes, readAttribute(unmatchedPoints, unmatchedSlot, element('True'))]
}

function compound(booleanOperator: 'and' | 'or', predicates: readonly Element[]): Element {
  return element('CompoundPredicate', { booleanOperator }, predicates)
}

type Attributes = Readonly<Record<string, string | number>>

/** The attributes of one Characteristic and of what it holds. */
interface CharacteristicReasons {
  readonly attributes: Attributes
  /** For the Attribute of a slot: its code, where it is not that of the Characteristic. */
  ofSlot(slot: number): Attributes
}

/** `baselineMethod` only informs a consumer. */
const METHODS: Readonly<Record<string, string>> = {
  max: 'max',
  mean: 'mean',
  mean_all: 'mean',
  mean_at_cutoff: 'mean',
  neutral: 'neutral',
}

/** Reason codes and baselines of a card in the attributes of PMML. */
class PmmlReasons {
  /** Reasons that an answer of the service has. */
  readonly max: number
  private readonly model: CompiledModel
  private readonly finder: ReasonFinder

  private constructor(model: CompiledModel, finder: ReasonFinder) {
    this.model = model
    this.finder = finder
    this.max = finder.rules.max
  }

  /** @returns null for a card without reasons, or without what they are measured against */
  static of(
    spec: ScorecardSpec,
    model: CompiledModel,
    baseline: ReasonBaseline | null,
  ): PmmlReasons | null {
    const rules = compileReasons(spec, model)
    const finder = rules === null ? null : makeReasonFinder(model, rules, baseline)
    return finder === null ? null : new PmmlReasons(model, finder)
  }

  /** Codes that XML can't contain. */
  faults(): SpecIssue[] {
    const message = "have a control character, which XML can't contain"
    const isStorable = this.finder.rules.codes.every(isXmlText)
    return isStorable ? [] : [{ path: 'reason_codes', message }]
  }

  attributes(): Attributes {
    const { method, settings, sign } = this.finder.rules
    const basis = method === 'fixed' ? (settings.baseline_basis ?? 'other') : method
    return {
      useReasonCodes: 'true',
      reasonCodeAlgorithm: sign === 1 ? 'pointsBelow' : 'pointsAbove',
      baselineMethod: METHODS[basis] ?? 'other',
    }
  }

  of(feature: number): CharacteristicReasons {
    const { rules, means } = this.finder
    const { reason_code: code = this.model.featureNames[feature] ?? '' } =
      rules.spec.features[feature] ?? {}
    const mean = means.means[feature] ?? Number.NaN
    return {
      attributes: {
        reasonCode: code,
        baselineScore: Number.isNaN(mean) ? this.leastAdverse(feature) : mean,
      },
      ofSlot: (slot) => {
        const own = rules.codes[rules.codeOfSlot[slot] ?? -1] ?? code
        return own === code ? {} : { reasonCode: own }
      },
    }
  }

  /** A baseline against which a feature that can't be a reason never takes points. */
  private leastAdverse(feature: number): number {
    const { points, slotStart } = this.model
    const own = points.slice(slotStart[feature], slotStart[feature + 1])
    return this.finder.rules.sign === 1 ? Math.min(...own) : Math.max(...own)
  }
}
