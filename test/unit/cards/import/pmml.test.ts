import { describe, expect, test } from 'vitest'
import type { Import } from '../../../../src/cards/import/run-import.ts'
import { compileModel, ModelScore, nextUp, scoreApplicant } from '../../../../src/engine/index.ts'
import {
  findFaults,
  type Given,
  importText,
  SCALES,
} from '../../../support/cards/import-fixtures.ts'
import { processorMs } from '../../../support/expect/processor-time.ts'

const given: Given = { scaling: SCALES.optbinning, unseen: 'missing' }

interface Parts {
  readonly fields?: string
  readonly mining?: string
  readonly characteristics: string
  readonly version?: string
  readonly namespace?: string
  readonly attributes?: string
  readonly beside?: string
}

const AGE = '<DataField name="age" optype="continuous" dataType="double"/>'
const JOB = '<DataField name="job" optype="categorical" dataType="string"/>'

/** A document of one scorecard. */
function pmml({
  fields = AGE + JOB,
  mining = '<MiningField name="age"/><MiningField name="job"/>',
  characteristics,
  version = '4.4',
  namespace = 'http://www.dmg.org/PMML-4_4',
  attributes = 'initialScore="10"',
  beside = '',
}: Parts): string {
  return `<?xml version="1.0" encoding="UTF-8"?><PMML xmlns="${namespace}" version="${version}"><Header/>
    <DataDictionary>${fields}</DataDictionary><Scorecard functionName="regression" ${attributes}>
    <MiningSchema>${mining}</MiningSchema>${beside}
    <Characteristics>${characteristics}</Characteristics></Scorecard></PMML>`
}

const one = (content: string, name = 'ageScore') =>
  `<Characteristic name="${name}">${content}</Characteristic>`
const attribute = (points: number, predicate: string) =>
  `<Attribute partialScore="${points}">${predicate}</Attribute>`
const is = (field: string, operator: string, value?: string) =>
  `<SimplePredicate field="${field}" operator="${operator}"${value === undefined ? '' : ` value="${value}"`}/>`
const combined = (operator: string, ...parts: string[]) =>
  `<CompoundPredicate booleanOperator="${operator}">${parts.join('')}</CompoundPredicate>`

function scores({ spec, ...rest }: Import, field: string, values: readonly unknown[]): number[] {
  expect(findFaults({ spec, ...rest })).toEqual([])
  if (spec === null) throw new Error('no specification')
  const modelScore = new ModelScore(compileModel(spec))
  return values.map((value) => {
    scoreApplicant({ [field]: value }, modelScore)
    return modelScore.score
  })
}

test('the first attribute that holds counts, so that overlaps come out as bins', () => {
  const card = importText(
    pmml({
      characteristics: one(
        attribute(1, is('age', 'isMissing')) +
          attribute(2, is('age', 'lessThan', '30')) +
          attribute(3, is('age', 'lessOrEqual', '40.5')) +
          attribute(4, '<True/>'),
      ),
    }),
    given,
  )
  expect(card.spec?.features[0]?.bins).toMatchObject([
    { range: '(-Infinity, 30)', points: 2, label: '< 30' },
    { range: '[30, 40.5]', points: 3, label: '<= 40.5' },
    { range: '(40.5, Infinity)', points: 4, label: 'True' },
    { range: 'Missing', points: 1, label: 'isMissing' },
  ])
  expect(scores(card, 'age', [null, 29, 30, 40.5, nextUp(40.5)])).toEqual([11, 12, 13, 13, 14])
})

test.each([
  ['4.1', 'http://www.dmg.org/PMML-4_1'],
  ['4.2', 'http://www.dmg.org/PMML-4_2'],
  ['4.3', 'http://www.dmg.org/PMML-4_3'],
  // As R's scorecard writes it.
  ['4.4', 'https://www.dmg.org/PMML-4_4'],
])('PMML %s of %s is read', (version, namespace) => {
  const characteristics = one(attribute(5, is('age', 'isNotMissing')))
  const card = importText(pmml({ version, namespace, characteristics }), given)
  expect(scores(card, 'age', [3, null])).toEqual([15, 10])
})

test('predicates of every kind hold as PMML says', () => {
  const card = importText(
    pmml({
      characteristics: one(
        attribute(1, combined('and', is('age', 'greaterThan', '1'), is('age', 'lessThan', '2'))) +
          attribute(2, combined('or', is('age', 'equal', '5'), is('age', 'equal', '7'))) +
          attribute(
            3,
            '<SimpleSetPredicate field="age" booleanOperator="isIn"><Array n="2" type="real">8 9.5</Array></SimpleSetPredicate>',
          ) +
          attribute(4, combined('surrogate', is('age', 'greaterOrEqual', '100'), '<True/>')) +
          attribute(5, is('age', 'notEqual', '6')) +
          attribute(6, is('age', 'isNotMissing')),
      ),
    }),
    given,
  )
  const values = [1, 1.5, 2, 5, 7, 8, 9.5, 100, 6, 50, null]
  expect(scores(card, 'age', values)).toEqual([15, 11, 15, 12, 12, 13, 13, 14, 16, 15, 14])
})

test('categories are those of all predicates, whatever else is the rest', () => {
  const card = importText(
    pmml({
      characteristics: one(
        attribute(
          1,
          '<SimpleSetPredicate field="job" booleanOperator="isIn"><Array type="string">"a b" "it\\"s" c</Array></SimpleSetPredicate>',
        ) + attribute(2, '<True/>'),
        'jobScore',
      ),
    }),
    given,
  )
  expect(scores(card, 'job', ['a b', 'it"s', 'c', 'z', null])).toEqual([11, 11, 11, 12, 12])
})

test('names and categories are unescaped once', () => {
  const card = importText(
    pmml({
      fields: JOB.replace('job', 'a&amp;amp;b'),
      mining: '<MiningField name="a&amp;amp;b"/>',
      characteristics: one(attribute(1, is('a&amp;amp;b', 'equal', '&lt;5 &#38;&#x20;x'))),
    }),
    given,
  )
  expect(card.spec?.features[0]).toMatchObject({ name: 'a&amp;b', bins: [{ value: '<5 & x' }] })
})

test('a missing value is replaced, an invalid one treated, as the mining schema says', () => {
  const bins = one(
    attribute(1, is('age', 'lessThan', '30')) + attribute(2, is('age', 'greaterOrEqual', '30')),
  )
  const treated = (mining: string, fields = AGE) =>
    importText(
      pmml({ fields, mining: `<MiningField name="age" ${mining}/>`, characteristics: bins }),
      given,
    )
  expect(scores(treated('missingValueReplacement="50"'), 'age', [null])).toEqual([12])
  const limited = AGE.replace(
    '/>',
    '><Interval closure="closedClosed" leftMargin="0" rightMargin="99"/></DataField>',
  )
  const asMissing = treated(
    'invalidValueTreatment="asMissing" missingValueReplacement="50"',
    limited,
  )
  expect(scores(asMissing, 'age', [-1, 0, 29, 99, 100])).toEqual([12, 11, 11, 12, 12])
  expect(
    scores(treated('outliers="asExtremeValues" lowValue="40" highValue="50"'), 'age', [1]),
  ).toEqual([12])
  expect(
    scores(
      treated('outliers="asMissingValues" lowValue="0" highValue="50" missingValueReplacement="3"'),
      'age',
      [60],
    ),
  ).toEqual([11])
})

test('an import asks about a number to which PMML gives no score', () => {
  const characteristics = one(attribute(1, is('age', 'lessThan', '30')))
  const { unseen: _, ...silent } = given
  expect(findFaults(importText(pmml({ characteristics }), silent))).toEqual([
    expect.stringContaining('gives no score to [30, Infinity)'),
  ])
  expect(importText(pmml({ characteristics }), given).spec).not.toBeNull()
})

test('a characteristic without a predicate on a field is a part of the base', () => {
  const characteristics =
    one(attribute(5, '<True/>'), 'constant') +
    one(attribute(1, '<True/>')).replace('<True/>', is('age', 'isNotMissing'))
  expect(importText(pmml({ characteristics }), given).spec?.base_points).toBe(15)
})

const AGE_BIN = one(attribute(1, is('age', 'isNotMissing')))

const BAD: Readonly<Record<string, readonly [document: string, message: string]>> = {
  'a complex partial score': [
    pmml({ characteristics: one('<Attribute><True/><ComplexPartialScore/></Attribute>') }),
    'has a ComplexPartialScore',
  ],
  xor: [
    pmml({
      characteristics: one(
        attribute(1, combined('xor', is('age', 'equal', '1'), is('age', 'equal', '2'))),
      ),
    }),
    'combines predicates by "xor"',
  ],
  'several fields in one': [
    pmml({
      characteristics: one(
        attribute(1, is('age', 'isMissing')) + attribute(1, is('job', 'isMissing')),
      ),
    }),
    'uses several fields: "age", "job"',
  ],
  'a derived field': [
    pmml({ characteristics: one(attribute(1, is('ratio', 'isMissing'))) }),
    "a DerivedField can't be converted",
  ],
  'one field twice': [
    pmml({ characteristics: AGE_BIN + AGE_BIN }),
    'is a second Characteristic of the field "age"',
  ],
  // What R's scorecard writes for a special value.
  'a predicate that contradicts itself': [
    pmml({
      characteristics: one(
        attribute(
          1,
          combined('and', is('age', 'greaterOrEqual', '-999'), is('age', 'lessThan', '-999')),
        ) + attribute(2, '<True/>'),
      ),
    }).replaceAll('-999', '-999'),
    'can never hold, so the score of its bin is lost',
  ],
  'a partial score that is not a number': [
    pmml({ characteristics: one('<Attribute partialScore="x"><True/></Attribute>') }),
    'has the partialScore "x"',
  ],
  'an attribute without a predicate': [
    pmml({ characteristics: one('<Attribute partialScore="1"/>') }),
    'has no predicate',
  ],
  'a number compared with a text': [
    pmml({ characteristics: one(attribute(1, is('age', 'equal', 'old'))) }),
    'compares a number with "old"',
  ],
  'texts compared by size': [
    pmml({ characteristics: one(attribute(1, is('job', 'lessThan', 'x'))) }),
    'compares texts by "lessThan"',
  ],
  'an unknown operator': [
    pmml({ characteristics: one(attribute(1, is('age', 'near', '1'))) }),
    'has the operator "near"',
  ],
  'a field of dates': [
    pmml({ fields: AGE.replace('double', 'date'), characteristics: AGE_BIN }),
    'has the type date',
  ],
  'a target that is rescaled': [
    pmml({ beside: '<Targets><Target rescaleFactor="2"/></Targets>', characteristics: AGE_BIN }),
    'changes the score',
  ],
  'an unknown version': [pmml({ version: '3.2', characteristics: AGE_BIN }), 'is version "3.2"'],
  'an initial score that is not a number': [
    pmml({ attributes: 'initialScore="x"', characteristics: AGE_BIN }),
    'has the initialScore "x"',
  ],
  'another model': [
    pmml({ characteristics: AGE_BIN }).replaceAll('Scorecard', 'RegressionModel'),
    'has RegressionModel; for toad',
  ],
  'two models': [
    pmml({ characteristics: AGE_BIN }).replace('</Scorecard>', '</Scorecard><Scorecard/>'),
    'must have exactly one Scorecard',
  ],
  'other XML': ['<html/>', 'is XML, but not PMML'],
  'broken XML': ['<PMML', 'is not readable XML'],
  'entities that multiply': [
    `<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>${pmml({ characteristics: AGE_BIN })
      .replace(/<\?.*\?>/, '')
      .replace('ageScore', '&b;')}`,
    'is not readable XML: Named entity',
  ],
  'an entity of a file': [
    `<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/hostname">]><PMML version="4.4">&a;</PMML>`,
    'is not readable XML: Named entity',
  ],
  'a document type': [`<!DOCTYPE PMML><PMML version="4.4"/>`, 'has a DOCTYPE: remove it'],
  'elements nested beyond measure': ['<a>'.repeat(200_000), 'nested too deeply'],
}

describe('is refused with the reason', () => {
  test.each(Object.entries(BAD))('%s', (_, [document, message]) => {
    const imported = importText(document, given)
    expect(imported.spec).toBeNull()
    expect(findFaults(imported).join('\n')).toContain(message)
  })
})

const SPLIT = attribute(1, is('age', 'lessThan', '30')) + attribute(2, '<True/>')
const field = (content: string) => `<DataField name="age" dataType="double">${content}</DataField>`
const nested = (depth: number): string =>
  depth === 0 ? is('age', 'lessThan', '30') : combined('and', nested(depth - 1))
const UNREAD: Readonly<Record<string, readonly [parts: Partial<Parts>, message: string]>> = {
  'a replacement that is not a number': [
    { mining: '<MiningField name="age" missingValueReplacement="abc"/>' },
    'has the missingValueReplacement "abc", which is not a number',
  ],
  'an outlier bound that is not a number': [
    { mining: '<MiningField name="age" outliers="asExtremeValues" highValue="zz"/>' },
    'has the highValue "zz", which is not a number',
  ],
  'an unknown treatment of outliers': [
    { mining: '<MiningField name="age" outliers="asZero"/>' },
    'has the outliers "asZero"',
  ],
  'a margin that is not a number': [
    { fields: field('<Interval closure="openOpen" leftMargin="x"/>') },
    'has the leftMargin "x"',
  ],
  'an interval without closure': [{ fields: field('<Interval/>') }, 'has the closure ""'],
  'a value that is not a number': [{ fields: field('<Value value="x"/>') }, 'has the value "x"'],
  'a field that is used twice': [
    { mining: '<MiningField name="age" missingValueReplacement="1"/><MiningField name="age"/>' },
    'MiningField "age": appears twice',
  ],
  'a field that is declared twice': [{ fields: AGE + AGE }, 'DataField "age": appears twice'],
  'a derived field that hides another': [
    { beside: '<LocalTransformations><DerivedField name="age"/></LocalTransformations>' },
    'DerivedField "age": has the name of a field of the MiningSchema',
  ],
  'another precision': [
    { attributes: 'x-mathContext="float"' },
    'is added up in the precision "float"',
  ],
  'two predicates in one attribute': [
    { characteristics: one(attribute(1, `${is('age', 'lessThan', '30')}<True/>`)) },
    'Attribute 1: has several predicates',
  ],
  'predicates that are nested too deeply': [
    { characteristics: one(attribute(1, nested(2000))) },
    'file: is not readable XML: its elements are nested too deeply',
  ],
}

// What one reader passes over another one heeds, and scores otherwise.
test.each(Object.entries(UNREAD))('%s is refused', (_, [parts, message]) => {
  const document = { mining: '<MiningField name="age"/>', characteristics: one(SPLIT), ...parts }
  expect(findFaults(importText(pmml(document), given)).join('\n')).toContain(message)
})

// 20,000 values in one `or` kept the import's thread for half a minute.
test('a predicate that lists 20,000 values one by one is read within seconds', () => {
  const values = Array.from({ length: 20_000 }, (_, code) => is('job', 'equal', `code ${code}`))
  const startedMs = processorMs()
  const card = importText(
    pmml({ characteristics: one(attribute(5, combined('or', ...values)), 'jobScore') }),
    given,
  )
  expect(scores(card, 'job', ['code 0', 'code 19999', 'other'])).toEqual([15, 15, 10])
  expect(processorMs() - startedMs).toBeLessThan(10_000)
})

test('a number that a double would turn into 0 is refused', () => {
  const card = importText(
    pmml({
      characteristics: one(attribute(1, is('age', 'lessThan', '1e-400')) + attribute(2, '<True/>')),
    }),
    given,
  )
  expect(findFaults(card)[0]).toContain('compares a number with "1e-400"')
})
