import { expect, test } from 'vitest'
import {
  findFaults,
  type Given,
  importText,
  SCALES,
} from '../../../support/cards/import-fixtures.ts'
import { processorMs } from '../../../support/expect/processor-time.ts'

const given: Given = { scaling: SCALES.optbinning, unseen: 'missing', basePoints: 0 }

function listed(count: number, make: (index: number) => string, delimiter = ''): string {
  return Array.from({ length: count }, (_, index) => make(index)).join(delimiter)
}

/** A PMML document with one characteristic of a number `x`. */
function pmml(attributes: string, domain = ''): string {
  return `<PMML version="4.4"><DataDictionary><DataField name="x" dataType="double">${domain}</DataField>
    </DataDictionary><Scorecard functionName="regression"><MiningSchema><MiningField name="x"/>
    </MiningSchema><Characteristics><Characteristic name="x">${attributes}</Characteristic>
    </Characteristics></Scorecard></PMML>`
}

const is = (operator: string, value: number) =>
  `<SimplePredicate field="x" operator="${operator}" value="${value}"/>`
const attribute = (predicate: string) => `<Attribute partialScore="1">${predicate}</Attribute>`
const all = (predicates: string) =>
  attribute(`<CompoundPredicate booleanOperator="and">${predicates}</CompoundPredicate>`)

// Each value is compared with every predicate: 40,000 attributes kept an import's thread for a
// minute, until its deadline, and the answer did not say why.
test.each([
  ['attributes', pmml(listed(40_000, (value) => attribute(is('equal', value))))],
  ['predicates in one', pmml(all(listed(60_000, (value) => is('notEqual', value))))],
  [
    'intervals',
    pmml(
      attribute(is('greaterThan', 0)),
      listed(
        60_000,
        (low) => `<Interval closure="closedOpen" leftMargin="${low}" rightMargin="${low + 1}"/>`,
      ),
    ),
  ],
])('PMML with too many %s is refused in seconds, and told what to change', (_, card) => {
  const startedMs = processorMs()
  const faults = findFaults(importText(card, given)).join('\n')
  expect(faults).toMatch(/"x": compares \d+ values with \d+ predicates .*: list values in one/)
  expect(processorMs() - startedMs).toBeLessThan(10_000)
})

test('PMML with 1,000 bins in each of 20 features is read in seconds', () => {
  const fields = Array.from({ length: 20 }, (_, index) => `x${index}`)
  const field = (name: string) => `<DataField name="${name}" dataType="string"/>`
  const bins = listed(1_000, (value) => attribute(is('equal', value)))
  const card = `<PMML version="4.4"><DataDictionary>${fields.map(field).join('')}</DataDictionary>
    <Scorecard functionName="regression">
    <MiningSchema>${fields.map((name) => `<MiningField name="${name}"/>`).join('')}</MiningSchema>
    <Characteristics>${fields.map((name) => `<Characteristic name="${name}">${bins.replaceAll('"x"', `"${name}"`)}</Characteristic>`).join('')}
    </Characteristics></Scorecard></PMML>`
  const startedMs = processorMs()
  const { spec } = importText(card, given)
  expect(spec?.features.map(({ bins }) => bins.length)).toEqual(fields.map(() => 1_000))
  expect(processorMs() - startedMs).toBeLessThan(10_000)
})

const TABLE = 'variable,bin,points\n'
const OPTBINNING = 'Variable,Bin,Points\n'

/** Large cards, of which a small part was compared with every other. */
const LARGE: Readonly<Record<string, () => readonly [card: string, options?: Partial<Given>]>> = {
  'XML of 98 levels around 8 MB': () => [
    `<PMML version="4.4">${'<a> '.repeat(97)}${'x'.repeat(8e6)}${' </a>'.repeat(97)}</PMML>`,
  ],
  '100,000 columns': () => [`${TABLE.trim()},${listed(100_000, (index) => `c${index}`, ',')}\n1`],
  '100,000 features and as many new names': () => [
    TABLE + listed(100_000, (index) => `v${index},a,1\n`),
    { rename: Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`w${at}`, 'z'])) },
  ],
  '100,000 variables and as many splits': () => [
    OPTBINNING + listed(100_000, (index) => `v${index},Missing,1\n`),
    { splits: Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`w${at}`, [1]])) },
  ],
  'a label that could be an array of pandas at every bracket': () => [
    `${OPTBINNING}v,"<a>[${']Length: 1, dtype: x'.repeat(40_000)}\nx",1`,
  ],
}

test.each(Object.entries(LARGE))('%s are read in seconds', (_, make) => {
  const [card, options] = make()
  const startedMs = processorMs()
  importText(card, { ...given, ...options })
  expect(processorMs() - startedMs).toBeLessThan(10_000)
})
