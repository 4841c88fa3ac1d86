import { findSlot, SLOTS } from '../../platform/redis-cluster/key-slots.ts'
import { QUOTA_KEY_PREFIX } from '../redis-admission-log.ts'

/**
 * Parts of the subjects that a cluster moves as a whole. All keys of one call must be in one slot:
 * with a slot for each subject there would be a call for each subject. A part has one slot, so that
 * the requests of a turn take at most as many calls as there are parts. More parts would be more
 * calls under load and no more even: the tags are chosen so that the slots of the parts have the
 * same distance, and 64 spread evenly over up to 64 nodes.
 */
export const QUOTA_PARTS = 64
const SLOTS_OF_PART = SLOTS / QUOTA_PARTS

/** The hash tag of each part: the smallest number whose own slot is among those of the part. */
const TAGS: readonly string[] = findTags()
const SLOT_BY_PART: readonly number[] = TAGS.map(findSlot)

/**
 * The part of a subject, for ever: its admissions are in one place.
 *
 * @returns from 0 to `QUOTA_PARTS` - 1
 */
export function findPart(subject: string): number {
  return Math.floor(findSlot(subject) / SLOTS_OF_PART)
}

/** The slot of all keys of a part. */
export function slotOfPart(part: number): number {
  return SLOT_BY_PART[part] ?? 0
}

/** The key of a subject; of the part itself without one. */
export function quotaKey(part: number, subject = ''): string {
  return `${QUOTA_KEY_PREFIX}{${TAGS[part]}}:${subject}`
}

function findTags(): string[] {
  const tags = new Map<number, string>()
  for (let number = 0; tags.size < QUOTA_PARTS; number++) {
    const part = findPart(String(number))
    if (!tags.has(part)) tags.set(part, String(number))
  }
  return Array.from({ length: QUOTA_PARTS }, (_, part) => tags.get(part) ?? '')
}
