import { expect, test } from 'vitest'
import {
  type ImportInputs,
  makeImportOrder,
} from '../../../src/console/app/pages/import/request.ts'

function findOrder(inputs: Partial<ImportInputs>) {
  return makeImportOrder({
    fields: {},
    files: { card: 'a,b' },
    ticked: new Set(),
    grades: [],
    ...inputs,
  })
}

function makeBody(inputs: Partial<ImportInputs>): unknown {
  const { open, faults } = findOrder(inputs)
  expect(faults).toEqual([])
  return JSON.parse(`${open}}`)
}

test('an empty field of a form is left out, so that the service uses its default', () => {
  const fields = {
    name: ' Loans ',
    tool: '',
    pdo: ' ',
    odds: '',
    rename: '\n',
    probabilities: 'scale',
  }
  expect(makeBody({ fields })).toEqual({ card: 'a,b', name: 'Loans' })
})

// The service reads `1/19` exactly; a number of the browser would be rounded.
test('every field goes out in the words of the API, odds as the text that was typed', () => {
  const fields = {
    name: 'Loans',
    version: '2',
    target: 'bad',
    tool: 'toad',
    unseen: 'min',
    pdo: '60',
    base_score: '750.5',
    odds: '1/19',
    odds_direction: 'bad:good',
    rate: '2',
    base_points: '-3',
    intercept: '-2.9',
    tolerance: '0.5',
    score_column: 'total',
    categorical: 'age\n\n job ',
    comma_categories: 'a, b',
    rename: 'old = new=er\nx=y',
    probabilities: 'fit',
  }
  const files = { card: 'a\n"ü"', sample: 'income,score', splits: '{"a":[1.0]}' }
  const grades = [
    { grade: 'A', from: '500,5' },
    { grade: 'B', from: '' },
  ]
  expect(makeBody({ fields, files, grades, ticked: new Set(['has_no_specials']) })).toEqual({
    card: 'a\n"ü"',
    name: 'Loans',
    version: '2',
    target: 'bad',
    tool: 'toad',
    unseen: 'min',
    scaling: { pdo: 60, base_score: 750.5, odds: '1/19', odds_direction: 'bad:good', rate: 2 },
    base_points: -3,
    intercept: -2.9,
    tolerance: 0.5,
    score_column: 'total',
    categorical: ['age', 'job'],
    comma_categories: ['a, b'],
    rename: { old: 'new=er', x: 'y' },
    probabilities: 'fit',
    sample: 'income,score',
    has_no_specials: true,
    splits: { a: [1] },
    risk_grades: [
      expect.objectContaining({ grade: 'B', min_score: null }),
      expect.objectContaining({ grade: 'A', min_score: 500.5, max_score: null }),
    ],
  })
  const none = makeBody({ ticked: new Set(['no_comma_categories']) })
  expect(none).toEqual({ card: 'a,b', comma_categories: [] })
})

test('a file of JSON goes out as it is, to the last digit', () => {
  const splits = '{"a": [0.1234567890123456789]}'
  expect(findOrder({ files: { card: 'a', splits } }).open).toContain(`,"splits":${splits}`)
})

test('a text that is not a number, a pair or JSON is named with all other faults, and the form is not sent', () => {
  const order = findOrder({
    fields: { pdo: '5O', tolerance: 'none', rename: 'old\n=new' },
    files: { card: 'a', splits: '{' },
  })
  expect(order.open).toBeNull()
  const paths = ['scaling.pdo', 'tolerance', 'rename', 'rename', 'splits']
  expect(order.faults.map(({ path }) => path).toSorted()).toEqual(paths.toSorted())
})
