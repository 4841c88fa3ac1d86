import { PgDialect } from 'drizzle-orm/pg-core'
import { expect, test } from 'vitest'
import { bytesList, listRows, nameList } from '../../../../src/platform/db/lists.ts'

test('lists without parameters hold bytes as digits, and names as they are', () => {
  const bytes = Buffer.from("'\\\0")
  const write = (statement: ReturnType<typeof listRows>) => new PgDialect().sqlToQuery(statement)
  const params: unknown[] = []
  const rows = String.raw`(values ('\x275c00'::bytea,'a_1'::text),('\x'::bytea,'B-2'::text))`
  expect(
    write(
      listRows([
        [bytes, 'a_1'],
        [Buffer.alloc(0), 'B-2'],
      ]),
    ),
  ).toEqual({ sql: rows, params })
  const list = String.raw`'{"\\x275c00","\\x00"}'::bytea[]`
  expect(write(bytesList([bytes, Buffer.of(0)]))).toEqual({ sql: list, params })
  expect(write(nameList(['null', 'B-2']))).toEqual({ sql: `'{"null","B-2"}'::text[]`, params })
})

test.each(["x'", 'x"', 'x\\', 'x,y', '', 'x y', 'x\n', 'x\0', 'ä'])('a name is not %j', (name) => {
  expect(() => nameList(['x', name])).toThrow('other characters')
  expect(() => listRows([[Buffer.of(1), name]])).toThrow('other characters')
})
