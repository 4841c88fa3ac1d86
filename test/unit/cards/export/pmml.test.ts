import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { writePmml } from '../../../../src/cards/export/pmml/pmml.ts'
import {
  checkSpec,
  compileModel,
  ModelScore,
  scoreApplicant,
} from '../../../../src/engine/index.ts'
import {
  card,
  categorical,
  numeric,
  plainFeature,
  sampleApplicants,
  sampleSpec,
} from '../../../support/cards/cards.ts'
import { applicantFor, exactly, validSpec } from '../../../support/cards/spec-arbitraries.ts'
import { evaluatePmml, find, readXml } from '../../../support/naive/naive-pmml.ts'

const CARDS = 300
const APPLICANTS_PER_CARD = 30

function write(input: unknown) {
  const checked = checkSpec(input)
  if (!checked.ok) throw new Error(`no valid spec: ${JSON.stringify(checked.faults)}`)
  const model = compileModel(checked.spec)
  return { model, spec: checked.spec, written: writePmml(model, checked.spec) }
}

function formatText(input: unknown): string {
  const { written } = write(input)
  if (!written.ok) throw new Error(JSON.stringify(written.faults))
  return written.text
}

const characteristics = (text: string) =>
  find(readXml(text), 'PMML', 'Scorecard', 'Characteristics').children

// Whoever moves to another engine must not move any score.
test('an evaluation by the letter of PMML has the scores of the engine, to the bit', () => {
  let written = 0
  const cases = validSpec().chain((spec) =>
    fc.tuple(fc.constant(spec), fc.array(applicantFor(spec), exactly(APPLICANTS_PER_CARD))),
  )
  fc.assert(
    fc.property(cases, ([input, applicants]) => {
      const { model, spec, written: document } = write(input)
      if (!document.ok) return
      written++
      const modelScore = new ModelScore(model)
      for (const applicant of applicants) {
        const values = new Map<string, string | number>()
        for (const { name, type } of spec.features) {
          const value = Object.hasOwn(applicant, name) ? applicant[name] : null
          if (type === 'numeric' && Number.isFinite(value)) values.set(name, Number(value))
          if (type === 'categorical' && typeof value === 'string') values.set(name, value)
        }
        scoreApplicant(Object.fromEntries(values), modelScore)
        expect(evaluatePmml(document.text, values)).toBe(modelScore.score)
      }
    }),
    { numRuns: CARDS },
  )
  // The others hold names that no XML can.
  expect(written).toBeGreaterThan(CARDS / 2)
})

test('the sample has the scores that another program gave it, in every one of its 1,000 rows', () => {
  const document = formatText(sampleSpec())
  for (const { applicant, score } of sampleApplicants()) {
    expect(evaluatePmml(document, new Map(Object.entries(applicant)))).toBe(score)
  }
})

// The service refuses it; a document that scored it would be another card.
test('NaN has no score', () => {
  const document = formatText(card([plainFeature('x')]))
  expect(evaluatePmml(document, new Map([['x', Number.NaN]]))).toBeNull()
})

describe('a feature', () => {
  test('keeps its bounds and their closures as they were written', () => {
    const document = formatText(
      card([
        numeric('age', [
          ['(-Infinity, 25]', 1],
          ['(25, 30.5)', 2],
          ['[30.5, 0.1e3]', 3],
        ]),
      ]),
    )
    const [age] = characteristics(document)
    const tests = age?.children.map(({ attributes, children: [predicate] }) => {
      const simple = predicate?.name === 'SimplePredicate' ? [predicate] : predicate?.children
      const conditions = simple?.map(
        (one) => `${one.attributes['operator']} ${one.attributes['value']}`,
      )
      return [attributes['partialScore'], ...(conditions ?? [])]
    })
    expect(tests).toEqual([
      ['0', 'isMissing undefined'],
      ['1', 'lessOrEqual 25'],
      ['2', 'greaterThan 25', 'lessThan 30.5'],
      ['3', 'greaterOrEqual 30.5', 'lessOrEqual 100'],
      ['0', 'greaterThan 100'],
    ])
  })

  test('of categories ends with all others, which have the points of a missing one', () => {
    const document = formatText(
      card([
        categorical('purpose', [
          ['car%,%"boat" & <b>', 4],
          ['Missing', -7],
        ]),
      ]),
    )
    const [purpose] = characteristics(document)
    expect(purpose?.children.map(({ attributes }) => attributes['partialScore'])).toEqual(
      ['-7', '4', '-7'], // missing, the two categories, all others
    )
    expect(purpose?.children.at(-1)?.children[0]?.name).toBe('True')
    expect(document).not.toContain('<b>')
  })

  test('that is called like an output leaves that name to the feature', () => {
    const document = formatText(card([plainFeature('score'), plainFeature('pd')]))
    const outputs = find(readXml(document), 'PMML', 'Scorecard', 'Output').children
    expect(outputs.map(({ attributes }) => attributes['name'])).toEqual(['score_2', 'pd_2'])
  })
})

// Some readers take 1000000000000000 for an integer of 32 bits, and 0 for the -0 of the card.
test('a number that is not a small integer is marked as such', () => {
  const points = [1e15, -(2 ** 31), 2 ** 31 - 1, -0, 0.1, 1e300, 7]
  const bins = points.map((one, index) => [`[${index}, ${index}]`, one] as const)
  const [x] = characteristics(formatText(card([numeric('x', bins)])))
  const scores = x?.children.map(({ attributes }) => attributes['partialScore'])
  for (const text of ['1000000000000000.0', '-2147483648.0', '2147483647', '-0.0', '1e+300']) {
    expect(scores).toContain(text)
  }
})

test('properties of the spec that PMML lacks are written as extensions', () => {
  const { children } = find(readXml(formatText(sampleSpec())), 'PMML', 'Scorecard')
  const extensions = children.filter(({ name }) => name === 'Extension')
  const byName = extensions.map(({ attributes }) => [attributes['name'], attributes['value']])
  const { target, scaling, risk_grades } = sampleSpec()
  expect(Object.fromEntries(byName)).toEqual({
    target,
    scaling: JSON.stringify(scaling),
    risk_grades: JSON.stringify(risk_grades),
  })
})

test("a text that XML can't hold is refused where it stands", () => {
  const features = [
    plainFeature('a\0b'),
    categorical('c', [['x%,%\u0001', 1]]),
    categorical('d', [['\uffff', 1]]),
    categorical('e', [['\ud800', 1]]),
    plainFeature('tab\tand\nline\r'),
  ]
  const risk_grades = [{ grade: '\u001f', min_score: null, max_score: null }]
  const { written } = write(card(features, { name: 'n\u0002', risk_grades }))
  expect(written.ok ? [] : written.faults.map(({ path }) => path)).toEqual([
    'name',
    'features[0].name',
    'features[1].bins',
    'features[2].bins',
    'features[3].bins',
    'risk_grades[0].grade',
  ])
})
