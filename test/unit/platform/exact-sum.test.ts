import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ExactSum } from '../../../src/platform/exact-sum.ts'

/** Units of the least double in a finite one. */
function wholeOf(value: number): bigint {
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, value)
  const all = bits.getBigUint64(0)
  const exponent = Number((all >> 52n) & 0x7ffn)
  const fraction = (all & ((1n << 52n) - 1n)) | (exponent === 0 ? 0n : 1n << 52n)
  const whole = fraction << BigInt(Math.max(exponent, 1) - 1)
  return value < 0 ? -whole : whole
}

/** The double next to a number of such units; of two, the even one. */
function doubleOf(whole: bigint): number {
  const size = whole < 0n ? -whole : whole
  const extra = BigInt(Math.max(0, size.toString(2).length - 53))
  const [kept, rest] = [size >> extra, size & ((1n << extra) - 1n)]
  const half = extra === 0n ? 1n : 1n << (extra - 1n)
  const isUp = rest > half || (rest === half && kept % 2n === 1n)
  const up = Number(kept + (isUp ? 1n : 0n)) * 2 ** (Number(extra) - 800) * 2 ** -274
  return whole < 0n ? -up : up
}

const VALUE = fc.oneof(
  fc.double({ noNaN: true, min: -1e200, max: 1e200 }),
  fc.double({ noNaN: true, min: -1_000, max: 1_000 }),
  fc.constantFrom(0.1, -0.1, 1e16, -1e16, 1, 5e-324, 2 ** 53),
)

test('a sum is the double next to the sum of all values, in any order and of any parts', () => {
  fc.assert(
    fc.property(fc.array(VALUE, { maxLength: 40 }), fc.nat(40), (values, cut) => {
      const forwards = new ExactSum()
      for (const value of values) forwards.add(value)
      const expected = doubleOf(values.reduce((sum, value) => sum + wholeOf(value), 0n))
      expect(forwards.value).toBe(expected)
      const [one, other, ofParts] = [new ExactSum(), new ExactSum(), new ExactSum()]
      for (const value of values.slice(cut)) one.add(value)
      for (const value of values.slice(0, cut).reverse()) other.add(value)
      for (const term of [...one.terms, ...other.terms]) ofParts.add(term)
      expect(ofParts.value).toBe(expected)
    }),
  )
})

test('a mean is finite where the sum is not', () => {
  const sum = new ExactSum()
  for (let n = 0; n < 1_000; n++) sum.add(1e308)
  expect(sum.meanOver(1_000)).toBeCloseTo(1e308, -295)
  expect(sum.value).toBe(Infinity)
})
