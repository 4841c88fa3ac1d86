import { expect, test } from 'vitest'
import { ReferenceSet, TooManyReferencesError } from '../../../../src/log/reading/reference-set.ts'
import { mixed, TextHash } from '../../../../src/log/reading/text-hash.ts'

/** Both halves of the hash of a text. */
function readHalves(hash: TextHash): [high: number, low: number] {
  const high = mixed(hash.high) | 0
  return [high, mixed(hash.low ^ high) | 0 || 1]
}

// Lenders number their applications: neighbours must not meet.
test('a set keeps many references apart, forgets them, and refuses more than its bound', () => {
  const set = new ReferenceSet(300_000)
  const hash = new TextHash()
  const add = (text: string) => {
    hash.ofText(text)
    return set.add(...readHalves(hash))
  }
  const added = (step: number) => {
    let count = 0
    for (let n = 0; n < 300_000; n += step) if (add(`2026-${n}`)) count++
    return count
  }
  expect([added(1), added(7), set.size]).toEqual([300_000, 0, 300_000])
  expect(() => add('another')).toThrow(TooManyReferencesError)
  set.clear()
  expect([set.size, add('2026-1'), add('2026-1')]).toEqual([0, true, false])
})

// One block has a reference as bytes, another as a text: both are the same applicant.
test('a hash is that of the text, whatever form it comes in, and differs from those of others', () => {
  const hash = new TextHash()
  const seen = new Map<string, string>()
  const texts = ['', 'a', 'ä', 'äa', 'aä', '😀', 'a😀', '\u0000', '\u0000\u0000', 'ab', 'abc']
  for (const length of [4, 5, 7, 8, 9]) {
    texts.push('x'.repeat(length), 'é'.repeat(length), `${'x'.repeat(length)}é`)
  }
  for (const text of texts) {
    hash.ofText(text)
    const halves = readHalves(hash).join()
    const bytes = Buffer.from(`[${text}]`)
    hash.ofUtf8(bytes, 1, bytes.length - 1)
    expect([text, readHalves(hash).join()]).toEqual([text, halves])
    expect([text, seen.get(halves)]).toEqual([text, undefined])
    seen.set(halves, text)
  }
})

// About 4.7 pairs among 200,000 texts share 32 bits by chance, and 40 never do.
test('each half of the hashes of numbered texts is as good as random', () => {
  const hash = new TextHash()
  const halves: [Set<number>, Set<number>] = [new Set(), new Set()]
  for (let n = 0; n < 200_000; n++) {
    hash.ofText(`A-${n}`)
    const [high, low] = readHalves(hash)
    halves[0].add(high)
    halves[1].add(low)
  }
  for (const half of halves) expect(half.size).toBeGreaterThan(200_000 - 40)
})
