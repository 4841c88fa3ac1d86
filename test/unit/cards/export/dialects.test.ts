import { expect, test } from 'vitest'
import { DIALECTS, type DialectName } from '../../../../src/cards/export/sql/dialects.ts'
import type { SqlOptions } from '../../../../src/cards/export/sql/options.ts'
import { writeSql } from '../../../../src/cards/export/sql/sql.ts'
import { compileModel } from '../../../../src/engine/index.ts'
import { categorical, plainFeature } from '../../../support/cards/cards.ts'

const NAMES = Object.keys(DIALECTS) as DialectName[]

// A backslash is itself in one dialect and an escape in the next; Spark fills in ${…} even in a
// string.
test.each<[string, Readonly<Record<DialectName, string>>]>([
  [
    "it's",
    {
      postgresql: "'it''s'",
      duckdb: "'it''s'",
      spark: "('it' || char(39) || 's')",
      bigquery: "'it\\u0027s'",
      snowflake: "'it\\u0027s'",
    },
  ],
  [
    'a\\',
    {
      postgresql: "E'a\\u005c'",
      duckdb: "'a\\'",
      spark: "('a' || char(92))",
      bigquery: "'a\\u005c'",
      snowflake: "'a\\u005c'",
    },
  ],
  [
    '\u0024{x}',
    {
      postgresql: "E'$\\u007bx}'",
      duckdb: "concat('$', chr(123), 'x}')",
      spark: "(char(36) || char(123) || 'x}')",
      bigquery: "'\\u0024\\u007bx\\u007d'",
      snowflake: "'\\u0024\\u007bx\\u007d'",
    },
  ],
  [
    '\n',
    {
      postgresql: "'\n'",
      duckdb: "'\n'",
      spark: 'char(10)',
      bigquery: "'\\u000a'",
      snowflake: "'\\u000a'",
    },
  ],
  [
    '< é 🦄',
    {
      postgresql: "'< é 🦄'",
      duckdb: "'< é 🦄'",
      spark: "'< é 🦄'",
      bigquery: "'\\u003c é 🦄'",
      snowflake: "'\\u003c é 🦄'",
    },
  ],
  [
    "'<% x %>",
    {
      postgresql: "E'''\\u003c% x %>'",
      duckdb: "concat('''', chr(60), '% x %>')",
      spark: "(char(39) || char(60) || '% x %>')",
      bigquery: "'\\u0027\\u003c\\u0025 x \\u0025\\u003e'",
      snowflake: "'\\u0027\\u003c\\u0025 x \\u0025\\u003e'",
    },
  ],
  ['', { postgresql: "''", duckdb: "''", spark: "''", bigquery: "''", snowflake: "''" }],
])('the text %j is a literal of each dialect', (value, literals) => {
  expect(Object.fromEntries(NAMES.map((name) => [name, DIALECTS[name].text(value)]))).toEqual(
    literals,
  )
})

test.each<[number, Readonly<Record<DialectName, string>>]>([
  [
    28,
    {
      postgresql: "float8 '28'",
      duckdb: '28e0',
      spark: '28D',
      bigquery: '28e0',
      snowflake: "'28'::FLOAT",
    },
  ],
  [
    -0.1,
    {
      postgresql: "float8 '-0.1'",
      duckdb: '(-0.1e0)',
      spark: '(-0.1D)',
      bigquery: '(-0.1e0)',
      snowflake: "'-0.1'::FLOAT",
    },
  ],
  [
    -0,
    {
      postgresql: "float8 '-0'",
      duckdb: '(-0e0)',
      spark: '(-0D)',
      bigquery: '(-0e0)',
      snowflake: "'-0'::FLOAT",
    },
  ],
  [
    5e-324,
    {
      postgresql: "float8 '5e-324'",
      duckdb: '5e-324',
      spark: '5e-324D',
      bigquery: '5e-324',
      snowflake: "'5e-324'::FLOAT",
    },
  ],
])('the number %d is a double of each dialect, never a decimal', (value, literals) => {
  expect(Object.fromEntries(NAMES.map((name) => [name, DIALECTS[name].number(value)]))).toEqual(
    literals,
  )
})

function findFaults(names: readonly string[], order: Partial<SqlOptions>) {
  const spec = {
    name: 'n',
    version: '1',
    target: 't',
    base_points: 0,
    features: names.map(plainFeature),
    scaling: { base_score: 600, base_odds: 50, pdo: 20 },
  }
  // Made by the tests' own helper, whose types leave open which bins go with which feature.
  const model = compileModel(spec as Parameters<typeof compileModel>[0])
  const written = writeSql(model, {
    dialect: 'postgresql',
    table: 'applicants',
    keys: [],
    numberColumns: [],
    columnCase: 'as_is',
    ...order,
  })
  return written.ok ? [] : written.faults.map(({ path, message }) => `${path} ${message}`)
}

// A name that the database would change could be that of another column.
test.each<[string, readonly string[], Partial<SqlOptions>, RegExp]>([
  ['NUL', ['a\0b'], {}, /^features\[0\]\.name contains NUL/],
  ['half a character', ['ok', '\ud800'], {}, /^features\[1\]\.name .*half a character/],
  ['64 bytes', ['é'.repeat(32)], {}, /^features\[0\]\.name has more than 63 bytes/],
  ['${', ['\u0024{env:HOME}'], { dialect: 'spark' }, /^features\[0\]\.name contains \$\{/],
  ['&', ['a&{ctx.env.X}'], { dialect: 'snowflake' }, /^features\[0\]\.name contains &/],
  ['a point', ['a.b'], { dialect: 'bigquery' }, /^features\[0\]\.name contains a character/],
  ['256 characters', ['a'.repeat(256)], { dialect: 'snowflake' }, /more than 255 characters/],
  ['two cases', ['age', 'Age'], { dialect: 'duckdb' }, /^features\[1\]\.name is the same column/],
  ['two cases', ['ſ', 's'], { dialect: 'spark' }, /^features\[1\]\.name is the same column/],
  ['two cases in one', ['age', 'Age'], { columnCase: 'upper' }, /features\[0\]\.name in Postgre/],
])(
  'a feature whose name has %s is refused where no column can have it',
  (_, names, order, fault) => {
    expect(findFaults(names, order)).toEqual([expect.stringMatching(fault)])
  },
)

test.each(NAMES)('a name that starts a template is refused for %s', (dialect) => {
  const names = ['a{{x', '{%x', 'a{#', '<% 7', 'a{', '%<']
  const faults = findFaults(names, { dialect, table: 'a<%b', keys: ['{{k'] })
  expect(faults.map((fault) => fault.split(' ')[0])).toEqual(
    dialect === 'bigquery'
      ? ['table', 'key', ...[0, 1, 2, 3, 4].map((at) => `features[${at}].name`)]
      : ['table', 'key', ...[0, 1, 2, 3].map((at) => `features[${at}].name`)],
  )
})

// Jinja runs what stands between its marks, in a literal and in a comment as well.
test.each(NAMES)(
  'nothing that a card says starts a template in the statement for %s',
  (dialect) => {
    const hostile = ['<% 1+1 %>', '{{ x }}', '{% x %}', '{# x #}', '&{ x }', '<<%', '{{{', '&x']
    const spec = {
      name: hostile.join(' '),
      version: '<%&{ 🦄',
      target: 't',
      base_points: 0,
      features: [categorical('c <>%', [[hostile.join('%,%'), 1]])],
      scaling: { base_score: 600, base_odds: 50, pdo: 20 },
      risk_grades: hostile.map((grade, at) => ({ grade, min_score: at, max_score: at + 0.5 })),
    }
    const written = writeSql(compileModel(spec as Parameters<typeof compileModel>[0]), {
      dialect,
      table: 'applicants',
      keys: [],
      numberColumns: [],
      columnCase: 'as_is' as const,
    })
    const text = written.ok ? written.text : expect.fail(JSON.stringify(written.faults))
    expect(text).not.toMatch(/<%|\{[{%#]|&\{/)
    if (dialect === 'snowflake') expect(text).not.toContain('&')
    expect(text.split('\n')[0]).toMatch(/^-- The scorecard "[\w\\ ]+", version "[\w\\ ]+", for \w+/)
  },
)

test('names that differ in case are two columns if the database distinguishes case', () => {
  expect(findFaults(['age', 'Age'], { dialect: 'postgresql' })).toEqual([])
  expect(findFaults(['age', 'Age'], { dialect: 'snowflake' })).toEqual([])
})

test.each<[string, Partial<SqlOptions>, RegExp]>([
  ['no table', { table: '' }, /^table has an empty name/],
  ['an empty schema', { table: '.applicants' }, /^table has an empty name/],
  ['four parts', { table: 'a.b.c.d' }, /^table has more than 3 parts/],
  ['a subquery for a table', { table: 'x.Scoreline_points' }, /^table must not begin with scorel/],
  ['a backtick in BigQuery', { dialect: 'bigquery', table: 'a`b' }, /^table contains a character/],
  ['a key called score', { keys: ['Score'] }, /^key "Score" is a column of the result/],
  ['one key twice', { keys: ['id', 'id'] }, /^key "id" is given twice/],
  ['an empty key', { keys: [''] }, /^key "" has an empty name/],
  ['numbers for no feature', { numberColumns: ['z'] }, /^number_column "z" is not a categorical/],
  ['numbers for a number', { numberColumns: ['x'] }, /^number_column "x" is not a categorical/],
])('an order with %s is refused', (_, order, fault) => {
  expect(findFaults(['x'], order)).toEqual([expect.stringMatching(fault)])
})

test('table, keys and columns stand quoted, in the case that was asked for', () => {
  const spec = {
    name: 'n',
    version: '1',
    target: 't',
    base_points: 0,
    features: [plainFeature('a"ge'), categorical('city', [['x', 1]])],
    scaling: { base_score: 600, base_odds: 50, pdo: 20 },
  }
  const written = writeSql(compileModel(spec as Parameters<typeof compileModel>[0]), {
    dialect: 'snowflake',
    table: 'db.Risk.a"b',
    keys: ['i"d'],
    numberColumns: [],
    columnCase: 'upper',
  })
  const text = written.ok ? written.text : ''
  expect(text).toContain('FROM "db"."Risk"."a""b" AS t')
  expect(text).toContain('t."i""d" AS key_1')
  expect(text).toContain(`t."A""GE" + '0'::FLOAT AS value_1`)
  expect(text).toContain(`COLLATE(t."CITY", '') AS value_2`)
  expect(text).toContain('key_1 AS "i""d"')
})
