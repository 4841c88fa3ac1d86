import { expect, test } from 'vitest'
import { LazyFragments } from '../../../../src/platform/bytes/lazy-fragments.ts'
import { Utf8Writer } from '../../../../src/platform/bytes/utf8-writer.ts'

const TEXTS = ['', 'a', 'four', 'größer', '"quoted"', 'x'.repeat(3_000), '漢字']

function written(left: number, indexes: readonly number[]) {
  const made: number[] = []
  const formatText = (index: number) => {
    made.push(index)
    return TEXTS[index] ?? ''
  }
  const fragments = new LazyFragments({ count: TEXTS.length, formatText, left: { bytes: left } })
  const into = new Utf8Writer(Buffer.allocUnsafeSlow(16))
  for (const index of indexes) fragments.write(into, index)
  return { text: into.written.toString(), made }
}

const ORDER = [5, 1, 3, 3, 0, 6, 2, 5, 4, 4]
const ALL = ORDER.map((index) => TEXTS[index]).join('')

test('texts are written in any order, and each is made once', () => {
  const { text, made } = written(1_000_000, ORDER)
  expect(text).toBe(ALL)
  expect(made).toEqual([5, 1, 3, 0, 6, 2, 4])
})

test('where no bytes are left, texts are made anew, and are the same', () => {
  const { text, made } = written(12, ORDER)
  expect(text).toBe(ALL)
  expect(made.filter((index) => index === 5).length).toBeGreaterThan(1)
})
