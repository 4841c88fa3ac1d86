import { expect, test } from 'vitest'
import { findSlot, SLOTS } from '../../../src/platform/redis-cluster/key-slots.ts'
import {
  findPart,
  QUOTA_PARTS,
  quotaKey,
  slotOfPart,
} from '../../../src/rate-limit/cluster/node-log.ts'

const parts = Array.from({ length: QUOTA_PARTS }, (_, part) => part)

/** The tag as a node of a cluster finds it: what stands in the first braces. */
function readTag(key: string): string {
  return /\{([^}]+)\}/.exec(key)?.[1] ?? ''
}

// A call is refused as a whole if two of its keys are in different slots.
test('all keys of a part are in its slot', () => {
  for (const part of parts) {
    const slots = ['', 'key_a', 'ip:10.0.0.1'].map((subject) =>
      findSlot(readTag(quotaKey(part, subject))),
    )
    expect(new Set(slots)).toEqual(new Set([slotOfPart(part)]))
  }
})

// Replicas of two versions count together, so a part must not change its slot.
test('the slots of the parts are spread evenly, and stay as they are', () => {
  const slots = parts.map(slotOfPart)
  expect(slots.map((slot) => Math.floor((slot * QUOTA_PARTS) / SLOTS))).toEqual(parts)
  expect(readTag(quotaKey(0))).toBe('10')
  expect(readTag(quotaKey(63))).toBe('40')
})

test('subjects are spread over all parts', () => {
  const counts = new Map<number, number>()
  for (let n = 0; n < 64_000; n++) {
    const part = findPart(`key_${n.toString(36)}`)
    counts.set(part, (counts.get(part) ?? 0) + 1)
  }
  expect(counts.size).toBe(QUOTA_PARTS)
  for (const count of counts.values()) {
    expect(count).toBeGreaterThan(600)
    expect(count).toBeLessThan(1_500)
  }
})
